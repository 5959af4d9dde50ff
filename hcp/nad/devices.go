// This file reads the objects in files that say which devices nodes have for VMs and edges.

package nad

import (
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A DeviceObject is a NodeNetworkState or NodeNetworkConfigurationPolicy of nmstate.
type DeviceObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		DesiredState json.RawMessage `json:"desiredState"`
	} `json:"spec"`
	Status struct {
		CurrentState json.RawMessage `json:"currentState"`
	} `json:"status"`
}

// DeviceKinds returns the kinds of DeviceObjects, in the form "<group> <Kind>".
func DeviceKinds() []string {
	return []string{"nmstate.io " + kindNodeState, "nmstate.io NodeNetworkConfigurationPolicy"}
}

// kindNodeState is the kind of the object that reports the network of the node with its name.
const kindNodeState = "NodeNetworkState"

// DeviceObjects are objects that say which devices nodes have.
type DeviceObjects []DeviceObject

// defaultPhysical is the physical network that OVN-Kubernetes maps to br-ex on each node of OpenShift.
const defaultPhysical = "physnet"

// Mapped returns the physical networks of the bridge mappings of OVN-Kubernetes that nodes have, or that policies set. It
// is nil if there are none. onNode has those of each node that reports its network.
func (all DeviceObjects) Mapped() (some map[string]bool, onNode map[string]map[string]bool) {
	some, onNode = map[string]bool{}, map[string]map[string]bool{}
	for _, o := range all {
		current := mapped(o.Status.CurrentState)
		if o.Kind == kindNodeState {
			onNode[o.Name] = current
		}
		maps.Copy(some, current)
		maps.Copy(some, mapped(o.Spec.DesiredState))
	}
	if len(some) == 0 {
		return nil, nil
	}
	for _, names := range onNode {
		names[defaultPhysical] = true
	}
	some[defaultPhysical] = true
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
