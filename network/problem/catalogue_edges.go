// This file declares the problems of two topics: edges and what the operator applies, and new VMs that edges see.

package problem

// checkServers is the fix that says how to find out why a server of an edge does not serve.
const checkServers = "Look at the log of its container."

// Edges, and what the operator applies.
var (
	AddressCheckRunning = declare("AddressCheckRunning", Entry{Reason: AddressCheckPending, Severity: SeverityWaiting,
		What:   "Network {network} is not ready: oooi is checking for address conflicts (Deployment {deployment}).",
		Effect: "Edges are created when the check passes.",
		Fix:    "If this takes longer than a minute, check its pod: {command}"})
	AddressCheckRefused = declare("AddressCheckRefused", Entry{Reason: AddressCheckPending, Severity: SeverityWaiting,
		What:   "Network {network} is not ready: the pod of Deployment {deployment} cannot be created ({error}).",
		Effect: "Edges are created after that pod has checked for address conflicts.",
		Fix:    "Fix the error in parentheses."})
	EdgeNotServing = declare("EdgeNotServing", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, Subject: "edge",
		What:   "{subject} does not serve {servers} ({why}).",
		Effect: "If its peer also fails, network {network} has no {services}.",
		Fix:    "Fix the cause in parentheses. Its pod: {command}"})
	ServerStopped = declare("ServerStopped", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning,
		What: "No process listens at its socket.", Fix: checkServers})
	ServerSilent = declare("ServerSilent", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning,
		What: "It has not answered for more than 3s.", Fix: checkServers})
	ServerRefuses = declare("ServerRefuses", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning,
		What: "{error}.", Fix: checkServers})
	EdgePodNotReady = declare("EdgePodNotReady", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, Subject: "edge",
		What:   "{subject} is not ready.",
		Effect: "If its peer also fails, network {network} has no {services}.",
		Fix:    "Check its pod: {command}"})
	EdgePodRefused = declare("EdgePodRefused", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, Subject: "edge",
		What:   "The pod of {subject} cannot be created ({error}).",
		Effect: "If its peer also fails, network {network} has no {services}.",
		Fix:    "Fix the error in parentheses."})
	EdgePodTerminating = declare("EdgePodTerminating", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, Subject: "edge",
		What:   "The previous pod of {subject} has not terminated.",
		Effect: "If its peer also fails, network {network} has no {services}.",
		Fix:    "If its node is lost, delete the Node or taint it node.kubernetes.io/out-of-service:NoExecute. Check its pod: {command}"})
	NetworkEdgeNotServing = declare("NetworkEdgeNotServing", Entry{Reason: EdgeNotReady, Severity: SeverityError, Subject: "edge",
		What:   "{subject} does not serve {servers} ({why}), and network {network} has no other ready edge.",
		Effect: "VMs on the network have no {services}.",
		Fix:    "Fix the cause in parentheses. Its pod: {command}"})
	NetworkEdgeNotReady = declare("NetworkEdgeNotReady", Entry{Reason: EdgeNotReady, Severity: SeverityError, Subject: "edge",
		What:   "{subject} is not ready, and no other edge of network {network} is.",
		Effect: "VMs on the network have no {services}.",
		Fix:    "Check its pod: {command}"})
	NetworkEdgeRefused = declare("NetworkEdgeRefused", Entry{Reason: EdgeNotReady, Severity: SeverityError, Subject: "edge",
		What:   "The pod of {subject} cannot be created ({error}), and network {network} has no other ready edge.",
		Effect: "VMs on the network have no {services}.",
		Fix:    "Fix the error in parentheses."})
	NetworkEdgeTerminating = declare("NetworkEdgeTerminating", Entry{Reason: EdgeNotReady, Severity: SeverityError, Subject: "edge",
		What:   "The previous pod of {subject} has not terminated, and network {network} has no other ready edge.",
		Effect: "VMs on the network have no {services}.",
		Fix:    "If its node is lost, delete the Node or taint it node.kubernetes.io/out-of-service:NoExecute. Check its pod: {command}"})
	EdgeOverdue = declare("EdgeOverdue", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, Subject: "edge",
		What:   "{subject} has been unavailable for more than {minutes} minutes.",
		Effect: "Its PodDisruptionBudget was removed, so the node of {peer} can be drained.",
		Fix:    "If only one node can run edges, set annotation edges to 1. If other nodes can, set annotation edge-node-selector."})
	EdgeAwaitsNode = declare("EdgeAwaitsNode", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, Subject: "edge",
		What:   "{subject} has been unavailable for more than {minutes} minutes. Its node {node} is cordoned or updated.",
		Effect: "For up to {hours} hours, the PodDisruptionBudget prevents a drain of the node of {peer}.",
		Fix:    "Complete the maintenance and uncordon node {node}. If it does not return, delete the Node."})
	EdgeRolloutHeld = declare("EdgeRolloutHeld", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, Subject: "edge",
		What: "{subject} keeps its previous version until {peer} is ready.",
		Fix:  "To replace it anyway, delete Deployment {deployment}."})
	UpdateWaits = declare("UpdateWaits", Entry{Reason: UpdatePending, Severity: SeverityInfo,
		What:   "The edges run another release of oooi than the operator, which updates hosted clusters in waves. Wave {wave} of {waves} is in progress.",
		Effect: "The edges serve as before until it is the turn of this cluster."})
	UpdateStopped = declare("UpdateStopped", Entry{Reason: UpdatePending, Severity: SeverityWarning,
		What:   "The edges run another release of oooi than the operator. The update is stopped, because edges of other clusters fail with it.",
		Effect: "The edges serve as before.",
		Fix:    "Administrators: the operator's log names the clusters that fail. The update continues when their edges are ready, or when these clusters are paused."})
	PlanTooLarge = declare("PlanTooLarge", Entry{Reason: NotApplied, Severity: SeverityError,
		What: "The plan has {size} KiB, but at most {most} KiB fit in its ConfigMap.",
		Fix:  "Set fewer dns-records, reservations, published Services or external hosts, or use fewer networks."})
	PlanUnreadable = declare("PlanUnreadable", Entry{Reason: NotApplied, Severity: SeverityError,
		What: "ConfigMap oooi-plan in namespace {namespace} is unreadable ({error}), so the assigned addresses are unknown.",
		Fix:  "Restore its previous content. Delete it only if no VM is running."})
	ObjectNotOwned = declare("ObjectNotOwned", Entry{Reason: NotApplied, Severity: SeverityError, Subject: "kind and name of the object",
		What:   "{subject} exists, and oooi did not create it for this hosted cluster.",
		Effect: "oooi does not change it, and does not create edges that need it.",
		Fix:    "If the object is not needed, delete it. Otherwise rename it. oooi then creates its own."})
	ControlPlaneNamespaceShared = declare("ControlPlaneNamespaceShared", Entry{Reason: NotApplied, Severity: SeverityError,
		What:   "Namespace {namespace} is the control plane namespace of hosted cluster {hostedCluster}, too.",
		Effect: "oooi serves that cluster, and changes nothing for this one.",
		Fix:    "A hosted cluster cannot be renamed. Create one of the two again with another name."})
	FieldUnreadable = declare("FieldUnreadable", Entry{Reason: NotApplied, Severity: SeverityError,
		What:   "{kind} {object} has fields that oooi cannot read ({fields}).",
		Effect: "Edges keep the plan that they have.",
		Fix:    "Correct the fields. If a newer version of the API changed them, update oooi."})
	KindNotWatched = declare("KindNotWatched", Entry{Reason: NotApplied, Severity: SeverityError,
		What:   "The operator cannot watch objects of kind {kind} ({error}).",
		Effect: "Edges keep the plan that they have.",
		Fix:    "If a right is missing, restore ClusterRole oooi. If the kind or its version is missing, install the software that serves it. If the API server did not answer, the operator tries again."})
	WriteRefused = declare("WriteRefused", Entry{Reason: NotApplied, Severity: SeverityError, Subject: "kind and name of the object",
		What:   "The API server does not accept a write of {subject} ({error}).",
		Effect: "If the object exists, it keeps its previous state. Edges that need it are not changed.",
		Fix:    "Fix the cause that the error names, or remove the annotation that needs the object."})
	DeleteRefused = declare("DeleteRefused", Entry{Reason: NotApplied, Severity: SeverityError, Subject: "kind and name of the object",
		What:   "The API server does not let the operator delete {subject} ({error}).",
		Effect: "The object stays.",
		Fix:    "Fix the cause that the error names."})
	ReadFailed = declare("ReadFailed", Entry{Reason: NotApplied, Severity: SeverityError,
		What:   "The operator cannot read the objects that define the networks of this cluster ({error}).",
		Effect: "Nothing changes until the operator can read them.",
		Fix:    "Fix the cause that the error names. If a right is missing, apply the operator's manifests again."})
	PlanInvalid = declare("PlanInvalid", Entry{Reason: NotApplied, Severity: SeverityError,
		What:   "The plan breaks a rule of the operator ({error}). This is a bug of oooi.",
		Effect: "The plan is not applied.",
		Fix:    "Undo the last change of the annotations, and report the bug with the output of oooi plan."})
	EdgeMissing = declare("EdgeMissing", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, Subject: "edge",
		What:   "{subject} does not exist.",
		Effect: "If its peer also fails, network {network} has no {services}.",
		Fix:    "Another problem, or the line Paused, says why the operator does not create it."})
	NetworkEdgesMissing = declare("NetworkEdgesMissing", Entry{Reason: EdgeNotReady, Severity: SeverityError,
		What:   "Network {network} has no edge.",
		Effect: "VMs on the network have no {services}.",
		Fix:    "Another problem, or the line Paused, says why the operator creates none."})
	ClusterPaused = declare("ClusterPaused", Entry{Reason: Paused, Severity: SeverityInfo,
		What:   "The operator is paused for this cluster (see {key}).",
		Effect: "Changes are not applied, and a deleted edge is not created again.",
		Fix:    "To continue, remove {key} from the HostedCluster."})
	PausedUnserved = declare("PausedUnserved", Entry{Reason: Paused, Severity: SeverityWaiting,
		What:   "The operator is paused for this cluster (see {key}).",
		Effect: "oooi had applied nothing before the pause, so no network is served.",
		Fix:    "To continue, remove {key} from the HostedCluster."})
	RemovalPending = declare("RemovalPending", Entry{Reason: RemovalScheduled, Severity: SeverityWarning,
		What:   "Annotation {key} is missing on the HostedCluster, but VMs use network {network}.",
		Effect: "Edges keep serving until {deadline}, and no change is applied. Then they are removed.",
		Fix:    "To keep them, set annotation {key} to its previous value. To remove them now, set it to none."})
	RemovalNotStored = declare("RemovalNotStored", Entry{Reason: RemovalScheduled, Severity: SeverityWarning,
		What:   "Annotation {key} is missing on the HostedCluster, but VMs use network {network}.",
		Effect: "Edges keep serving, and no change is applied. They are removed ten minutes after the operator can store the deadline.",
		Fix:    "To keep them, set annotation {key} to its previous value. To remove them now, set it to none."})
	RemovalPendingVMsUnknown = declare("RemovalPendingVMsUnknown", Entry{Reason: RemovalScheduled, Severity: SeverityWarning,
		What:   "Annotation {key} is missing on the HostedCluster, and VMs cannot be listed ({error}).",
		Effect: "Edges of network {network} keep serving until {deadline}, and no change is applied. Then they are removed.",
		Fix:    "To keep them, set annotation {key} to its previous value. To remove them now, set it to none."})
	ClusterDeleting = declare("ClusterDeleting", Entry{Reason: Removing, Severity: SeverityInfo,
		What:   "The HostedCluster is being deleted.",
		Effect: "The operator changes nothing. Kubernetes deletes the edges with the control plane namespace.",
		Fix:    "No action is needed."})
	RemovalRunning = declare("RemovalRunning", Entry{Reason: Removing, Severity: SeverityWaiting,
		What:   "The operator is removing the edges and all other objects of oooi, as the annotations request.",
		Effect: "The networks lose DHCP, DNS and access to the control plane.",
		Fix:    "No action is needed. This condition is removed with the last object."})
	RemovalHeld = declare("RemovalHeld", Entry{Reason: Removing, Severity: SeverityError,
		What:   "Objects of oooi are deleted, but finalizers keep them: {objects} ({finalizers}).",
		Effect: "An edge among them may still serve.",
		Fix:    "Find out which software sets these finalizers, and let it finish. Otherwise remove them from the objects."})
	RemovalUnsafe = declare("RemovalUnsafe", Entry{Reason: NotApplied, Severity: SeverityError,
		What:   "Annotation {key} is missing on the HostedCluster, and the plan in force is missing or unreadable. VMs may use its networks.",
		Effect: "Edges keep serving as they are.",
		Fix:    "To keep them, set annotation {key} to auto. To remove them now, set it to none."})
)

// VMs that do not become nodes: those that do not start, and by the step that is missing for more than ten minutes. The VMs
// named are the first five.
var (
	VMsNotStarted = declare("VMsNotStarted", Entry{Reason: NodesNotJoining, Severity: SeverityWarning, PreventsNodes: true,
		What:   "KubeVirt has not started {newVMs} on network {network} ({error}).",
		Effect: "They do not become nodes.",
		Fix:    "Fix the cause in parentheses. The Events of these VMs and their pods in namespace {namespace} have details."})
	VMsNotCreated = declare("VMsNotCreated", Entry{Reason: NodesNotJoining, Severity: SeverityWarning, PreventsNodes: true,
		What:   "KubeVirt has not created all VMs of NodePool {nodePools} ({error}).",
		Effect: "They do not become nodes.",
		Fix:    "Read condition AllMachinesReady of the NodePool. With VMCreateFailed, fix its error. Otherwise, fix the disks of VMs: the DataVolumes and PersistentVolumeClaims in namespace {namespace}."})
	VMNodesExcluded = declare("VMNodesExcluded", Entry{Reason: NodesNotJoining, Severity: SeverityWarning, PreventsNodes: true,
		What:   "No node may run VMs of NodePool {nodePools}: {nodes}.",
		Effect: "New VMs stay Pending, or do not boot.",
		Fix:    "Change {key}, compute or hostDevices of the NodePool, annotation {annotation}, or the labels or taints of nodes. For another architecture, create a NodePool with its spec.arch. VMs tolerate only taints that this annotation adds to /spec/template/spec/tolerations, and not spec.tolerations of the HostedCluster."})
	BootWithoutDiscover = declare("BootWithoutDiscover", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "No DHCPDISCOVER of {newVMs} has reached an edge of network {network} since {since}, although they run.",
		Effect: "They have no address, so they do not boot.",
		Fix:    "Look at the console of such a VM. If it waits for DHCP, check the VLAN on the switch port of its node."})
	BootWithoutLease = declare("BootWithoutLease", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} sent a DHCPDISCOVER on network {network} at {since}, and got no lease.",
		Effect: "They have no address, so they do not boot.",
		Fix:    "If the condition also reports a problem with addresses, leases or another DHCP server, fix it. Otherwise the offers of edges do not reach the VMs: check the VLAN on the switch port of their node."})
	BootWithoutName = declare("BootWithoutName", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} got a lease on network {network} at {since}. No edge received a DNS query from them for the name of Ignition.",
		Effect: "They do not get their configuration, so they do not become nodes.",
		Fix:    "Look at the console of such a VM. Check that it uses DNS server {serviceVIP}: another DHCP server may have answered it."})
	BootWithoutIgnition = declare("BootWithoutIgnition", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} on network {network} got no connection to Ignition since {since}.",
		Effect: "They do not get their configuration, so they do not become nodes.",
		Fix:    "Check the health of ignition-server-proxy in the output of oooi status. If it has no fault, oooi check --from-network finds the cause."})
	BootWithoutAPI = declare("BootWithoutAPI", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} on network {network} reached Ignition at {since}, but not the API server.",
		Effect: "They do not become nodes.",
		Fix:    "Look at the console of such a VM. It pulls the image of its operating system first, so check that annotation allowed-hosts has its registry."})
	BootWithoutKonnectivity = declare("BootWithoutKonnectivity", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} on network {network} reached the API server at {since}, but no konnectivity agent has connected from these VMs.",
		Effect: "They may not be Ready, and kubectl logs and exec fail for them.",
		Fix:    "In the hosted cluster, look at its nodes and CertificateSigningRequests, and at the pods of DaemonSet kube-system/konnectivity-agent."})
)
