// This file reads the objects in files that say which devices nodes have for VMs and edges.

package nad

import (
	"encoding/json"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/network/problem"
)

// A DeviceObject is a NodeNetworkState or NodeNetworkConfigurationPolicy of nmstate, or an SriovNetworkNodePolicy.
type DeviceObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		DesiredState json.RawMessage `json:"desiredState"`
		// ResourceName of an SriovNetworkNodePolicy is without its prefix.
		ResourceName string `json:"resourceName"`
		DeviceType   string `json:"deviceType"`
	} `json:"spec"`
	Status struct {
		CurrentState json.RawMessage `json:"currentState"`
	} `json:"status"`
}

// DeviceKinds returns the kinds of DeviceObjects, in the form "<group> <Kind>".
func DeviceKinds() []string {
	return []string{"nmstate.io " + kindNodeState, "nmstate.io NodeNetworkConfigurationPolicy", "sriovnetwork.openshift.io " + kindFunctions}
}

const (
	// kindNodeState is the kind of the object that reports the network of the node with its name.
	kindNodeState = "NodeNetworkState"
	// kindFunctions is the kind of the object that creates virtual functions and binds them to a driver.
	kindFunctions = "SriovNetworkNodePolicy"
)

// DeviceObjects are objects that say which devices nodes have.
type DeviceObjects []DeviceObject

// defaultPhysical is the physical network that OVN-Kubernetes maps to br-ex on each node of OpenShift.
const defaultPhysical = "physnet"

// Mapped returns the physical networks of the bridge mappings of OVN-Kubernetes that nodes have, or that policies set. It
// is nil if there are none. onNode has those of each node that reports its network, and of all policies: which nodes a
// policy selects is not judged.
func (all DeviceObjects) Mapped() (some map[string]bool, onNode map[string]map[string]bool) {
	some, onNode = map[string]bool{}, map[string]map[string]bool{}
	wanted := map[string]bool{}
	for _, o := range all {
		maps.Copy(wanted, mapped(o.Spec.DesiredState))
		if o.Kind == kindNodeState && len(o.Status.CurrentState) > 0 {
			onNode[o.Name] = mapped(o.Status.CurrentState)
			maps.Copy(some, onNode[o.Name])
		}
	}
	if len(some)+len(wanted) == 0 {
		return nil, nil
	}
	wanted[defaultPhysical] = true
	for _, names := range onNode {
		maps.Copy(names, wanted)
	}
	maps.Copy(some, wanted)
	return some, onNode
}

// mapped returns the physical networks of the bridge mappings in state, which nmstate reads or writes.
func mapped(state json.RawMessage) map[string]bool {
	var of struct {
		OVN struct {
			Mappings []struct {
				Localnet string `json:"localnet"`
				State    string `json:"state"`
			} `json:"bridge-mappings"`
		} `json:"ovn"`
	}
	_ = json.Unmarshal(state, &of) // A template or another format has none.
	out := map[string]bool{}
	for _, m := range of.OVN.Mappings {
		if m.Localnet != "" && m.State != "absent" {
			out[m.Localnet] = true
		}
	}
	return out
}

// A Binding is how policies bind the virtual functions of a resource.
type Binding struct {
	// VFIO are the names of the policies that bind them to vfio-pci.
	VFIO []string
	// netdevice is true if another policy leaves them to their network driver.
	netdevice bool
}

// Bound returns the bindings of virtual functions, by their resource without its prefix.
func (all DeviceObjects) Bound() map[string]Binding {
	out := map[string]Binding{}
	for _, o := range all {
		if o.Kind != kindFunctions {
			continue
		}
		b := out[o.Spec.ResourceName]
		if o.Spec.DeviceType == "vfio-pci" {
			b.VFIO = append(b.VFIO, o.Name)
		} else {
			b.netdevice = true
		}
		out[o.Spec.ResourceName] = b
	}
	return out
}

// onVFIO returns the problem that the virtual functions of o are bound to vfio-pci, or nil. Pods get no interface then
// (DPDKMode in sriov-cni's pkg/config), and KubeVirt needs it for a bridge (composeDesiredSpec in its
// pkg/network/setup/netpod). If only some functions of the resource are, the problem is a Warning.
func onVFIO(o Object, nodes Nodes, plugin map[string]any) *problem.Problem {
	b := nodes.Bound[o.ResourceName[strings.LastIndex(o.ResourceName, "/")+1:]]
	if len(b.VFIO) == 0 || text(plugin["type"]) != typeSRIOV {
		return nil
	}
	p := o.problem(problem.SRIOVBoundToVFIO, problem.Args{"policy": b.VFIO[:min(len(b.VFIO), maxListed)], "resource": {o.ResourceName}})
	if b.netdevice {
		*p = p.Warning()
	}
	return p
}
