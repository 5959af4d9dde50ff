// This file says what edges must reach by the pod network, so that no segment is
// laid over it: backends, the resolver, the API server, nodes and their pods. It
// decides nothing; what can't be known (files alone) is left out.

package hcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/network"
)

// nodeSubnetsAnnotation is where OVN-Kubernetes says which addresses pods of a
// node get: {"default":["10.128.0.0/23"]}, in older versions a string.
const nodeSubnetsAnnotation = "k8s.ovn.org/node-subnets"

// Management is what is known of the management cluster beside its objects.
// Empty where nobody looked.
type Management struct {
	// Resolvers of its pods.
	Resolvers []netip.Addr
	// APIServers are the addresses by which pods reach its API.
	APIServers []netip.Addr
	// PriorityClass for what the API of a hosted cluster depends on: HyperShift's,
	// where it exists.
	PriorityClass string
}

// elsewhere is every place that the edges for endpoints must reach by the pod
// network, sorted and each once.
func elsewhere(o Objects, endpoints []network.Endpoint) []network.ReservedDestination {
	seen := map[netip.Prefix]network.ReservedDestination{}
	add := func(what string, p netip.Prefix, node bool) {
		if _, known := seen[p]; p.IsValid() && p.Addr().Is4() && !known {
			seen[p] = network.ReservedDestination{What: what, Prefix: p, Node: node}
		}
	}
	for _, a := range o.Management.Resolvers {
		add("the management cluster's resolver", single(a), false)
	}
	for _, a := range o.Management.APIServers {
		add("the management cluster's API server", single(a), false)
	}
	for _, e := range endpoints {
		if e.Backend.Kind == network.BackendPods {
			add("Service "+e.Backend.Service, single(e.Backend.ClusterIP), false)
		}
		proxy, _ := netip.ParseAddrPort(e.Backend.HTTPProxy)
		add("the management cluster's HTTP proxy", single(proxy.Addr()), false)
	}
	byName := func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) }
	for _, n := range slices.SortedFunc(slices.Values(o.Nodes), byName) {
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
				add("node "+n.Name, single(parsed(a.Address)), true)
			}
		}
		for _, p := range podNetworks(n) {
			add("the pods of node "+n.Name, p, false)
		}
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b network.ReservedDestination) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
	})
}

// podNetworks are what n's pods get their addresses from.
func podNetworks(n corev1.Node) []netip.Prefix {
	said := slices.Concat(n.Spec.PodCIDRs, ovnSubnets(n.Annotations[nodeSubnetsAnnotation]))
	if n.Spec.PodCIDR != "" {
		said = append(said, n.Spec.PodCIDR)
	}
	var out []netip.Prefix
	for _, s := range said {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}

// NodeAnnotations are those of n that Translate reads.
func NodeAnnotations(n *corev1.Node) map[string]string {
	if v, ok := n.Annotations[nodeSubnetsAnnotation]; ok {
		return map[string]string{nodeSubnetsAnnotation: v}
	}
	return nil
}

// ovnSubnets are those of the default network. What can't be read says nothing.
func ovnSubnets(annotation string) []string {
	var networks map[string]json.RawMessage
	if json.Unmarshal([]byte(annotation), &networks) != nil {
		return nil
	}
	var list []string
	if json.Unmarshal(networks["default"], &list) == nil {
		return list
	}
	var one string
	if json.Unmarshal(networks["default"], &one) == nil {
		return []string{one}
	}
	return nil
}

// single is the network of a alone, invalid where a is.
func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// parsed is the address in s, or the zero one.
func parsed(s string) netip.Addr {
	a, _ := netip.ParseAddr(s)
	return a.Unmap()
}
