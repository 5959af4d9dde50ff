// This file has the messages: what the operator applies, and what it leaves.

package explain

import "github.com/cldmnky/oooi/network"

func operatorMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.PlanTooLarge: {
			What: "The plan has {size} KiB, but a ConfigMap can hold only {most} KiB of it.",
			Fix:  "Set fewer dns-records, reservations, published Services or external hosts, or use fewer networks.",
		},
		network.FieldUnreadable: {
			What:   "{kind} {object} has fields that oooi cannot read ({fields}).",
			Effect: "Edges keep the plan that they have.",
			Fix:    "Correct the fields. If a newer version of the API changed them, update oooi.",
		},
		network.KindNotWatched: {
			What:   "The operator cannot watch objects of kind {kind} ({error}).",
			Effect: "Edges keep the plan that they have.",
			Fix: "If a right is missing, restore ClusterRole oooi. If the kind or its version is missing, install what serves it. If the API " +
				"server did not answer, the operator tries again.",
		},
		network.PlanUnreadable: {
			What: "ConfigMap oooi-plan in namespace {namespace} is unreadable ({error}), so the assigned addresses are unknown.",
			Fix:  "Restore its previous content. Delete it only if no VM is running.",
		},
		network.ObjectNotOwned: {
			What:   "{subject} exists, and oooi did not create it for this hosted cluster.",
			Effect: "oooi does not change it, and does not create edges that need it.",
			Fix:    "If the object is not needed, delete it. Otherwise rename it. oooi then creates its own.",
		},
		network.ControlPlaneNamespaceShared: {
			What:   "Namespace {namespace} is the control plane namespace of hosted cluster {hostedCluster}, too.",
			Effect: "oooi serves that cluster, and changes nothing for this one.",
			Fix:    "A hosted cluster cannot be renamed. Create one of the two again with another name.",
		},
		network.WriteRefused: {
			What:   "The API server does not accept a write of {subject} ({error}).",
			Effect: "If the object exists, it keeps its previous state. Edges that need it are not changed.",
			Fix:    "Fix the cause that the error names, or remove the annotation that needs the object.",
		},
		network.DeleteRefused: {
			What:   "The API server does not let the operator delete {subject} ({error}).",
			Effect: "The object stays.",
			Fix:    "Fix the cause that the error names.",
		},
		network.ReadFailed: {
			What:   "The operator cannot read what the networks of this cluster are derived from ({error}).",
			Effect: "Nothing changes until it can.",
			Fix:    "Fix the cause that the error names. If a right is missing, apply the operator's manifests again.",
		},
		network.PlanInvalid: {
			What:   "The plan breaks a rule of the operator ({error}). This is a bug of oooi.",
			Effect: "Nothing of it is applied.",
			Fix:    "Undo the last change of the annotations, and report the bug with the output of oooi plan.",
		},
	}
}
