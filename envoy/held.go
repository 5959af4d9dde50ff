// This file keeps book of what Envoy holds, from what it asks, is sent and
// answers (incremental xDS). It decides whether Envoy has all that it should
// have, and sends nothing.

package envoy

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// held is what the Envoys that are connected hold. That is one, and for a moment
// two where it comes again before its old stream is gone.
type held struct {
	mu      sync.Mutex
	streams map[int64]map[string]*collection
	change  chan struct{}
}

// A collection is what one stream was told of one type.
type collection struct {
	// versions of each resource, by name.
	versions map[string]string
	// pending answers, by nonce.
	pending map[string]bool
	// refused is why Envoy did not take what it was sent last, empty where it did.
	refused string
}

func newHeld() *held {
	return &held{streams: map[int64]map[string]*collection{}, change: make(chan struct{})}
}

// changed is closed at the next change.
func (h *held) changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.change
}

func (h *held) edit(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.change)
	h.change = make(chan struct{})
}

func (h *held) opened(stream int64) {
	h.edit(func() { h.streams[stream] = map[string]*collection{} })
}

func (h *held) closed(stream int64) { h.edit(func() { delete(h.streams, stream) }) }

// asked takes a request. It may be the answer to what was sent before.
func (h *held) asked(stream int64, r *discoveryv3.DeltaDiscoveryRequest) {
	h.edit(func() {
		c := h.streams[stream][r.GetTypeUrl()]
		if c == nil {
			c = &collection{versions: map[string]string{}, pending: map[string]bool{}}
			maps.Copy(c.versions, r.GetInitialResourceVersions())
			h.streams[stream][r.GetTypeUrl()] = c
		}
		for _, name := range r.GetResourceNamesUnsubscribe() {
			delete(c.versions, name)
		}
		if r.GetResponseNonce() != "" {
			delete(c.pending, r.GetResponseNonce())
			c.refused = strings.TrimSpace(r.GetErrorDetail().GetMessage())
		}
	})
}

// sent takes what is about to be sent.
func (h *held) sent(stream int64, r *discoveryv3.DeltaDiscoveryResponse) {
	h.edit(func() {
		c := h.streams[stream][r.GetTypeUrl()]
		if c == nil {
			return
		}
		for _, resource := range r.GetResources() {
			c.versions[resource.GetName()] = resource.GetVersion()
		}
		for _, name := range r.GetRemovedResources() {
			delete(c.versions, name)
		}
		c.pending[r.GetNonce()] = true
	})
}

// answered says whether everything in want was sent to whoever is connected, and
// answered. Nobody has nothing to answer.
func (h *held) answered(want versions) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.streams {
		if !whole(s, want) {
			return false
		}
	}
	return true
}

func whole(stream map[string]*collection, want versions) bool {
	for t, w := range want {
		c := stream[t]
		if c == nil {
			// Envoy asks for endpoints only when it has a cluster.
			c = &collection{}
		}
		if len(c.pending) > 0 || !maps.Equal(c.versions, w) {
			return false
		}
	}
	return true
}

var (
	errNoEnvoy = errors.New("Envoy has not connected")
	errNotYet  = errors.New("Envoy has not taken the newest configuration yet")
)

// accepted is nil where Envoy took all of want, else what is missing.
func (h *held) accepted(want versions) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) == 0 {
		return errNoEnvoy
	}
	var errs []error
	for _, s := range h.streams {
		for _, t := range served() {
			if c := s[t]; c != nil && c.refused != "" {
				errs = append(errs, fmt.Errorf("Envoy refused %s: %s", plural(t), c.refused))
			}
		}
		if !whole(s, want) {
			errs = append(errs, errNotYet)
		}
	}
	return errors.Join(errs...)
}

// plural is "listeners" for the type of a listener.
func plural(typeURL string) string {
	switch {
	case strings.HasSuffix(typeURL, ".Listener"):
		return "listeners"
	case strings.HasSuffix(typeURL, ".Cluster"):
		return "clusters"
	default:
		return "endpoints"
	}
}
