// This file declares the reasons of problems, by topic.

package problem

// A Reason is a stable CamelCase word. It is the reason of a condition, and an anchor
// of docs/problems.md.
type Reason string

// Traits are what the problems of one Reason have in common. Rank, AboutEdges and Follows decide the order of problems.
type Traits struct {
	// Meaning is whole sentences for all clusters. No message of a cause repeats them.
	Meaning string
	// Page is the page of docs/ that says more, such as "networks.md". Empty: none.
	Page string
	Rank Rank
	// AboutEdges is true if the problems are about edges that exist, not about the plan.
	AboutEdges bool
	// Follows is true if the problems are often the effect of another one. For example, that is an address conflict,
	// two pods of one edge, a refused object or a small range.
	Follows bool
}

// A Rank orders reasons of one severity: the lowest comes first. Most reasons have the zero value.
type Rank int

const (
	// PreventsNodes: nodes may not become Ready, although everything is served.
	PreventsNodes Rank = -2
	// TakesPart: VMs lack a part, or will lack it.
	TakesPart Rank = -1
	// Hint: the problem is listed last.
	Hint Rank = 1
)

// traits has all reasons. It does not change after initialization.
var traits = map[Reason]Traits{}

// Traits returns what the problems of r have in common.
func (r Reason) Traits() Traits { return traits[r] }

func reason(r Reason, t Traits) Reason {
	traits[r] = t
	return r
}

var (
	AnnotationInvalid = reason("AnnotationInvalid", Traits{Page: "annotations.md",
		Meaning: "oooi cannot use the value of an annotation, or two NodePools of one network set different values. If annotation " +
			"publish of a Service is invalid, the Service stays published as before."})
	AnnotationUnknown = reason("AnnotationUnknown", Traits{Page: "annotations.md",
		Meaning: "An annotation of oooi has no effect. It is misspelled, has a wrong prefix, is set on the wrong object, or " +
			"another value overrides it."})
	FilesDiffer = reason("FilesDiffer", Traits{
		Meaning: "Two files contain the same object with different content, so oooi uses only one version. Only oooi " +
			"lint and oooi plan report this."})
	PlatformUnsupported = reason("PlatformUnsupported", Traits{
		Meaning: "The hosted cluster is not on KubeVirt, so it has no VMs on a network of the management cluster."})
	ExternalInfrastructure = reason("ExternalInfrastructure", Traits{
		Meaning: "The VMs run on another cluster or in another namespace, where edges cannot serve them."})
	PublishingUnsupported = reason("PublishingUnsupported", Traits{Page: "publish.md",
		Meaning: "An endpoint is published in a way that VMs cannot use. HyperShift accepts some publishing strategies in " +
			"spec.services that it does not implement on KubeVirt."})
	NetworkMissing = reason("NetworkMissing", Traits{Page: "networks.md",
		Meaning: "A NodePool names no network, or names a network or a HostedCluster that does not exist. Or its VMs boot from a " +
			"network that annotation network does not select."})
	NetworkUnsupported = reason("NetworkUnsupported", Traits{Page: "networks.md",
		Meaning: "Edges cannot serve a network, or can serve it only in part, because of its NetworkAttachmentDefinition or the " +
			"NodePools."})
	FramesDropped = reason("FramesDropped", Traits{Rank: PreventsNodes,
		Meaning: "The network may not deliver frames to VMs. HyperShift connects each VM through a Linux bridge in the VM's pod. " +
			"The VM and the interface of the pod have different MAC addresses. A macvlan interface delivers no frames for " +
			"the VM's MAC address, and a virtual function of type sriov may drop them. If annotation kubevirt-vm-jsonpatch " +
			"changes the VMs, oooi does not report this."})
	NADNamespaceNotAllowed = reason("NADNamespaceNotAllowed", Traits{Rank: PreventsNodes, Page: "networks.md",
		Meaning: "A NodePool names a NetworkAttachmentDefinition in a namespace that its VMs cannot use. If Multus isolates " +
			"namespaces, as on OpenShift, VMs can use only the control plane namespace, namespace default, and the global " +
			"namespaces of Multus."})
	NodesNotCreated = reason("NodesNotCreated", Traits{Rank: PreventsNodes,
		Meaning: "HyperShift refuses the HostedCluster or its NodePools, or a user paused or disabled the creation of nodes. " +
			"Edges are not affected."})
	PodNetworkUnsupported = reason("PodNetworkUnsupported", Traits{Rank: PreventsNodes,
		Meaning: "The network settings of the hosted cluster prevent its network plugin from starting, so its nodes do not become " +
			"Ready. The warning about a missing IPv6 router ends when a VM reports an IPv6 address."})
	NetworkShared = reason("NetworkShared", Traits{Rank: TakesPart, Page: "existing-vlan.md",
		Meaning: "Two hosted clusters, or two NetworkAttachmentDefinitions, use the same layer-2 network. Clusters can share a " +
			"network if each has its own edge-addresses and dhcp-range. If two clusters need the same addresses, the cluster " +
			"that is already served keeps them. If neither is served yet, the older cluster takes precedence."})
	CIDRMissing = reason("CIDRMissing", Traits{
		Meaning: "A network that VMs boot from has no IPv4 CIDR. Or oooi does not know which NodePool is older, so the " +
			"names of NodePools decide which network gets the CIDR."})
	CIDRTooSmall = reason("CIDRTooSmall", Traits{
		Meaning: "The CIDR is too small for two VIPs, two edge addresses and a DHCP range."})
	RangeTooSmall = reason("RangeTooSmall", Traits{Rank: PreventsNodes,
		Meaning: "The NodePools can have more VMs than the DHCP range has addresses."})
	AddressConflict = reason("AddressConflict", Traits{
		Meaning: "Two parts of the configuration need the same address, port or name. A CIDR must not overlap that of another " +
			"network, or an internal network of the hosted cluster, such as its pod network. A CIDR must not contain " +
			"addresses that edges reach through the pod network. While VMs use a network, its addresses do not change. To " +
			"move to another network while VMs run, create a NodePool that names a second NetworkAttachmentDefinition."})
	AddressInUse = reason("AddressInUse", Traits{Rank: TakesPart, Page: "existing-vlan.md",
		Meaning: "Another host uses an address that edges need or that DHCP assigns. Before the first edge starts, oooi repeats " +
			"its check every 10 s. Running edges report such a host for up to one hour after they last saw it. On bridge " +
			"networks, localnet networks with CRI-O, and networks with one edge, running edges do not see every host that " +
			"uses their VIPs. There, oooi check --from-network finds such hosts. Remove the host, or set other addresses."})
	AddressesExhausted = reason("AddressesExhausted", Traits{Rank: PreventsNodes, AboutEdges: true, Follows: true,
		Meaning: "A DHCP client got no address, because no address of the DHCP range is free. An address stays assigned for " +
			"up to one lease time after its lease ends. If its VM is deleted, the address becomes free earlier. The problem " +
			"ends when an address is free, or ten minutes after the last request that got no address."})
	LeasesNotWritten = reason("LeasesNotWritten", Traits{Rank: TakesPart, AboutEdges: true,
		Meaning: "Edges store DHCP leases as Lease objects. The API server refuses the Leases of one edge, so this edge gives no " +
			"address to VMs that start. These VMs can get an address from the other edge. A quota for Leases must allow one " +
			"for each address of the DHCP range, and one for the report of each edge."})
	RogueDHCPServer = reason("RogueDHCPServer", Traits{Rank: TakesPart, AboutEdges: true,
		Meaning: "A DHCP server other than the edges is on the network. oooi reports each such server for one hour after an edge " +
			"last saw it."})
	RogueRouter = reason("RogueRouter", Traits{AboutEdges: true, Page: "security.md",
		Meaning: "A host on the network sends IPv6 router advertisements, and the kernel of an edge added a route from one of " +
			"them. The kernel removes the route when its lifetime ends, or when the edge's pod ends."})
	NodesNotJoining = reason("NodesNotJoining", Traits{Rank: TakesPart, AboutEdges: true, Follows: true, Page: "troubleshooting.md",
		Meaning: "A VM that boots for the first time has not reached its next step for more than ten minutes. oooi status " +
			"--vm NAME shows its steps. If a VM pulls images slowly, a step may take longer."})
	EdgesPartitioned = reason("EdgesPartitioned", Traits{Rank: TakesPart, AboutEdges: true, Follows: true,
		Meaning: "Both edges of a network serve VMs, but one edge does not hear the other on the VLAN. If switches isolate ports, " +
			"allow UDP port 7788 between the edge addresses. These are the third and fourth address in annotation " +
			"edge-addresses. For ten minutes, oooi recreates neither edge and prevents drains, because each edge may serve " +
			"VMs that the other edge does not reach."})
	EdgesServeDifferentPlans = reason("EdgesServeDifferentPlans", Traits{Rank: TakesPart, AboutEdges: true, Follows: true,
		Meaning: "For more than 30 s, the two edges of a network have served different plans. VMs may get different answers from " +
			"the two edges."})
	EdgeDuplicated = reason("EdgeDuplicated", Traits{Rank: TakesPart, AboutEdges: true,
		Meaning: "Two pods run as the same edge of a network. The management cluster has lost contact with a node, but the edge " +
			"pod on that node still runs on the VLAN. This older pod ends when the node returns."})
	EdgeImpaired = reason("EdgeImpaired", Traits{Rank: TakesPart, AboutEdges: true, Follows: true,
		Meaning: "An edge runs, but cannot do everything that its peer does, or finds no working endpoint of a backend. If an " +
			"edge receives nothing from the VLAN or cannot reach the hosted API server, its peer takes over within seconds. " +
			"A common cause is a bond or a switch port that carries only the VLAN, or only the cluster network."})
	SourcesUnverified = reason("SourcesUnverified", Traits{AboutEdges: true, Page: "security.md",
		Meaning: "The kernel of an edge accepts packets with forged source addresses from VMs, and may send answers into the pod " +
			"network. The kernel uses the larger value of net.ipv4.conf.all.rp_filter and net.ipv4.conf.default.rp_filter. " +
			"It must be 1, because 2 is not strict enough. On OpenShift, set sysctls with the Node Tuning Operator."})
	IPv6NotServed = reason("IPv6NotServed", Traits{Rank: Hint,
		Meaning: "Edges provide IPv4 only. VMs may take IPv6 addresses and routes from a router on their network. Every node " +
			"needs the API server, Ignition and konnectivity. If one of these is published at an IPv6 address, the problem " +
			"is an Error."})
	AppsUnreachable = reason("AppsUnreachable", Traits{Rank: TakesPart, Page: "ingress.md",
		Meaning: "oooi does not know an address at which VMs can reach *.apps of the hosted cluster. The ingress runs on the VMs. " +
			"By default, HyperShift publishes the ingress with type NodePortService, and no object of the management cluster " +
			"shows its node ports."})
	ImagesUnreachable = reason("ImagesUnreachable", Traits{Rank: PreventsNodes, Page: "existing-vlan.md",
		Meaning: "Nodes may be unable to reach a registry that they need before they become Ready. Without a gateway, edges " +
			"forward these connections by TLS server name. In most cases, a gateway helps, or a mirror on the network with a " +
			"record in dns-records. With cause NoRegistryReachable, it is certain that nodes reach no registry, so the " +
			"condition is False. The command oc adm release info --pullspecs lists the images of a release with their hosts."})
	ControlPlaneProxied = reason("ControlPlaneProxied", Traits{Rank: PreventsNodes,
		Meaning: "The hosted cluster has an HTTPS proxy. Nodes use it for Ignition, konnectivity and the API server, unless " +
			"noProxy lists the hosts of these endpoints. HyperShift does not add these hosts to noProxy. The proxy cannot " +
			"resolve names that only edges resolve."})
	OAuthUnreachable = reason("OAuthUnreachable", Traits{Rank: TakesPart,
		Meaning: "Pods of the hosted cluster, such as the console, cannot reach OAuth. The network has a gateway, and OAuth is " +
			"published at an IP address. These pods do not use the route to OAuth that their node has."})
	HostUnreachable = reason("HostUnreachable", Traits{Rank: TakesPart,
		Meaning: "The hosted control plane, the console or an operator cannot reach a host. The hosted control plane connects to some " +
			"hosts from the nodes, through konnectivity. Without a gateway, nodes reach only Services of the hosted cluster, " +
			"published endpoints, and hosts to which edges forward. The console connects to OAuth, and operators connect to the ingress, " +
			"through the HTTPS proxy of the hosted cluster, unless noProxy lists these hosts."})

	NTPMissing = reason("NTPMissing", Traits{Rank: Hint,
		Meaning: "VMs cannot reach a time server: ntp is missing in annotation services, or annotation ntp-servers names servers " +
			"that VMs cannot reach."})
	ClockUnsynchronized = reason("ClockUnsynchronized", Traits{Rank: Hint, AboutEdges: true,
		Meaning: "Edges serve the time of the management cluster node on which they run, and no program synchronizes the clock of " +
			"that node. Edges ask the kernel whether the clock is synchronized. If the program that sets the clock does not " +
			"inform the kernel, oooi reports even a correct clock. Examples are chronyd without rtcsync, chronyd with a " +
			"local stratum only, ntpd with disable kernel, and an agent of the hypervisor. If you cannot change the program, " +
			"set annotation ntp-servers to a time server that VMs reach."})
	NotPermitted = reason("NotPermitted", Traits{Page: "install.md",
		Meaning: "The HostedCluster requests something that edges refuse, or that the administrator of the management cluster " +
			"does not permit. oooi ignores this request, and serves the rest. If annotation edge-node-selector has a node " +
			"label that is not permitted, oooi applies nothing."})
	NamesOverridden = reason("NamesOverridden", Traits{
		Meaning: "A record in annotation dns-records overrides a name that VMs need for another host."})
	AccessOpened = reason("AccessOpened", Traits{Page: "management-access.md",
		Meaning: "Annotation management-access lets callers outside a network connect to hosts on it. This hint lists the callers " +
			"and the destinations."})
	AccessRefused = reason("AccessRefused", Traits{Page: "management-access.md",
		Meaning: "oooi cannot open an entry of annotation management-access, or a load balancer of the hosted cluster, to " +
			"callers. All other entries work."})
	LoadBalancersUnreachable = reason("LoadBalancersUnreachable", Traits{Page: "management-access.md",
		Meaning: "Clients outside the network cannot reach load balancers of the hosted cluster, or its ingress. These Services " +
			"forward to addresses of VMs, and no router has a route to an isolated network."})
	ServedByOthers = reason("ServedByOthers", Traits{
		Meaning: "Edges do not run a server that annotation services leaves out, and do not serve an additional network without a " +
			"CIDR. The message says what your own servers must do instead."})
	FailoverDegraded = reason("FailoverDegraded", Traits{Rank: TakesPart, AboutEdges: true, Follows: true,
		Meaning: "Failover is slow: if an edge fails, VMs may use the other edge only after 40 to 50 s, instead of 4 s or less. A " +
			"common cause is the sysctl arp_announce of management cluster nodes. Set both net.ipv4.conf.all.arp_announce " +
			"and net.ipv4.conf.default.arp_announce to 0. The option strictARP of kube-proxy sets the first one to 2. oooi " +
			"check --failover also reports its measurement with this reason."})
	NotApplied = reason("NotApplied", Traits{
		Meaning: "The operator cannot apply the plan of the hosted cluster, or cannot apply all its objects. Running edges keep " +
			"serving, and the operator retries. If a mutating webhook changes objects of oooi, the admission " +
			"policy oooi-operator refuses them: exclude ServiceAccount oooi from such a webhook."})
	Paused = reason("Paused", Traits{
		Meaning: "Annotation paused or spec.pausedUntil pauses oooi for this hosted cluster. oooi applies no changes, and the " +
			"condition describes the existing edges."})
	RemovalScheduled = reason("RemovalScheduled", Traits{Rank: TakesPart,
		Meaning: "Annotation network of the HostedCluster was removed while VMs use its networks. For ten minutes, oooi changes " +
			"nothing. Then it removes the edges."})
	Removing = reason("Removing", Traits{
		Meaning: "The HostedCluster no longer opts in (annotation network), or is being deleted. The operator removes the edges " +
			"first, then the objects that edges depend on, and the condition last."})
	EdgeUnavailable = reason("EdgeUnavailable", Traits{Rank: TakesPart, AboutEdges: true, Follows: true, Page: "networks.md",
		Meaning: "One edge of a network does not serve, and the other edge serves all VMs. On a macvlan, sriov or OVN layer2 " +
			"network, two edges need the CNI plugin dummy and the kernel module dummy on their nodes."})
	UpdatePending = reason("UpdatePending", Traits{Page: "install.md",
		Meaning: "The operator was updated, and recreates the edges of all hosted clusters in waves. While edges fail with the " +
			"new release, the operator continues with one cluster at a time, or stops the update."})
	EdgeNotReady = reason("EdgeNotReady", Traits{AboutEdges: true, Follows: true,
		Meaning: "No edge of a network is ready, so its VMs have no DHCP, DNS or proxy. For some seconds, a new network has this " +
			"problem with severity Waiting."})
	AddressCheckPending = reason("AddressCheckPending", Traits{
		Meaning: "oooi is checking whether another host uses the addresses of the edges (address conflict detection, RFC 5227)."})
	WaitingForControlPlane = reason("WaitingForControlPlane", Traits{
		Meaning: "HyperShift has not published the hosted API server yet, or the control plane was deleted. oooi creates nothing " +
			"until the API server is published."})
	WaitingForEndpoint = reason("WaitingForEndpoint", Traits{
		Meaning: "An object that defines an endpoint does not exist yet: a Route, a Service, a load balancer or the ingress. Or " +
			"no edge reaches an endpoint that nodes need. If edges served an endpoint before, they still serve it at its " +
			"last known address."})
	EndpointStale = reason("EndpointStale", Traits{
		Meaning: "The object that defines an endpoint is missing, or the address of the endpoint has changed. Edges still serve " +
			"the former addresses, because VMs may have stored one of them."})
	WaitingForNetwork = reason("WaitingForNetwork", Traits{
		Meaning: "A network that VMs do not boot from has no CIDR, or the cluster has no NodePool. oooi plan also uses this " +
			"reason for NetworkAttachmentDefinitions that are not in its input."})
	InstallationIncomplete = reason("InstallationIncomplete", Traits{Page: "install.md",
		Meaning: "oooi check finds that the management cluster lacks an API kind, a working operator, or the admission policies " +
			"of oooi."})
	EdgesCannotStart = reason("EdgesCannotStart", Traits{Page: "troubleshooting.md",
		Meaning: "oooi check finds that the API server refuses edge pods, no node has room for one, or a node cannot pull their " +
			"image. While an edge of the network is ready, an Error becomes a Warning: that edge keeps running, but cannot " +
			"be recreated."})
	DrainInterrupts = reason("DrainInterrupts", Traits{Page: "restore.md",
		Meaning: "oooi check --drain predicts how a drain of nodes affects edges and VMs, or why the drain would wait."})
	NetworkTestFailed = reason("NetworkTestFailed", Traits{Page: "troubleshooting.md",
		Meaning: "oooi check --from-network started a pod that acts as a VM. The pod got no answer, or a wrong one. If nodes can " +
			"boot without that answer, an Error becomes a Warning."})
	CheckIncomplete = reason("CheckIncomplete", Traits{Page: "troubleshooting.md",
		Meaning: "oooi check could not run a test. The message says what was not tested, and why. If you lack a right, ask an " +
			"administrator to run the check once."})
)
