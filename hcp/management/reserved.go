// This file lists the destinations in the management cluster. Edges must reach some of them through the pod network:
// backends and their pods, the resolver, the API server, nodes and their pods. So the CIDR of a network must not
// overlap them. Edges do not connect VMs to a destination of the list. Unknown destinations are missing in the list,
// for example if objects were read from files.

package management

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

// nodeSubnetsAnnotation holds the pod subnets of a node in OVN-Kubernetes:
// {"default":["10.128.0.0/23"]}. Older versions use a string instead of the list.
const nodeSubnetsAnnotation = "k8s.ovn.org/node-subnets"

// hostCIDRsAnnotation holds all addresses of a node's interfaces in OVN-Kubernetes: ["192.0.2.11/24"]. Node ports
// answer at each of them.
const hostCIDRsAnnotation = "k8s.ovn.org/host-cidrs"

// RunsOVN reports whether one of nodes has the pod network of OVN-Kubernetes.
func (c Cluster) RunsOVN(nodes []corev1.Node) bool {
	return slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Annotations[nodeSubnetsAnnotation] != "" })
}

// Reserved returns all destinations in the management cluster, including those that the edges need for endpoints.
// They are sorted by prefix, without duplicates. If a prefix has two names, the first counts. nodes are the nodes of
// the cluster. pods are the addresses of control plane pods.
func (c Cluster) Reserved(nodes []corev1.Node, pods []netip.Addr, endpoints []network.Endpoint) []network.ReservedDestination {
	seen := map[netip.Prefix]network.ReservedDestination{}
	add := func(what string, p netip.Prefix, node bool) {
		if _, known := seen[p]; p.IsValid() && p.Addr().Is4() && !known {
			seen[p] = network.ReservedDestination{What: what, Prefix: p, Node: node, Required: true}
		}
	}
	for _, a := range c.Resolvers {
		add("the management cluster's resolver", network.Host(a), false)
	}
	for _, a := range c.APIServers {
		add("the management cluster's API server", network.Host(a), false)
	}
	for _, e := range endpoints {
		if e.Backend.Kind == network.BackendPods {
			add("Service "+e.Backend.Service, network.Host(e.Backend.ClusterIP), false)
		}
		proxy, _ := netip.ParseAddrPort(e.Backend.HTTPProxy)
		add("the management cluster's HTTP proxy", network.Host(proxy.Addr()), false)
	}
	byName := func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) }
	for _, n := range slices.SortedFunc(slices.Values(nodes), byName) {
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
				add("node "+n.Name, network.Host(services.Address(a.Address)), true)
			}
		}
		for _, p := range podNetworks(n) {
			add("the pods of node "+n.Name, p, false)
		}
	}
	// Pods come after nodes, so that the address of a pod on the host network counts as its node's.
	for _, a := range pods {
		add("a pod of the control plane", network.Host(a), false)
	}
	for _, r := range slices.Concat(c.Networks, hostAddresses(nodes)) {
		if _, known := seen[r.Prefix]; r.Prefix.Addr().Is4() && !known {
			seen[r.Prefix] = r
		}
	}
	for _, p := range outsideOf(seen, c.Observed) {
		seen[p] = network.ReservedDestination{What: "pods or Services of the management cluster", Prefix: p, Observed: true}
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b network.ReservedDestination) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
	})
}

func hostAddresses(nodes []corev1.Node) []network.ReservedDestination {
	var out []network.ReservedDestination
	for _, n := range nodes {
		var cidrs []string
		if json.Unmarshal([]byte(n.Annotations[hostCIDRsAnnotation]), &cidrs) != nil {
			continue
		}
		for _, text := range cidrs {
			if p, err := netip.ParsePrefix(text); err == nil {
				out = append(out, network.ReservedDestination{What: "node " + n.Name, Prefix: network.Host(p.Addr()), Node: true})
			}
		}
	}
	return out
}

func podNetworks(n corev1.Node) []netip.Prefix {
	subnets := slices.Concat(n.Spec.PodCIDRs, ovnSubnets(n.Annotations[nodeSubnetsAnnotation]))
	if n.Spec.PodCIDR != "" {
		subnets = append(subnets, n.Spec.PodCIDR)
	}
	var out []netip.Prefix
	for _, s := range subnets {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}

// NodeAnnotations returns those annotations of n that Translate reads.
func NodeAnnotations(n *corev1.Node) map[string]string {
	var out map[string]string
	for _, key := range []string{nodeSubnetsAnnotation, hostCIDRsAnnotation} {
		if v, ok := n.Annotations[key]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = v
		}
	}
	return out
}

// Annotations of a node that OpenShift's Machine Config Operator sets (its pkg/daemon/constants). The state is Done, or empty,
// while no update is in progress.
const (
	machineConfigCurrent = "machineconfiguration.openshift.io/currentConfig"
	machineConfigDesired = "machineconfiguration.openshift.io/desiredConfig"
	machineConfigState   = "machineconfiguration.openshift.io/state"
)

// InMaintenance reports whether n is cordoned, or the Machine Config Operator updates it. A node whose update failed still runs
// pods, perhaps for weeks.
func InMaintenance(n *corev1.Node) bool {
	switch n.Annotations[machineConfigState] {
	case "Degraded", "Unreconcilable":
		return n.Spec.Unschedulable
	case "", "Done":
		return n.Spec.Unschedulable || n.Annotations[machineConfigDesired] != n.Annotations[machineConfigCurrent]
	}
	return true
}

// ovnSubnets returns the pod subnets in the value of nodeSubnetsAnnotation, none if it is invalid.
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
