// This file decides what a connected Envoy is sent next, and whether Envoy has the whole target. Changes are make-before-break:
// nothing is sent that depends on a change that Envoy refuses or has not answered yet.

package ads

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

var (
	errNoEnvoy = errors.New("Envoy is not connected")
	errNotYet  = errors.New("Envoy has not accepted the latest configuration yet")
)

// due returns the responses that Envoy may get now, at most one of each type that it has answered:
//
//	make   new clusters and endpoints. Clusters that are removed together with their names get empty endpoints
//	move   listeners, each once Envoy has accepted the clusters that it names, and their endpoints. See draining
//	break  clusters are removed once Envoy has accepted all listeners, and earlier connections have their backends
func (k *known) due(to target, now time.Time) []*discoveryv3.DeltaDiscoveryResponse {
	var out []*discoveryv3.DeltaDiscoveryResponse
	to, k.heldOff = k.closing(to, now), time.Time{}
	for _, t := range served() {
		if c := k.byType[t]; c != nil && c.pending == nil {
			if r := k.next(t, c, to, now); r != nil {
				out = append(out, r)
			}
		}
	}
	return out
}

// next returns the response of type t that is due, or nil. It records the response as pending.
func (k *known) next(t string, c *collection, to target, now time.Time) *discoveryv3.DeltaDiscoveryResponse {
	maps.DeleteFunc(c.refused, func(name string, x refusal) bool { return x.version != to.version(t, name) })
	var send, again []string
	missing := false
	for _, name := range k.differing(t, c, to) {
		missing = true
		if !k.ready(t, c, name, to) {
			continue
		}
		if until := k.heldUntil(t, name, to, now); !until.IsZero() {
			k.heldOff = earlier(k.heldOff, until)
			continue
		}
		if x, ok := c.refused[name]; !ok {
			send = append(send, name)
		} else if !now.Before(x.again) {
			again = append(again, name)
		}
	}
	if len(send) == 0 && len(again) > 0 {
		// Send the one that has waited longest: a resource that Envoy always refuses must not delay the others.
		send = []string{slices.MinFunc(again, func(a, b string) int { return c.refused[a].again.Compare(c.refused[b].again) })}
	}
	if len(send) == 0 && (c.greeted || t == endpointType || missing && t == listenerType) {
		return nil
	}
	k.responses++
	out := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: t, Nonce: strconv.Itoa(k.responses)}
	c.pending, c.greeted = &pending{nonce: out.GetNonce(), versions: map[string]string{}}, true
	for _, name := range send {
		c.pending.versions[name] = to.version(t, name)
		if r := to.byType[t][name]; r != nil {
			out.Resources = append(out.Resources, r)
		} else {
			out.RemovedResources = append(out.RemovedResources, name)
		}
	}
	return out
}

// differing returns the names of a type whose version in Envoy differs from the target's, sorted. Endpoints are never removed on
// their own: Envoy removes them with their cluster.
func (k *known) differing(t string, c *collection, to target) []string {
	var out []string
	for _, name := range to.names(t) {
		if c.has[name].version != to.version(t, name) {
			out = append(out, name)
		}
	}
	for name := range c.has {
		if t != endpointType && to.byType[t][name] == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// ready reports whether Envoy may get the target's version of a resource, or may remove the resource.
func (k *known) ready(t string, c *collection, name string, to target) bool {
	switch {
	case t == endpointType:
		_, wanted := c.wants[name]
		return wanted
	case t == clusterType:
		return to.byType[t][name] != nil || k.moved(to)
	}
	return !slices.ContainsFunc(to.named[name], func(cluster string) bool { return !k.carries(cluster) })
}

// heldUntil returns until when a ready resource is held back. Zero: it is not held back.
func (k *known) heldUntil(t, name string, to target, now time.Time) time.Time {
	switch goes := to.byType[t][name] == nil; {
	case t == listenerType && !goes:
		return k.draining.until(now)
	case t == clusterType && goes:
		return k.draining.leftUntil(name, now)
	}
	return time.Time{}
}

// carries reports whether Envoy has accepted a cluster and its endpoints.
func (k *known) carries(cluster string) bool {
	clusters, endpoints := k.byType[clusterType], k.byType[endpointType]
	return clusters != nil && endpoints != nil && clusters.has[cluster].taken && endpoints.has[cluster].taken
}

// moved reports whether Envoy has exactly the target's listeners.
func (k *known) moved(to target) bool {
	c := k.byType[listenerType]
	return c != nil && c.pending == nil && len(k.differing(listenerType, c, to)) == 0
}

// again returns when the next refused or held back resource is due. Zero: never.
func (k *known) again() time.Time {
	out := k.heldOff
	for _, c := range k.byType {
		for _, x := range c.refused {
			out = earlier(out, x.again)
		}
	}
	return out
}

// earlier returns the earlier of a and b. It ignores a zero time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// accepted returns nil if Envoy has accepted the whole target, else what is missing. It ignores runtime values and clusters to
// be removed, on which no new connection depends, and listeners that are held back.
func (k *known) accepted(to target, now time.Time) error {
	var errs []error
	whole, heldOff := true, !k.draining.until(now).IsZero()
	if heldOff {
		to = k.closing(to, now)
	}
	for _, t := range served() {
		c := k.byType[t]
		if c == nil {
			// Envoy requests endpoints only after it has a cluster.
			whole = whole && (t == endpointType && len(to.byType[clusterType]) == 0)
			continue
		}
		whole = whole && (t == runtimeType || c.pending == nil && (c.greeted || t == endpointType))
		for _, name := range k.differing(t, c, to) {
			switch goes := to.byType[t][name] == nil; {
			case t == runtimeType || t == clusterType && goes:
			case heldOff && t == listenerType && !goes:
			default:
				whole = false
			}
		}
		var why []string
		for name, x := range c.refused {
			if x.version == to.version(t, name) {
				why = append(why, fmt.Sprintf("Envoy rejected %s: %s", plural(t), x.why))
			}
		}
		slices.Sort(why)
		for _, s := range slices.Compact(why) {
			errs = append(errs, errors.New(s))
		}
	}
	if !whole {
		errs = append(errs, errNotYet)
	}
	return errors.Join(errs...)
}

// A Refusal is one resource that Envoy refused. Envoy keeps the previous version.
type Refusal struct {
	// Type is "cluster", "endpoints" or "listener".
	Type, Name string
	// Why is Envoy's message, at most 1 KiB and three bytes. A VM may have compromised Envoy.
	Why string
}

// refusals returns the target's resources that Envoy refuses, sorted by type and name.
func (k *known) refusals(to target) []Refusal {
	var out []Refusal
	for t, c := range k.byType {
		for name, x := range c.refused {
			if x.alone && x.version == to.version(t, name) {
				out = append(out, Refusal{Type: kind(t), Name: name, Why: x.why})
			}
		}
	}
	slices.SortFunc(out, func(a, b Refusal) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
	return out
}

// kind names a resource of a type.
func kind(typeURL string) string {
	return map[string]string{
		listenerType: "listener",
		runtimeType:  "runtime value",
		clusterType:  "cluster",
		endpointType: "endpoints",
	}[typeURL]
}

// plural names the resources of a type.
func plural(typeURL string) string {
	if typeURL == endpointType {
		return kind(typeURL)
	}
	return kind(typeURL) + "s"
}
