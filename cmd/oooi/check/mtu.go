// This file checks that the MTU that VMs get is not larger than the network's.

package check

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// mtuFacts are the known MTUs of one network, in bytes.
type mtuFacts struct {
	network network.Network
	// nad is the MTU in the current NAD, which new VMs get. 0: not set, or unknown.
	nad int
	// links are the MTUs of the running edges' interfaces, by edge number. Not all releases of Multus report them.
	links map[int]int
}

// mtuCheck returns the line about the MTU of f's network. ok is false if oooi's DHCP does not serve the network.
func mtuCheck(f mtuFacts) (c checked, ok bool) {
	n := f.network
	return lineOf("MTU of "+n.Attachment.String(), mtuProblems(f)), slices.Contains(n.Services, network.ServiceDHCP)
}

func mtuProblems(f mtuFacts) problem.Problems {
	told, least := f.network.DHCP.MTU, f.nad
	for _, mtu := range f.links {
		if least == 0 || mtu < least {
			least = mtu
		}
	}
	args := func(link, edge int) problem.Args {
		return problem.Args{"mtu": {strconv.Itoa(told)}, "link": {strconv.Itoa(link)}, "least": {strconv.Itoa(least)}, "edge": {strconv.Itoa(edge)}}
	}
	for _, e := range f.network.Edges {
		if mtu := f.links[e.Number]; mtu != 0 && told > mtu {
			return found(problem.MTUExceedsEdge, args(mtu, e.Number))
		}
	}
	if f.nad != 0 && told > f.nad {
		return found(problem.MTUExceedsNewNAD, args(f.nad, 0))
	}
	return nil
}

// mtuNetworks returns the MTUs of the networks in inForce, those of the plan in force. Parameter now is the plan that
// current objects give. If inForce is empty, mtuNetworks returns the MTUs of the networks in plan now. The MTUs of
// NADs are from plan now, and links are from readLinks. If plan now has problem MTUExceedsNAD, the result is empty.
func mtuNetworks(now *plan.Planned, inForce []network.Network, links map[string]map[int]int) (out []mtuFacts) {
	var requested []network.NetworkRequest
	networks := inForce
	if now != nil {
		requested = now.Request.Networks
		if len(networks) == 0 && now.Plan != nil {
			networks = now.Plan.Networks
		}
		if slices.ContainsFunc(now.Problems, func(p problem.Problem) bool { return p.Cause == problem.MTUExceedsNAD }) {
			return nil
		}
	}
	for _, n := range networks {
		x := mtuFacts{network: n, links: links[wire.NetworkLabel(n.Name)]}
		for _, r := range requested {
			if r.Attachment.NetworkName() == n.Name {
				x.nad = r.Attachment.MTU
			}
		}
		out = append(out, x)
	}
	return out
}

// readLinks returns the MTU of each edge's interface, by the network's label and the edge's number. If pods cannot be
// listed, it is empty.
func readLinks(ctx context.Context, api client.Reader, ns string) map[string]map[int]int {
	var list corev1.PodList
	out := map[string]map[int]int{}
	if err := api.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels(wire.NamedLabels(wire.NameEdge))); err != nil {
		return out
	}
	for _, p := range list.Items {
		of := p.Labels[wire.LabelNetwork]
		if e := edgeOfPod(p); e.mtu != 0 && p.DeletionTimestamp == nil && !ended(p) {
			if out[of] == nil {
				out[of] = map[int]int{}
			}
			out[of][e.edge] = e.mtu
		}
	}
	return out
}
