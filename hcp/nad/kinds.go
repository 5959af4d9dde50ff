// This file decides which kinds of networks an edge can join.

package nad

import (
	"fmt"

	"github.com/cldmnky/oooi/edge/wire"
)

// The CNI types that are served.
const (
	typeBridge    = "bridge"
	typeCNVBridge = "cnv-bridge" // OpenShift Virtualization's name of bridge
	typeMacvlan   = "macvlan"
	typeSRIOV     = "sriov"
	typeOVN       = "ovn-k8s-cni-overlay" // OVN-Kubernetes' secondary networks
)

// unfit says why the network of d can't be served, or "".
func unfit(d Definition, nodes Nodes, plugins []map[string]any) string {
	first := plugins[0]
	switch kind := text(first["type"]); kind {
	case typeOVN:
		return unfitOVN(d, first)
	case typeBridge, typeCNVBridge, typeMacvlan:
	case typeSRIOV:
		if why := unfitSRIOV(d, nodes); why != "" {
			return why
		}
	default:
		return fmt.Sprintf("is of type %q, which is not served. Use %s.", kind, KindsServed)
	}
	for _, p := range plugins {
		if gives, ok := ipam(p); ok {
			return fmt.Sprintf("gives out addresses itself (ipam %s), so KubeVirt would answer the machines' DHCP. Make it \"ipam\": {}.", gives)
		}
	}
	return ""
}

// ipam is what a plugin gives out addresses by, whatever that is.
func ipam(plugin map[string]any) (string, bool) {
	switch v := plugin["ipam"].(type) {
	case nil:
		return "", false
	case map[string]any:
		kind := text(v["type"])
		return kind, kind != ""
	default:
		return fmt.Sprint(v), true
	}
}

// unfitOVN says why an OVN network can't be served, or "".
func unfitOVN(d Definition, plugin map[string]any) string {
	if role := text(plugin["role"]); role == "primary" {
		return "is the primary network of its namespace, which pods join by themselves. Use one whose role is secondary."
	}
	if s := text(plugin["subnets"]); s != "" {
		cure := "Remove subnets, so that DHCP is ours."
		if d.UserDefined != (Owner{}) {
			cure = fmt.Sprintf("Make a %s without subnets (ipam.mode: Disabled) in place of %s, so that DHCP is ours.", d.UserDefined.Kind, d.UserDefined.Name)
		}
		return fmt.Sprintf("has subnets (%s): OVN gives out addresses and answers DHCP itself. %s", s, cure)
	}
	switch t := text(plugin["topology"]); t {
	case "localnet", "layer2":
		return ""
	default:
		return fmt.Sprintf("has topology %q, which machines can't share with an edge. Use localnet.", t)
	}
}

// unfitSRIOV says why no edge could get a virtual function, or "".
func unfitSRIOV(d Definition, nodes Nodes) string {
	if d.ResourceName == "" {
		return fmt.Sprintf("is of type sriov without the annotation %s, so no edge could get a virtual function. Name the resource there, or use bridge, cnv-bridge or OVN localnet.", wire.AnnotationResourceName)
	}
	if nodes.Resources == nil || nodes.Resources[d.ResourceName] {
		return ""
	}
	return fmt.Sprintf("needs a virtual function of %s, and no node has one. Edges need one each, as machines do: make more by an SriovNetworkNodePolicy, or use bridge, cnv-bridge or OVN localnet.", d.ResourceName)
}
