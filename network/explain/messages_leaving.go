// This file has the messages: clusters that are paused, and clusters that leave.

package explain

import "github.com/cldmnky/oooi/network"

func leavingMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.ClusterPaused: {
			What:   "The operator is paused for this cluster (see {key}).",
			Effect: "Changes are not applied, and a deleted edge is not created again.",
			Fix:    "To continue, remove {key} from the HostedCluster.",
		},
		network.PausedUnserved: {
			What:   "The operator is paused for this cluster (see {key}).",
			Effect: "Nothing was applied before.",
			Fix:    "To continue, remove {key} from the HostedCluster.",
		},
		network.RemovalPending: {
			What:   "Annotation {key} is missing on the HostedCluster, but VMs use network {network}.",
			Effect: "Edges keep serving until {deadline}, and no change is applied. Then they are removed.",
			Fix:    "Set annotation {key} to its former value to keep them, or to none to remove them now.",
		},
		network.RemovalNotStored: {
			What:   "Annotation {key} is missing on the HostedCluster, but VMs use network {network}.",
			Effect: "Edges keep serving, and no change is applied. They are removed ten minutes after the operator can store the deadline.",
			Fix:    "Set annotation {key} to its former value to keep them, or to none to remove them now.",
		},
		network.ClusterDeleting: {
			What:   "The HostedCluster is being deleted.",
			Effect: "The operator changes nothing. Kubernetes deletes the edges with the control plane namespace.",
			Fix:    "No action is needed.",
		},
		network.RemovalRunning: {
			What:   "The operator is removing the edges and all other objects of oooi, as the annotations request.",
			Effect: "The networks lose DHCP, DNS and access to the control plane.",
			Fix:    "No action is needed. This condition is removed with the last object.",
		},
		network.RemovalHeld: {
			What:   "Objects of oooi are deleted, but finalizers keep them: {objects} ({finalizers}).",
			Effect: "An edge that is kept may still serve.",
			Fix:    "Find out which software sets these finalizers, and let it finish. Otherwise remove them from the objects.",
		},
		network.RemovalUnsafe: {
			What:   "Annotation {key} is missing on the HostedCluster, and the plan in force is missing or unreadable. VMs may use its networks.",
			Effect: "Edges keep serving as they are.",
			Fix:    "Set annotation {key} to auto to keep them, or to none to remove them now.",
		},
		network.RemovalPendingVMsUnknown: {
			What:   "Annotation {key} is missing on the HostedCluster, and VMs cannot be listed ({error}).",
			Effect: "Edges of network {network} keep serving until {deadline}, and no change is applied. Then they are removed.",
			Fix:    "Set annotation {key} to its former value to keep them, or to none to remove them now.",
		},
	}
}
