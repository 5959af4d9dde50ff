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
	// Follows is true if the problems are often the effect of another problem, such as an address conflict, two pods of
	// one edge, a refused object or a small range.
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
		Meaning: "The value of an annotation cannot be used, or two NodePools of one network have different values. A Service " +
			"with an invalid annotation publish stays published as before."})
	AnnotationUnknown = reason("AnnotationUnknown", Traits{Page: "annotations.md",
		Meaning: "An annotation of oooi has no effect: it is misspelled, has a wrong prefix, is on the wrong object, or " +
			"another value takes precedence."})
	FilesDiffer = reason("FilesDiffer", Traits{
		Meaning: "Two files contain the same object with different content, so one file is ignored. Only oooi lint and oooi plan report this."})
	PlatformUnsupported = reason("PlatformUnsupported", Traits{
		Meaning: "The hosted cluster is not on KubeVirt, so it has no VMs on a network of the management cluster."})
	ExternalInfrastructure = reason("ExternalInfrastructure", Traits{
		Meaning: "The VMs run on another cluster or in another namespace, where edges cannot serve them."})
	PublishingUnsupported = reason("PublishingUnsupported", Traits{Page: "publish.md",
		Meaning: "An endpoint is published in a way that VMs cannot use. HyperShift accepts some strategies in spec.services " +
			"that it does not carry out on KubeVirt."})
	NetworkMissing = reason("NetworkMissing", Traits{Page: "networks.md",
		Meaning: "A NodePool names a network or a HostedCluster that does not exist, names no network, or boots from a network " +
			"that annotation network leaves out."})
	NetworkUnsupported = reason("NetworkUnsupported", Traits{Page: "networks.md",
		Meaning: "Edges cannot serve a network, or a part of it, as its NetworkAttachmentDefinition or the NodePools describe " +
			"it."})
	FramesDropped = reason("FramesDropped", Traits{Rank: PreventsNodes,
		Meaning: "HyperShift connects each VM through a Linux bridge in its pod. The interface of the pod has another MAC than " +
			"the VM. A macvlan delivers no frames for the VM's MAC, and a virtual function of sriov may drop them. If " +
			"annotation kubevirt-vm-jsonpatch changes the VMs, oooi does not report this."})
	NADNamespaceNotAllowed = reason("NADNamespaceNotAllowed", Traits{Rank: PreventsNodes, Page: "networks.md",
		Meaning: "A NodePool names a NetworkAttachmentDefinition in a namespace that its VMs cannot use. Where Multus isolates " +
			"namespaces, as on OpenShift, VMs can use the control plane namespace, default, and the global namespaces of " +
			"Multus."})
	NodesNotCreated = reason("NodesNotCreated", Traits{Rank: PreventsNodes,
		Meaning: "HyperShift refuses the HostedCluster or its NodePools, or a user paused or disabled the creation of nodes. " +
			"Edges are not affected."})
	PodNetworkUnsupported = reason("PodNetworkUnsupported", Traits{Rank: PreventsNodes,
		Meaning: "The network plugin of the hosted cluster does not start with these values, so its nodes do not become Ready. " +
			"A warning about an IPv6 router ends when a VM reports an IPv6 address."})
	NetworkShared = reason("NetworkShared", Traits{Rank: TakesPart, Page: "existing-vlan.md",
		Meaning: "Two hosted clusters, or two NetworkAttachmentDefinitions, use the same layer-2 network. Clusters can share it if " +
			"each has edge-addresses and a dhcp-range of its own. A cluster that is served already keeps its addresses. If " +
			"no cluster is served yet, the older one takes precedence."})
	CIDRMissing = reason("CIDRMissing", Traits{
		Meaning: "A network that VMs boot from has no IPv4 CIDR, or its CIDR depends on the name of a NodePool."})
	CIDRTooSmall = reason("CIDRTooSmall", Traits{
		Meaning: "The CIDR has no space for the edge addresses and a DHCP range."})
	RangeTooSmall = reason("RangeTooSmall", Traits{Rank: PreventsNodes,
		Meaning: "The NodePools can have more VMs than the DHCP range has addresses."})
	AddressConflict = reason("AddressConflict", Traits{
		Meaning: "Two parts of the configuration need the same address, port or name. A network must not overlap other networks " +
			"of the cluster, networks inside the hosted cluster, or what edges reach through the pod network. Addresses in " +
			"use do not change while VMs are on the network. To move VMs to another network while they run, name a second " +
			"NetworkAttachmentDefinition in a new NodePool."})
	AddressInUse = reason("AddressInUse", Traits{Rank: TakesPart, Page: "existing-vlan.md",
		Meaning: "Another host has an address that edges need or that DHCP assigns. Before the first edge starts, oooi checks " +
			"again every 10 s. Edges report a host for up to one hour after they last saw it. On bridge networks, on " +
			"localnet with CRI-O, and with one edge, running edges do not see every host that has a VIP. There, oooi " +
			"check --from-network finds the host."})
	AddressesExhausted = reason("AddressesExhausted", Traits{Rank: PreventsNodes, AboutEdges: true, Follows: true,
		Meaning: "A client got no address, because the DHCP range has no free one. An address becomes free one lease time after " +
			"its lease ends, and earlier if its VM is deleted. The problem ends when an address is free, or ten minutes " +
			"after the last client that got no address."})
	LeasesNotWritten = reason("LeasesNotWritten", Traits{Rank: TakesPart, AboutEdges: true,
		Meaning: "The API server refuses the Leases of an edge, so VMs that start get no address from it. They can get one " +
			"from the other edge. A quota needs room for one Lease for each address of the DHCP range, and one for the " +
			"report of each edge."})
	RogueDHCPServer = reason("RogueDHCPServer", Traits{Rank: TakesPart, AboutEdges: true,
		Meaning: "A DHCP server other than the edges is on the network. Each server is reported for one hour after an edge last " +
			"saw it."})
	RogueRouter = reason("RogueRouter", Traits{AboutEdges: true, Page: "security.md",
		Meaning: "A host on the network sends IPv6 router advertisements, and the kernel of an edge took a route from one. The " +
			"route ends with its lifetime, or with the edge's pod."})
	NodesNotJoining = reason("NodesNotJoining", Traits{Rank: TakesPart, AboutEdges: true, Follows: true, Page: "troubleshooting.md",
		Meaning: "A VM that boots for the first time has missed a step for more than ten minutes. oooi status --vm NAME shows " +
			"its steps. A VM that pulls images slowly may take longer."})
	EdgesPartitioned = reason("EdgesPartitioned", Traits{Rank: TakesPart, AboutEdges: true, Follows: true,
		Meaning: "Both edges of a network serve, but one does not hear the other on the VLAN. If switches isolate ports, allow " +
			"UDP port 7788 between the edge addresses, which are the third and fourth of edge-addresses. Neither edge is " +
			"recreated or drained for ten minutes, since each may serve other VMs."})
	EdgesServeDifferentPlans = reason("EdgesServeDifferentPlans", Traits{Rank: TakesPart, AboutEdges: true, Follows: true,
		Meaning: "The plans of the two edges have differed for more than 30 s. VMs may get different answers from them."})
	EdgeDuplicated = reason("EdgeDuplicated", Traits{Rank: TakesPart, AboutEdges: true,
		Meaning: "Two pods have the same edge number. The management cluster has lost a node that is still on the VLAN. The " +
			"older pod ends when that node returns."})
	EdgeImpaired = reason("EdgeImpaired", Traits{Rank: TakesPart, AboutEdges: true, Follows: true,
		Meaning: "An edge serves VMs worse than its peer, or no edge finds a working endpoint of a backend. If an edge hears " +
			"nothing or reaches no API server, its peer takes over the traffic within seconds. A common cause is a bond " +
			"or a switch port that carries only the VLAN, or only the cluster network."})
	SourcesUnverified = reason("SourcesUnverified", Traits{AboutEdges: true, Page: "security.md",
		Meaning: "The kernel of an edge accepts packets with forged source addresses from VMs, and may send answers into the " +
			"pod network. The larger of net.ipv4.conf.all.rp_filter and net.ipv4.conf.default.rp_filter counts, and 2 " +
			"is not strict enough. On OpenShift, set sysctls with the Node Tuning Operator."})
	IPv6NotServed = reason("IPv6NotServed", Traits{Rank: Hint,
		Meaning: "Edges provide IPv4 only. VMs may take IPv6 addresses and routes from a router on their network. Every node " +
			"needs the API server, Ignition and konnectivity, so one of these at an IPv6 address is an Error."})
	AppsUnreachable = reason("AppsUnreachable", Traits{Rank: TakesPart, Page: "ingress.md",
		Meaning: "*.apps of the hosted cluster has no address that VMs certainly reach. The ingress runs on the VMs, and no " +
			"object of the management cluster has the node ports of HyperShift's default, NodePortService."})
	ImagesUnreachable = reason("ImagesUnreachable", Traits{Rank: PreventsNodes, Page: "existing-vlan.md",
		Meaning: "Nodes pull images before they are Ready, and may be unable to reach a registry. Without a gateway, edges carry " +
			"these connections by TLS server name. In most cases a gateway helps, and so does a mirror on the network with " +
			"a record in dns-records. With cause NoRegistryReachable this is certain, so the condition is False. The " +
			"command oc adm release info --pullspecs lists the hosts of a release."})
	ControlPlaneProxied = reason("ControlPlaneProxied", Traits{Rank: PreventsNodes,
		Meaning: "Nodes use the HTTPS proxy of the hosted cluster for Ignition, konnectivity and the API server, unless " +
			"noProxy has their hosts. HyperShift adds no names to noProxy, and the proxy does not know names that exist " +
			"only on the network."})
	OAuthUnreachable = reason("OAuthUnreachable", Traits{Rank: TakesPart,
		Meaning: "The network has a gateway, and OAuth is published at an IP address. Pods of the hosted cluster, such as the " +
			"console, do not use the routes of their node."})
	HostUnreachable = reason("HostUnreachable", Traits{Rank: TakesPart,
		Meaning: "The hosted control plane dials some hosts from the nodes, through konnectivity. Without a gateway, nodes " +
			"reach only Services of the hosted cluster, and what edges forward to or publish. The console dials OAuth " +
			"through the HTTPS proxy of the hosted cluster, unless noProxy has its host."})
	NTPMissing = reason("NTPMissing", Traits{Rank: Hint,
		Meaning: "VMs reach no time server: annotation services leaves out ntp, or annotation ntp-servers names servers that " +
			"VMs do not reach."})
	ClockUnsynchronized = reason("ClockUnsynchronized", Traits{Rank: Hint, AboutEdges: true,
		Meaning: "Edges serve the time of their management cluster node, and no program synchronizes its clock. A correct clock " +
			"counts as not synchronized if its program does not inform the kernel. Examples are chronyd without rtcsync or " +
			"with local stratum only, ntpd with disable kernel, and an agent of the hypervisor. If you cannot change the " +
			"program, set annotation ntp-servers to a time server that VMs reach."})
	NotPermitted = reason("NotPermitted", Traits{Page: "install.md",
		Meaning: "The HostedCluster requests something that edges refuse, or that the administrator of the management cluster " +
			"does not permit. This request is left out, and the rest is served. With a node label that is not permitted, " +
			"nothing is applied."})
	NamesOverridden = reason("NamesOverridden", Traits{
		Meaning: "Annotation dns-records has names that VMs need for something else."})
	AccessOpened = reason("AccessOpened", Traits{Page: "management-access.md",
		Meaning: "This hint lists what annotation management-access opens on an isolated network, and for which callers."})
	AccessRefused = reason("AccessRefused", Traits{Page: "management-access.md",
		Meaning: "An entry of annotation management-access, or a load balancer of the hosted cluster, cannot be opened. All " +
			"other entries work."})
	LoadBalancersUnreachable = reason("LoadBalancersUnreachable", Traits{Page: "management-access.md",
		Meaning: "Clients outside the network cannot reach load balancers of the hosted cluster, or its ingress. HyperShift " +
			"points these Services to addresses of VMs, and no router has a route to an isolated network."})
	ServedByOthers = reason("ServedByOthers", Traits{
		Meaning: "Annotation services leaves out a server, or an additional network has no CIDR, so edges do not serve it. The " +
			"message says what your own server must do instead."})
	FailoverDegraded = reason("FailoverDegraded", Traits{Rank: TakesPart, AboutEdges: true, Follows: true,
		Meaning: "Failover is slow, or was measured by oooi check --failover. If an edge fails, VMs notice it after 40 to 50 " +
			"s, instead of 4 s or less. Set sysctl net.ipv4.conf.default.arp_announce to 0 on the nodes, too. The option " +
			"strictARP of kube-proxy sets net.ipv4.conf.all.arp_announce to 2."})
	NotApplied = reason("NotApplied", Traits{
		Meaning: "The operator cannot apply the plan, or not all of its objects. Edges that run keep serving, and the operator " +
			"tries again by itself. The admission policy oooi-operator refuses objects of oooi that a mutating webhook " +
			"changes: exclude ServiceAccount oooi from such a webhook."})
	Paused = reason("Paused", Traits{
		Meaning: "Annotation paused or spec.pausedUntil pauses the operator. The condition is about the edges that exist."})
	RemovalScheduled = reason("RemovalScheduled", Traits{Rank: TakesPart,
		Meaning: "Annotation network of the HostedCluster was removed while VMs use its networks. Everything stays as it is for " +
			"ten minutes."})
	Removing = reason("Removing", Traits{
		Meaning: "The cluster no longer opts in, or is being deleted. The operator removes edges first, then what they depend " +
			"on, and the condition last."})
	EdgeUnavailable = reason("EdgeUnavailable", Traits{Rank: TakesPart, AboutEdges: true, Follows: true, Page: "networks.md",
		Meaning: "An edge of a network does not serve, and the other one serves its VMs. Two edges on a macvlan, sriov or OVN " +
			"layer2 network need the CNI plugin and kernel module dummy on their nodes."})
	UpdatePending = reason("UpdatePending", Traits{Page: "install.md",
		Meaning: "The operator was updated, and recreates the edges of its hosted clusters in waves. While edges fail with the " +
			"new release, it continues with one cluster at a time, or stops."})
	EdgeNotReady = reason("EdgeNotReady", Traits{AboutEdges: true, Follows: true,
		Meaning: "No edge of a network is ready, so its VMs have no DHCP, DNS or proxy. A new network has this problem with " +
			"severity Waiting for some seconds."})
	AddressCheckPending = reason("AddressCheckPending", Traits{
		Meaning: "oooi checks whether the addresses of the network are free (address conflict detection, RFC 5227)."})
	WaitingForControlPlane = reason("WaitingForControlPlane", Traits{
		Meaning: "HyperShift has not published the API yet, or the control plane was deleted. Nothing is created until the API " +
			"is published."})
	WaitingForEndpoint = reason("WaitingForEndpoint", Traits{
		Meaning: "A Route, a Service, a load balancer or the ingress does not exist yet, or no edge can use an endpoint that " +
			"nodes need. An endpoint that was served keeps its last known address."})
	EndpointStale = reason("EndpointStale", Traits{
		Meaning: "The source of an endpoint is missing, or the endpoint has moved. Edges still serve its former addresses, " +
			"because VMs may have stored such an address."})
	WaitingForNetwork = reason("WaitingForNetwork", Traits{
		Meaning: "A network that VMs do not boot from has no CIDR, or the cluster has no NodePool. oooi plan also reports " +
			"NetworkAttachmentDefinitions that are not in its input."})
	InstallationIncomplete = reason("InstallationIncomplete", Traits{Page: "install.md",
		Meaning: "oooi check finds that the management cluster lacks a kind of object, a working operator, or the " +
			"admission policies."})
	EdgesCannotStart = reason("EdgesCannotStart", Traits{Page: "troubleshooting.md",
		Meaning: "oooi check finds that the API server refuses the pods of edges, no node has room for one, or a node cannot " +
			"pull their image. An Error is a Warning while an edge of the network is ready: it keeps running, but cannot " +
			"be recreated."})
	DrainInterrupts = reason("DrainInterrupts", Traits{Page: "restore.md",
		Meaning: "oooi check --drain predicts what a drain takes from VMs, or why the drain would wait."})
	NetworkTestFailed = reason("NetworkTestFailed", Traits{Page: "troubleshooting.md",
		Meaning: "A pod of oooi check --from-network, which acts as a VM, got no answer or a wrong one. An Error is a Warning " +
			"if nodes boot without that answer."})
	CheckIncomplete = reason("CheckIncomplete", Traits{Page: "troubleshooting.md",
		Meaning: "oooi check could not test something. The message says what and why. If a right is missing, ask an " +
			"administrator to run the check once."})
)
