// This file decides which kinds of networks an edge can join.

package nad

import (
	"fmt"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// The CNI types that are served.
const (
	typeBridge    = "bridge"
	typeCNVBridge = "cnv-bridge" // OpenShift Virtualization's name of bridge
	typeMacvlan   = "macvlan"
	typeSRIOV     = "sriov"
	typeOVN       = "ovn-k8s-cni-overlay" // OVN-Kubernetes' secondary networks
)

// unfit is why the network of d can't be served, or nil.
func unfit(d Object, nodes Nodes, plugins []map[string]any) *network.Problem {
	first := plugins[0]
	switch kind := text(first["type"]); kind {
	case typeOVN:
		return unfitOVN(d, first)
	case typeBridge, typeCNVBridge, typeMacvlan:
	case typeSRIOV:
		if p := unfitSRIOV(d, nodes); p != nil {
			return p
		}
	default:
		return d.problem(network.NADTypeUnsupported, network.Args{"type": kind, "types": SupportedKinds})
	}
	for _, p := range plugins {
		if gives, ok := ipam(p); ok {
			return d.problem(network.NADHasIPAM, network.Args{"ipam": gives})
		}
	}
	return nil
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

// unfitOVN is why an OVN network can't be served, or nil.
func unfitOVN(d Object, plugin map[string]any) *network.Problem {
	if text(plugin["role"]) == "primary" {
		return d.problem(network.OVNPrimaryNetwork, nil)
	}
	if s := text(plugin["subnets"]); s != "" {
		if d.UserDefined != (Owner{}) {
			return d.problem(network.OVNOwnerHasSubnets, network.Args{"subnets": s, "owner": d.UserDefined.Kind + " " + d.UserDefined.Name})
		}
		return d.problem(network.OVNHasSubnets, network.Args{"subnets": s})
	}
	switch t := text(plugin["topology"]); t {
	case "localnet", "layer2":
		return nil
	default:
		return d.problem(network.OVNTopologyUnsupported, network.Args{"topology": t})
	}
}

// unfitSRIOV is why no edge could get a virtual function, or nil.
func unfitSRIOV(d Object, nodes Nodes) *network.Problem {
	switch {
	case d.ResourceName == "":
		return d.problem(network.SRIOVResourceMissing, network.Args{"annotation": wire.AnnotationResourceName})
	case nodes.Resources == nil || nodes.Resources[d.ResourceName]:
		return nil
	}
	return d.problem(network.SRIOVResourceExhausted, network.Args{"resource": d.ResourceName})
}
