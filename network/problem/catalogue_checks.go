// This file declares the problems of one topic: what `oooi check` finds before an edge runs, and what edges report.

package problem

// refusedPods starts the message about pods that the API server refuses.
const refusedPods = "The API server refuses edge pods in namespace {namespace}: {error}."

// What all hosted clusters need.
var (
	HyperShiftMissing = declare("HyperShiftMissing", Entry{Reason: InstallationIncomplete, Severity: SeverityError,
		What: "The cluster does not have this kind.", Fix: "Install HyperShift or multicluster engine first."})
	MultusMissing = declare("MultusMissing", Entry{Reason: InstallationIncomplete, Severity: SeverityError,
		What: "The cluster does not have this kind.", Fix: "Install Multus: it attaches edges and VMs to networks."})
	KubeVirtMissing = declare("KubeVirtMissing", Entry{Reason: InstallationIncomplete, Severity: SeverityError,
		What: "The cluster does not have this kind.",
		Fix:  "Install KubeVirt or OpenShift Virtualization: nodes run in its VMs. If the API server has other names for its kinds, set --api-rules. If it is set, compare the rules with kubectl api-resources."})
	RoutesMissing = declare("RoutesMissing", Entry{Reason: InstallationIncomplete, Severity: SeverityInfo,
		What: "The management cluster does not have the kind Route.", Effect: "Routes are unavailable.", Fix: "Publish the control plane by load balancers or node ports."})
	OperatorMissing = declare("OperatorMissing", Entry{Reason: InstallationIncomplete, Severity: SeverityError,
		What: "No Deployment has the label app.kubernetes.io/name=oooi.", Fix: "Install oooi."})
	OperatorDuplicated = declare("OperatorDuplicated", Entry{Reason: InstallationIncomplete, Severity: SeverityWarning,
		What: "There are {count} Deployments of the operator.", Fix: "Remove all but one."})
	OperatorUnavailable = declare("OperatorUnavailable", Entry{Reason: InstallationIncomplete, Severity: SeverityError, Subject: "Deployment",
		What: "{subject} has no available pod.", Effect: "Edges keep serving, but no change takes effect.", Fix: "Look at its pods and their logs."})
	OperatorNotLeading = declare("OperatorNotLeading", Entry{Reason: InstallationIncomplete, Severity: SeverityError, Subject: "Lease",
		What: "No pod of the operator is the leader: {subject} does not exist, or is not renewed.", Effect: "No change takes effect.",
		Fix: "Look at its pods and their logs. It may not reach the API server, or have no right to write that Lease."})
	OperatorRightsMissing = declare("OperatorRightsMissing", Entry{Reason: InstallationIncomplete, Severity: SeverityError,
		What: "The ServiceAccount of the operator lacks rights: {rights}.", Fix: "Apply config/rbac, or let the Operator Lifecycle Manager install the version again."})
	PoliciesMissing = declare("PoliciesMissing", Entry{Reason: InstallationIncomplete, Severity: SeverityWarning,
		What: "No admission policy of oooi exists.", Effect: "Invalid annotations are found only after the write, and a stolen token can do more.", Fix: "Apply config/admission."})
	PoliciesUnbound = declare("PoliciesUnbound", Entry{Reason: InstallationIncomplete, Severity: SeverityWarning,
		What: "Admission policies without a binding refuse nothing: {policies}.", Fix: "Apply config/admission."})
	EdgeImageUnset = declare("EdgeImageUnset", Entry{Reason: InstallationIncomplete, Severity: SeverityError, Subject: "Deployment",
		What: "{subject} does not set {variable}, so the operator does not start.", Fix: "Set {variable} in its environment."})
	EdgeImageInvalid = declare("EdgeImageInvalid", Entry{Reason: InstallationIncomplete, Severity: SeverityError, Subject: "Deployment",
		What: "{variable} of {subject} is {image}, which is not an image name.", Fix: "Correct it."})
	EdgeImageMoves = declare("EdgeImageMoves", Entry{Reason: InstallationIncomplete, Severity: SeverityWarning,
		What: "{images}: the tag can move to another image.", Effect: "Nodes can run different images.", Fix: "Use a version or a digest."})
	EdgeImageReferred = declare("EdgeImageReferred", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown, Subject: "Deployment",
		What: "{subject} takes {variables} from another object, which is not read."})
	NotOptedIn = declare("NotOptedIn", Entry{Reason: InstallationIncomplete, Severity: SeverityWarning,
		What: "The HostedCluster does not have the annotation {annotation}, so oooi serves nothing.", Fix: "Set it to auto."})
	PausedForBackup = declare("PausedForBackup", Entry{Reason: Paused, Severity: SeverityWarning, Subject: "HostedCluster or NodePool",
		What: "{subject} was paused for a backup (annotation {annotation}), and still is.", Effect: "Its changes have no effect.",
		Fix: "If no backup runs, remove that annotation and spec.pausedUntil from it."})
)

// What would prevent the first edge from running.
var (
	EdgePodWarned = declare("EdgePodWarned", Entry{Reason: EdgesCannotStart, Severity: SeverityWarning,
		What: "The API server accepts edge pods in namespace {namespace}, and warns: {warnings}.", Fix: "Find the policy or the label of the namespace that warns."})
	EdgePodDenied = declare("EdgePodDenied", Entry{Reason: EdgesCannotStart, Severity: SeverityError,
		What: refusedPods,
		Fix:  "If a policy refuses them, exempt edges from it. If a webhook fails, repair its server, exempt edges from it, or set its failurePolicy to Ignore. Raise a quota or a limit that the message names. Allow SCC restricted-v2 for ServiceAccounts of the namespace. Edges comply with Pod Security level restricted, unless a policy or a webhook changes them."})
	EdgePodOtherImages = declare("EdgePodOtherImages", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: refusedPods + " The images of edges are unknown, so the dry run used other images, which may be the cause.",
		Fix:  "Check again when the operator names the images."})
	EdgePodUnjudged = declare("EdgePodUnjudged", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "It is unknown whether the API server accepts edge pods in namespace {namespace}: {error}."})
	NodesExcluded = declare("NodesExcluded", Entry{Reason: EdgesCannotStart, Severity: SeverityError,
		What: "No node may run an edge: {nodes}.", Fix: "Change annotation edge-node-selector, or the labels or taints of nodes. Edges tolerate the taints in spec.tolerations of the HostedCluster."})
	NodesFull = declare("NodesFull", Entry{Reason: EdgesCannotStart, Severity: SeverityError,
		What: "No node has room for an edge, which requests {requests}: {nodes}.", Fix: "Free resources on a node, or add a node."})
	NodesTooFew = declare("NodesTooFew", Entry{Reason: EdgesCannotStart, Severity: SeverityWarning,
		What: "Only node {node} has room for an edge, but the network has {count}.", Effect: "If this node fails, VMs lose service.",
		Fix: "Add a node, or set annotation edges to 1."})
	NodesWithoutRoom = declare("NodesWithoutRoom", Entry{Reason: EdgesCannotStart, Severity: SeverityInfo,
		What: "Other nodes lack room: {nodes}."})
	PodsUnread = declare("PodsUnread", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "Pods of all namespaces cannot be read, so the free resources of {count} nodes are unknown: {error}."})
	ImageNotPulled = declare("ImageNotPulled", Entry{Reason: EdgesCannotStart, Severity: SeverityWarning,
		What: "The kubelet cannot pull {image}: {error}.", Effect: "An edge that moves there does not start.",
		Fix: "Look at the registry, its mirror and the pull secret."})
	MTUExceedsEdge = declare("MTUExceedsEdge", Entry{Reason: AnnotationInvalid, Severity: SeverityWarning,
		What: "DHCP advertises {mtu} bytes, but the interface of edge {edge} has {link}.", Effect: "Larger packets are lost.",
		Fix: "Set annotation mtu to {least}, or raise mtu in the NetworkAttachmentDefinition and on the VLAN. Then restart the VMs."})
	MTUExceedsNewNAD = declare("MTUExceedsNewNAD", Entry{Reason: AnnotationInvalid, Severity: SeverityWarning,
		What: "DHCP advertises {mtu} bytes, but the NetworkAttachmentDefinition has {link}.", Effect: "Larger packets are lost.",
		Fix: "Set annotation mtu to {least}, or raise mtu in the NetworkAttachmentDefinition and on the VLAN. Then restart the VMs."})
)

// What a drain of nodes would do.
var (
	DrainNodeMissing = declare("DrainNodeMissing", Entry{Reason: DrainInterrupts, Severity: SeverityError, Subject: "Node",
		What: "{subject} does not exist.", Fix: "Compare the name with kubectl get nodes."})
	DrainMovesEdges = declare("DrainMovesEdges", Entry{Reason: DrainInterrupts, Severity: SeverityInfo,
		What: "{edges} can move to other nodes: {nodes}.", Effect: "Until these edges have moved, another edge serves VMs."})
	DrainLeavesOneEdge = declare("DrainLeavesOneEdge", Entry{Reason: DrainInterrupts, Severity: SeverityWarning,
		What:   "Too few other nodes can run {edges}: {why}.",
		Effect: "Only one edge serves VMs until the node returns. If it fails, VMs are not served.",
		Fix:    "Let more nodes run edges (annotation edge-node-selector), or make the maintenance short."})
	DrainWaitsForEdges = declare("DrainWaitsForEdges", Entry{Reason: DrainInterrupts, Severity: SeverityWarning,
		What:   "PodDisruptionBudget {budget} does not let {edges} be evicted from these nodes.",
		Effect: "The drain waits until the other edge is ready: ten minutes at most, or four hours while its node is in maintenance. After that, the drain continues, and VMs are not served.",
		Fix:    "Make an edge ready on another node first."})
	DrainStopsNetwork = declare("DrainStopsNetwork", Entry{Reason: DrainInterrupts, Severity: SeverityError,
		What:   "No other edge is ready, and no PodDisruptionBudget protects {edges} for more than ten minutes.",
		Effect: "VMs are not served until an edge runs on another node ({nodes}), or the node returns.",
		Fix:    "Make the other edge ready first, or set annotation edges to 2."})
	DrainReplacesVMs = declare("DrainReplacesVMs", Entry{Reason: DrainInterrupts, Severity: SeverityWarning,
		What:   "{count} of {all} VMs are deleted and created again ({names}).",
		Effect: "Their evictionStrategy is External: Cluster API drains each node of the hosted cluster first.",
		Fix:    "Drain one node at a time, so that enough VMs run."})
	DrainEmptiesNodePool = declare("DrainEmptiesNodePool", Entry{Reason: DrainInterrupts, Severity: SeverityWarning,
		What: "All VMs of the NodePool run on these nodes.", Effect: "Its workloads stop until a VM has booted on another node.",
		Fix: "Drain one node at a time, or add a replica first."})
	DrainMigratesVMs = declare("DrainMigratesVMs", Entry{Reason: DrainInterrupts, Severity: SeverityInfo,
		What: "{count} of {all} VMs migrate ({names})."})
	DrainWaitsForVMs = declare("DrainWaitsForVMs", Entry{Reason: DrainInterrupts, Severity: SeverityWarning,
		What:   "{count} of {all} VMs cannot be evicted ({names}).",
		Effect: "The drain waits: their evictionStrategy is LiveMigrate, and KubeVirt cannot migrate them.",
		Fix:    "Delete them when their workloads can stop. Condition LiveMigratable of each says why."})
	DrainStopsVMs = declare("DrainStopsVMs", Entry{Reason: DrainInterrupts, Severity: SeverityWarning,
		What: "{count} of {all} VMs stop ({names}).", Fix: "Drain their nodes in the hosted cluster first."})
	DrainOfVMsUnknown = declare("DrainOfVMsUnknown", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "{count} of {all} VMs have no evictionStrategy, so a setting of KubeVirt decides what happens to them ({names})."})
)

// What edges and the operator report.
var (
	Unread              = declare("Unread", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown, What: "{error}."})
	OtherClustersUnread = declare("OtherClustersUnread", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "You have no right to list HostedClusters, so conflicts with others are not found."})
	NotReported = declare("NotReported", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "The operator has not reported about this cluster."})
	EdgesReadyUnknown = declare("EdgesReadyUnknown", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown, What: "It is not known which edges are ready."})
	NoEdgeReady       = declare("NoEdgeReady", Entry{Reason: EdgeNotReady, Severity: SeverityError, What: "No edge is ready.", Fix: "Check their pods."})
	EdgesLeft         = declare("EdgesLeft", Entry{Reason: EdgeUnavailable, Severity: SeverityWarning, What: "{ready} of {count} edges are ready.", Fix: "Check the pods of the others."})
	EdgeFault         = declare("EdgeFault", Entry{Reason: EdgeUnavailable, Severity: SeverityInfo, What: "Edge {edge}: {error}."})
	DHCPLeftToOthers  = declare("DHCPLeftToOthers", Entry{Reason: ServedByOthers, Severity: SeverityWarning,
		What:   "Edges run no DHCP server (annotation services).",
		Effect: "VMs boot only if another DHCP server provides addresses, routes and DNS servers.",
		Fix:    "Make sure that it runs, or add dhcp to annotation services."})
	BackendWithoutPod       = declare("BackendWithoutPod", Entry{Reason: EdgeImpaired, Severity: SeverityWarning, What: "The backend has no ready pod.", Fix: "Look at its pods."})
	NeededBackendWithoutPod = declare("NeededBackendWithoutPod", Entry{Reason: EdgeImpaired, Severity: SeverityError,
		What: "The backend has no ready pod.", Effect: "Nodes need it.", Fix: "Look at its pods in the control plane namespace."})
	BackendFault     = declare("BackendFault", Entry{Reason: EdgeImpaired, Severity: SeverityWarning, What: "{error}.", Fix: "Look at the backends in oooi status."})
	EdgeReachesNoAPI = declare("EdgeReachesNoAPI", Entry{Reason: EdgeImpaired, Severity: SeverityWarning,
		What: "The edge serves, but no API server answers through its proxy.", Fix: "Look at the backends in oooi status, and at the pod network of its node."})
	EdgeServesNothing = declare("EdgeServesNothing", Entry{Reason: EdgeImpaired, Severity: SeverityWarning,
		What: "The servers of the edge do not answer VMs.", Fix: "Look at the logs of its containers."})
	EdgeSilent = declare("EdgeSilent", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "The edge has not reported recently what it reaches.", Fix: "Look at the log of its container failover."})
)
