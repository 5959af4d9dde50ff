// This file tracks what one connected Envoy has, from its requests and the server's responses
// (incremental xDS).

package ads

import (
	"cmp"
	"slices"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The limits for an Envoy that a VM has compromised. The server ends a stream that exceeds them;
// Envoy then connects again.
const (
	// maxNames is how much memory the names on one stream may take, in bytes: some 20,000 resources.
	maxNames = 4 << 20
	// nameCost is the memory of each name in bytes, in addition to its characters and its version.
	nameCost = 64
	// maxReason is the limit for the text of a refusal, in bytes.
	maxReason = 1 << 10
)

var (
	errType  = status.Error(codes.InvalidArgument, "resources of this type are not served")
	errNames = status.Error(codes.ResourceExhausted, "the names of resources on this stream are too long")
)

// refusedAgain is the time until a refused resource is sent again. By then, the cause may be gone,
// such as another process that had the address of a listener.
const refusedAgain = 10 * time.Second

// A known is the tracked state of the Envoy on one stream. The caller locks.
type known struct {
	byType map[string]*collection
	// heldOff is when the first resource that is held back is due. Zero: nothing is held back.
	draining *draining
	heldOff  time.Time
	// names are all names that this Envoy ever sent, of all types. counted is the memory that they take, in
	// bytes.
	names   map[string]struct{}
	counted int
	// responses counts the responses that were sent. The last nonce is this number.
	responses int
}

// A collection is the tracked state of Envoy's resources of one type.
type collection struct {
	has map[string]held
	// Field wants has the names of the endpoints that Envoy requests. Of other types, Envoy gets all
	// resources.
	wants map[string]struct{}
	// refused holds the resources that Envoy refused, by name.
	refused map[string]refusal
	// pending is the response that Envoy has not answered yet. Nil: none.
	pending *pending
	// greeted: a response was sent. Envoy waits for the first response, even if it is empty.
	greeted bool
}

// A held is one resource that Envoy has. version is empty if Envoy may have either of two versions.
// taken reports whether Envoy certainly has some version.
type held struct {
	version string
	taken   bool
	// Field maybe has all versions that Envoy may have, used for listeners.
	maybe []string
}

// A refusal is why Envoy refused a version of a resource. version is empty if Envoy refused a removal.
type refusal struct {
	version, why string
	// Field again is the time from which the resource may be sent again.
	again time.Time
	// alone: the response had only this resource, so the reason is its own.
	alone bool
}

// A pending is a response: the versions of its resources by name, empty for a removal.
type pending struct {
	nonce    string
	versions map[string]string
}

func newKnown(d *draining) *known {
	return &known{byType: map[string]*collection{}, names: map[string]struct{}{}, draining: d}
}

// requested handles a request, which may accept or refuse a response. Only an Envoy under a VM's
// control causes an error.
func (k *known) requested(r *discoveryv3.DeltaDiscoveryRequest, now time.Time) error {
	if !slices.Contains(served(), r.GetTypeUrl()) {
		return errType
	}
	if err := k.mention(r); err != nil {
		return err
	}
	c := k.byType[r.GetTypeUrl()]
	first := c == nil
	if first {
		c = &collection{has: map[string]held{}, wants: map[string]struct{}{}, refused: map[string]refusal{}}
		for name, version := range r.GetInitialResourceVersions() {
			c.has[name] = held{version, true, []string{version}}
		}
		k.byType[r.GetTypeUrl()] = c
	}
	if r.GetTypeUrl() == endpointType {
		c.subscribe(r, first)
	}
	if p := c.pending; p != nil && p.nonce == r.GetResponseNonce() {
		c.pending = nil
		if r.GetErrorDetail() != nil {
			c.refuse(p, reason(r), now)
		} else {
			k.take(r.GetTypeUrl(), c, p, now)
		}
	}
	return nil
}

// refuses reports whether r refuses the response that Envoy has not answered yet.
func (k *known) refuses(r *discoveryv3.DeltaDiscoveryRequest) bool {
	c := k.byType[r.GetTypeUrl()]
	return c != nil && c.pending != nil && c.pending.nonce == r.GetResponseNonce() && r.GetErrorDetail() != nil
}

// subscribe records which endpoints Envoy needs. If Envoy subscribes to endpoints again, they count
// as not sent: a cluster that was replaced waits for them.
func (c *collection) subscribe(r *discoveryv3.DeltaDiscoveryRequest, first bool) {
	for _, name := range r.GetResourceNamesSubscribe() {
		c.wants[name] = struct{}{}
		if h, ok := c.has[name]; ok && !first {
			c.has[name] = held{taken: h.taken}
		}
	}
	for _, name := range r.GetResourceNamesUnsubscribe() {
		delete(c.wants, name)
		delete(c.has, name)
		delete(c.refused, name)
	}
}

// take records that Envoy accepted p. A replaced cluster needs its endpoints again. A replaced or
// removed listener drains.
func (k *known) take(typeURL string, c *collection, p *pending, now time.Time) {
	for name, version := range p.versions {
		delete(c.refused, name)
		former, ok := c.has[name]
		if typeURL == listenerType && ok {
			k.draining.add(former, version, now)
		}
		if version == "" {
			delete(c.has, name)
			continue
		}
		c.has[name] = held{version, true, []string{version}}
		if e := k.byType[endpointType]; typeURL == clusterType && e != nil && ok && former.version != version {
			if h, ok := e.has[name]; ok {
				e.has[name] = held{taken: h.taken}
			}
		}
	}
}

// refuse records that Envoy refused p. Envoy may have accepted a part, so each resource is sent alone next.
func (c *collection) refuse(p *pending, why string, now time.Time) {
	x := refusal{why: why, again: now, alone: len(p.versions) == 1}
	if x.alone {
		x.again = now.Add(refusedAgain)
	}
	for name, version := range p.versions {
		former := c.has[name]
		former.maybe = slices.DeleteFunc(slices.Clone(former.maybe), func(v string) bool { return v == version })
		if !x.alone && version != "" {
			former.maybe = append(former.maybe, version)
		}
		c.has[name] = held{taken: former.taken, maybe: former.maybe}
		x.version = version
		c.refused[name] = x
	}
}

// mention counts the memory of the names in r that are new on this stream. It returns errNames if the names
// take more than maxNames.
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

// reason returns why Envoy refused resources, at most maxReason bytes and three dots. Empty: r refuses
// nothing.
func reason(r *discoveryv3.DeltaDiscoveryRequest) string {
	if r.GetErrorDetail() == nil {
		return ""
	}
	s := strings.TrimSpace(r.GetErrorDetail().GetMessage())
	if len(s) > maxReason {
		return strings.ToValidUTF8(s[:maxReason], "") + "..."
	}
	return cmp.Or(s, "no reason")
}
