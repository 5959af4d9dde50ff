// This file decides whether an edge can join the network of a
// NetworkAttachmentDefinition.

package nad

import (
	"fmt"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// The supported CNI plugin types.
const (
	typeBridge    = "bridge"
	typeCNVBridge = "cnv-bridge" // the bridge plugin of OpenShift Virtualization
	typeMacvlan   = "macvlan"
	typeSRIOV     = "sriov"
	typeOVN       = "ovn-k8s-cni-overlay" // secondary networks of OVN-Kubernetes
)

// CNI plugins that follow the first one. The tuning plugin sets sysctls.
const (
	typeTuning    = "tuning"
	typeCNVTuning = "cnv-tuning" // the tuning plugin of OpenShift Virtualization
	typeBandwidth = "bandwidth"
)

// unsupported returns the problem that prevents edges from joining the network of
// o, or nil if they can join it.
func unsupported(o Object, nodes Nodes, conf map[string]any, plugins []map[string]any) *network.Problem {
	first := plugins[0]
	switch kind := text(first["type"]); kind {
	case typeOVN:
		return unsupportedOVN(o, first)
	case typeBridge, typeCNVBridge, typeMacvlan:
	case typeSRIOV:
		if p := unsupportedSRIOV(o, nodes); p != nil {
			return p
		}
	default:
		return o.problem(network.NADTypeUnsupported, network.Args{"type": kind, "types": SupportedKinds})
	}
	for _, p := range plugins {
		if kind, ok := ipam(p); ok {
			return o.problem(network.NADHasIPAM, network.Args{"ipam": kind})
		}
	}
	return unusable(o, conf, plugins)
}

// ipam returns the type of the IPAM plugin. ok is false if plugin has no IPAM.
// A value of an unknown form is returned as text.
func ipam(plugin map[string]any) (kind string, ok bool) {
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

// unsupportedOVN is unsupported for networks of OVN-Kubernetes.
func unsupportedOVN(o Object, plugin map[string]any) *network.Problem {
	if text(plugin["role"]) == "primary" {
		return o.problem(network.OVNPrimaryNetwork, nil)
	}
	if s := text(plugin["subnets"]); s != "" {
		if o.UserDefined != (Owner{}) {
			return o.problem(network.OVNOwnerHasSubnets, network.Args{"subnets": s, "owner": o.UserDefined.Kind + " " + o.UserDefined.Name})
		}
		return o.problem(network.OVNHasSubnets, network.Args{"subnets": s})
	}
	switch t := text(plugin["topology"]); t {
	case "localnet", "layer2":
		return nil
	default:
		return o.problem(network.OVNTopologyUnsupported, network.Args{"topology": t})
	}
}

// unsupportedSRIOV is unsupported for SR-IOV: some node must have a virtual
// function for an edge.
func unsupportedSRIOV(o Object, nodes Nodes) *network.Problem {
	switch {
	case o.ResourceName == "":
		return o.problem(network.SRIOVResourceMissing, network.Args{"annotation": wire.AnnotationResourceName})
	case nodes.Resources == nil || nodes.Resources[o.ResourceName]:
		return nil
	}
	return o.problem(network.SRIOVResourceExhausted, network.Args{"resource": o.ResourceName})
}
