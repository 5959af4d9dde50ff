// This file decides the Deployment whose pod is the first on a network: it asks
// whether anybody has the addresses that the edges are to hold. It is pure. When
// it is made, and when it goes, is decided in hostedcluster_ask.go.

package controllers

import (
	"net/netip"
	"strings"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// asksAnnotation names the addresses that are asked for: others are asked for by
// another pod, so that an answer is never taken for another question's.
const asksAnnotation = hcp.Prefix + "asks"

// askDeployment holds one address only, the last edge's own: nobody can be asked
// for an address that the asking host has.
func askDeployment(w world, n network.Network, o Options, ns string) *appsv1ac.DeploymentApplyConfiguration {
	annotations := podAnnotations(podNetworks(n, []netip.Prefix{netip.PrefixFrom(lastOwn(n), n.CIDR.Bits())}, ns), "ask")
	annotations[asksAnnotation] = strings.Join(asks(n), ",")
	return deploymentOf(w, n, askName(n), ns, networkLabels(nameAsk, n), func(away []string) *corev1ac.PodTemplateSpecApplyConfiguration {
		return corev1ac.PodTemplateSpec().
			WithLabels(networkLabels(nameAsk, n)).
			WithAnnotations(annotations).
			WithSpec(pod(w, n, away, server("ask", n, 0, o)).WithTerminationGracePeriodSeconds(askGraceSeconds))
	})
}

// lastOwn is the last of the edges' own addresses, whether that edge runs or not.
func lastOwn(n network.Network) netip.Addr {
	var own netip.Addr
	for _, e := range n.Edges {
		own = e.Address
	}
	for _, a := range n.ReservedAddresses {
		own = a
	}
	return own
}

// asks are the addresses on n's segment that its edges are to hold, but for
// lastOwn.
func asks(n network.Network) []string {
	all := append([]netip.Addr{n.NextHop, n.ServiceAddress}, n.PublishedAddresses...)
	for _, e := range n.Edges {
		all = append(all, e.Address)
	}
	var out []string
	for _, a := range all {
		if n.CIDR.Contains(a) && a != lastOwn(n) {
			out = append(out, a.String())
		}
	}
	return out
}
