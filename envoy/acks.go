// This file tracks which resources Envoy has acknowledged, from its requests and
// our responses (incremental xDS). It decides whether Envoy has the whole
// configuration. It sends nothing.

package envoy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The limits for an Envoy that a VM took over. The server ends a stream above them. An Envoy
// connects again and keeps what it has.
const (
	// maxNames is what the names on one stream may cost, in bytes: some 20,000 resources.
	maxNames = 4 << 20
	// nameCost is what each name costs besides its characters and its version, in bytes.
	nameCost = 64
	// maxReason is the limit for the text of a rejection, in bytes.
	maxReason = 1 << 10
)

var (
	errType  = status.Error(codes.InvalidArgument, "resources of this type are not served")
	errNames = status.Error(codes.ResourceExhausted, "the names of resources on this stream are too long")
	errWorld = status.Error(codes.Unimplemented, "only incremental xDS is served")
)

// acks is what the connected Envoys have acknowledged. There is one stream, or two
// for a moment if Envoy reconnects before its old stream has ended.
type acks struct {
	mu      sync.Mutex
	streams map[int64]*known
	change  chan struct{}
}

// A known is what one stream knows.
type known struct {
	byType map[string]*collection
	// names that its Envoy ever mentioned, of all types. Counted is their cost in bytes.
	names   map[string]struct{}
	counted int
}

// A collection is what one stream was sent of one type.
type collection struct {
	// versions of the resources, by name.
	versions map[string]string
	// pending responses, by nonce.
	pending map[string]bool
	// refused is Envoy's error for the last response. Empty: it was accepted.
	refused string
}

func newAcks() *acks {
	return &acks{streams: map[int64]*known{}, change: make(chan struct{})}
}

// changed returns a channel that is closed at the next change.
func (a *acks) changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.change
}

func (a *acks) edit(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.change)
	a.change = make(chan struct{})
}

func (a *acks) opened(stream int64) {
	a.edit(func() { a.streams[stream] = &known{byType: map[string]*collection{}, names: map[string]struct{}{}} })
}

func (a *acks) closed(stream int64) { a.edit(func() { delete(a.streams, stream) }) }

// requested records a request, which may acknowledge or reject a response. It returns an error
// for what only an Envoy that a VM took over sends.
func (a *acks) requested(stream int64, r *discoveryv3.DeltaDiscoveryRequest) error {
	if !slices.Contains(served(), r.GetTypeUrl()) {
		return errType
	}
	var err error
	a.edit(func() {
		k := a.streams[stream]
		if err = k.mention(r); err != nil {
			return
		}
		c := k.byType[r.GetTypeUrl()]
		if c == nil {
			c = &collection{versions: map[string]string{}, pending: map[string]bool{}}
			maps.Copy(c.versions, r.GetInitialResourceVersions())
			k.byType[r.GetTypeUrl()] = c
		}
		for _, name := range r.GetResourceNamesUnsubscribe() {
			delete(c.versions, name)
		}
		if r.GetResponseNonce() != "" {
			delete(c.pending, r.GetResponseNonce())
			c.refused = reason(r)
		}
	})
	return err
}

// mention counts the names of r that are new to the stream.
func (k *known) mention(r *discoveryv3.DeltaDiscoveryRequest) error {
	add := func(name, version string) {
		if _, ok := k.names[name]; !ok {
			k.names[name] = struct{}{}
			k.counted += len(name) + len(version) + nameCost
		}
	}
	for name, version := range r.GetInitialResourceVersions() {
		add(name, version)
	}
	for _, name := range slices.Concat(r.GetResourceNamesSubscribe(), r.GetResourceNamesUnsubscribe()) {
		add(name, "")
	}
	if k.counted > maxNames {
		return errNames
	}
	return nil
}

// reason returns why Envoy rejected resources, at most maxReason bytes. Empty: it accepted them.
func reason(r *discoveryv3.DeltaDiscoveryRequest) string {
	s := strings.TrimSpace(r.GetErrorDetail().GetMessage())
	if len(s) > maxReason {
		return strings.ToValidUTF8(s[:maxReason], "") + "..."
	}
	return s
}

// sent records a response that is about to be sent.
func (a *acks) sent(stream int64, r *discoveryv3.DeltaDiscoveryResponse) {
	a.edit(func() {
		c := a.streams[stream].byType[r.GetTypeUrl()]
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

// answered reports whether every connected Envoy was sent all of want and has
// answered. Without a connection it is true.
func (a *acks) answered(want versions) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.streams {
		if !whole(s.byType, want) {
			return false
		}
	}
	return true
}

func whole(stream map[string]*collection, want versions) bool {
	for t, w := range want {
		c := stream[t]
		if c == nil {
			// Envoy requests endpoints only after it has a cluster.
			c = &collection{}
		}
		if len(c.pending) > 0 || !maps.Equal(c.versions, w) {
			return false
		}
	}
	return true
}

var (
	errNoEnvoy = errors.New("Envoy is not connected")
	errNotYet  = errors.New("Envoy has not accepted the latest configuration yet")
)

// accepted returns nil if Envoy has accepted all of want, else what is missing.
func (a *acks) accepted(want versions) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.streams) == 0 {
		return errNoEnvoy
	}
	var errs []error
	for _, s := range a.streams {
		for _, t := range served() {
			if c := s.byType[t]; c != nil && c.refused != "" {
				errs = append(errs, fmt.Errorf("Envoy rejected %s: %s", plural(t), c.refused))
			}
		}
		if !whole(s.byType, want) {
			errs = append(errs, errNotYet)
		}
	}
	return errors.Join(errs...)
}

// plural names the resources of a type URL: "listeners", "clusters" or "endpoints".
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
