// This file decides what is said of connections that a change ends, with the write
// by which they end. It is pure, and holds nothing back.

package controllers

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// changeCuts is the Event's reason where connections end by what is applied.
const changeCuts = "ChangeCuts"

// A cut is what ends once one object is written or removed.
type cut struct {
	by   schema.GroupVersionKind
	name string
	text string
}

// warn says which of d's cuts are being made, where those objects were written or
// removed. It is said once, as what was applied is not applied again, and what the
// API server refuses, however often, is not said.
func (r *Reconciler) warn(w world, d decision, done func(cut) bool) {
	var said []string
	for _, c := range d.cuts {
		if done(c) {
			said = append(said, c.text)
		}
	}
	if len(said) > 0 {
		r.Events.Eventf(w.HostedCluster, nil, corev1.EventTypeNormal, changeCuts, "Serve", "%s",
			shorten("This change is applied now. "+strings.Join(said, " "), maxNote))
	}
}

// cuts is a sentence for each thing that applying d ends, by the plan in force, the
// plan of d, and which pods run. Where nothing of ours runs yet nothing ends.
func cuts(w world, d decision) []cut {
	var out []cut
	byPlan := func(all ...string) {
		for _, text := range all {
			out = append(out, cut{configMapKind, wire.PlanConfigMap, text})
		}
	}
	for _, was := range w.last.Networks {
		if len(w.edgesOn(wire.NetworkLabel(was.Name))) == 0 {
			continue
		}
		i := slices.IndexFunc(d.plan.Networks, func(n network.Network) bool { return n.Name == was.Name })
		if i < 0 {
			byPlan(fmt.Sprintf("Network %s is served no longer: all that machines have open by its edges ends.", was.Attachment))
			continue
		}
		byPlan(moved(was, d.plan.Networks[i])...)
	}
	for _, u := range d.desired {
		if isDesiredEdge(u) && !d.held[u.GetName()] && rolls(w, u) {
			out = append(out, cut{deploymentKind, u.GetName(), madeAnew(w, u)})
		}
	}
	for _, live := range w.edges {
		if isEdge(live) && available(live) && leavesItsNetwork(d, live.Name, live.Labels[wire.LabelNetwork]) {
			out = append(out, cut{deploymentKind, live.Name,
				fmt.Sprintf("Edge %s goes, as one edge is asked for: each connection by it is cut once, and the other edge takes its machines over.", live.Name)})
		}
	}
	return out
}

// moved says what ends where was becomes n, whatever becomes of its edges.
func moved(was, n network.Network) []string {
	var out, changes []string
	for _, role := range []struct {
		name      string
		was, will any
	}{{"CIDR", was.CIDR, n.CIDR}, {"next hop", was.NextHop, n.NextHop}, {"service address", was.ServiceAddress, n.ServiceAddress}} {
		if role.was != role.will {
			changes = append(changes, fmt.Sprintf("%s %v becomes %v", role.name, role.was, role.will))
		}
	}
	if len(changes) > 0 {
		out = append(out, fmt.Sprintf("On network %s %s: all connections by its edges end, and machines learn the new addresses when they renew their lease, after half of %s or sooner.",
			n.Attachment, strings.Join(changes, ", "), time.Duration(was.DHCP.LeaseTime)))
	}
	var closed []string
	for _, l := range was.Listeners {
		stillOurs := l.Address == was.ServiceAddress && l.Address == n.ServiceAddress || slices.Contains(n.PublishedAddresses, l.Address)
		if (stillOurs || slices.Contains(was.PublishedAddresses, l.Address)) && !slices.ContainsFunc(n.Listeners, func(x network.Listener) bool { return sameDoor(x, l) }) {
			closed = append(closed, l.Name())
		}
	}
	if len(closed) > 0 {
		out = append(out, fmt.Sprintf("On network %s nothing answers any more at %s: connections to there end.", n.Attachment, strings.Join(closed, ", ")))
	}
	return out
}

func sameDoor(a, b network.Listener) bool {
	return netip.AddrPortFrom(a.Address, a.Port) == netip.AddrPortFrom(b.Address, b.Port)
}

// madeAnew says what the edge's machines will notice.
func madeAnew(w world, u *unstructured.Unstructured) string {
	for _, other := range w.edgesOn(u.GetLabels()[wire.LabelNetwork]) {
		if other.Name != u.GetName() && available(other) {
			return fmt.Sprintf("Edge %s is made anew: each connection by it is cut once, as edge %s takes its machines over first.", u.GetName(), other.Name)
		}
	}
	return fmt.Sprintf("Edge %s is made anew: each connection by it is cut, and as it is the only one, machines get no answer until it serves again.", u.GetName())
}

// leavesItsNetwork says whether an edge is removed from a network that goes on.
func leavesItsNetwork(d decision, name, label string) bool {
	goesOn := false
	for _, u := range d.desired {
		if isDesiredEdge(u) && u.GetName() == name {
			return false
		}
		goesOn = goesOn || isDesiredEdge(u) && u.GetLabels()[wire.LabelNetwork] == label
	}
	return goesOn && !d.staying[name]
}
