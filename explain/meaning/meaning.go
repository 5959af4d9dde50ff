// Package meaning has what each reason of a problem means, in sentences that hold for all clusters. oooi explain and
// docs/problems.md show them. No message of a cause repeats them.
package meaning

import "github.com/cldmnky/oooi/network/problem"

// A Meaning is what all problems of one reason have in common, in words.
type Meaning struct {
	// Text is whole sentences.
	Text string
	// Page is the page of docs/ that says more, such as "networks.md". Empty: none.
	Page string
}

// meanings has all reasons of the catalogue. It does not change.
var meanings = map[problem.Reason]Meaning{
	problem.AnnotationInvalid: {Page: "annotations.md",
		Text: "oooi cannot use the value of an annotation, or two NodePools of one network set different values. If annotation " +
			"publish of a Service is invalid, the Service stays published as before."},
	problem.AnnotationUnknown: {Page: "annotations.md",
		Text: "An annotation of oooi has no effect. It is misspelled, has a wrong prefix, is set on the wrong object, or " +
			"another value overrides it."},
	problem.FilesDiffer: {
		Text: "Two files contain the same object with different content, so oooi uses only one version. Only oooi " +
			"lint and oooi plan report this."},
	problem.PlatformUnsupported: {
		Text: "The hosted cluster is not on KubeVirt, so it has no VMs on a network of the management cluster."},
	problem.ExternalInfrastructure: {
		Text: "The VMs run on another cluster or in another namespace, where edges cannot serve them."},
	problem.PublishingUnsupported: {Page: "publish.md",
		Text: "An endpoint is published in a way that VMs cannot use. HyperShift accepts some publishing strategies in " +
			"spec.services that it does not implement on KubeVirt."},
	problem.NetworkMissing: {Page: "networks.md",
		Text: "A NodePool names no network, or names a network or a HostedCluster that does not exist. Or its VMs boot from a " +
			"network that annotation network does not select."},
	problem.NetworkUnsupported: {Page: "networks.md",
		Text: "Edges cannot serve a network, or can serve it only in part, because of its NetworkAttachmentDefinition or the " +
			"NodePools."},
	problem.FramesDropped: {
		Text: "The network may not deliver frames to VMs. Nodes need the bridge or bridge mapping that a NetworkAttachmentDefinition names. " +
			"HyperShift connects VMs through a bridge, so a VM's MAC differs from the pod's. Macvlan does " +
			"not deliver its frames, and a virtual function of type sriov may drop them. If annotation kubevirt-vm-jsonpatch " +
			"changes how VMs are connected, oooi does not report this."},
	problem.NADNamespaceNotAllowed: {Page: "networks.md",
		Text: "A NodePool names a NetworkAttachmentDefinition in a namespace that its VMs cannot use. If Multus isolates " +
			"namespaces, as on OpenShift, VMs can use only the control plane namespace, namespace default, and the global " +
			"namespaces of Multus."},
	problem.NodesNotCreated: {
		Text: "HyperShift refuses the HostedCluster or its NodePools, or a user paused or disabled the creation of nodes. " +
			"Edges are not affected."},
	problem.PodNetworkUnsupported: {
		Text: "The network settings of the hosted cluster prevent its network plugin from starting, so its nodes do not become " +
			"Ready. The warning about a missing IPv6 router ends when a VM reports an IPv6 address."},
	problem.NetworkShared: {Page: "existing-vlan.md",
		Text: "Two hosted clusters, or two NetworkAttachmentDefinitions, use the same layer-2 network. Clusters can share a " +
			"network if each has its own edge-addresses and dhcp-range. If two clusters need the same addresses, the cluster " +
			"that is already served keeps them. If neither is served yet, the older cluster takes precedence."},
	problem.CIDRMissing: {
		Text: "A network that VMs boot from has no IPv4 CIDR. Or oooi does not know which NodePool is older, so the " +
			"names of NodePools decide which network gets the CIDR."},
	problem.CIDRTooSmall: {
		Text: "The CIDR is too small for two VIPs, two edge addresses and a DHCP range."},
	problem.RangeTooSmall: {
		Text: "The NodePools can have more VMs than the DHCP range has addresses."},
	problem.AddressConflict: {
		Text: "Two parts of the configuration need the same address, port or name. A CIDR must not overlap that of another " +
			"network, or an internal network of the hosted cluster, such as its pod network. A CIDR must not contain " +
			"addresses that edges reach through the pod network. While VMs use a network, its addresses do not change. To " +
			"move to another network while VMs run, create a NodePool that names a second NetworkAttachmentDefinition."},
	problem.AddressInUse: {Page: "existing-vlan.md",
		Text: "Another host uses an address that edges need or that DHCP assigns. Before the first edge starts, oooi repeats " +
			"its check every 10 s. Running edges report such a host for up to one hour after they last saw it. On bridge " +
			"networks, localnet networks with CRI-O, and networks with one edge, running edges do not see every host that " +
			"uses their VIPs. There, oooi check --from-network finds such hosts. Remove the host, or set other addresses."},
	problem.AddressesExhausted: {
		Text: "A DHCP client got no address, because no address of the DHCP range is free. An address stays assigned for " +
			"up to one lease time after its lease ends. If its VM is deleted, the address becomes free earlier. The problem " +
			"ends when an address is free, or ten minutes after the last request that got no address."},
	problem.LeasesNotWritten: {
		Text: "Edges store DHCP leases as Lease objects. The API server refuses the Leases of one edge, so this edge gives no " +
			"address to VMs that start. These VMs can get an address from the other edge. A quota for Leases must allow one " +
			"for each address of the DHCP range, and one for the report of each edge."},
	problem.RogueDHCPServer: {
		Text: "A DHCP server other than the edges is on the network. oooi reports each such server for one hour after an edge " +
			"last saw it."},
	problem.RogueRouter: {Page: "security.md",
		Text: "A host on the network sends IPv6 router advertisements, and the kernel of an edge added a route from one of " +
			"them. The kernel removes the route when its lifetime ends, or when the edge's pod ends."},
	problem.NodesNotJoining: {Page: "troubleshooting.md",
		Text: "KubeVirt does not start a VM, or a new VM has not reached its next step for more than ten minutes. oooi status " +
			"--vm NAME shows its steps. If a VM pulls images slowly, a step may take longer."},
	problem.EdgesPartitioned: {
		Text: "Both edges of a network serve VMs, but one edge does not hear the other on the VLAN. If switches isolate ports, " +
			"allow UDP port 7788 between the edge addresses. These are the third and fourth address in annotation " +
			"edge-addresses. For ten minutes, oooi recreates neither edge and prevents drains, because each edge may serve " +
			"VMs that the other edge does not reach."},
	problem.EdgesServeDifferentPlans: {
		Text: "For more than 30 s, the two edges of a network have served different plans. VMs may get different answers from " +
			"the two edges."},
	problem.EdgeDuplicated: {
		Text: "Two pods run as the same edge of a network. The management cluster has lost contact with a node, but the edge " +
			"pod on that node still runs on the VLAN. This older pod ends when the node returns."},
	problem.EdgeImpaired: {
		Text: "An edge runs, but cannot do everything that its peer does, or finds no working endpoint of a backend. If an " +
			"edge receives nothing from the VLAN or cannot reach the hosted API server, its peer takes over within seconds. " +
			"A common cause is a bond or a switch port that carries only the VLAN, or only the cluster network."},
	problem.SourcesUnverified: {Page: "security.md",
		Text: "The kernel of an edge accepts packets with forged source addresses from VMs, and may send answers into the pod " +
			"network. The kernel uses the larger value of net.ipv4.conf.all.rp_filter and net.ipv4.conf.default.rp_filter. " +
			"It must be 1, because 2 is not strict enough. On OpenShift, set sysctls with the Node Tuning Operator."},
	problem.IPv6NotServed: {
		Text: "Edges provide IPv4 only. VMs may take IPv6 addresses and routes from a router on their network. Every node " +
			"needs the API server, Ignition and konnectivity. If one of these is published at an IPv6 address, the problem " +
			"is an Error."},
	problem.AppsUnreachable: {Page: "ingress.md",
		Text: "oooi does not know an address at which VMs can reach *.apps of the hosted cluster. The ingress runs on the VMs. " +
			"By default, HyperShift publishes the ingress with type NodePortService, and no object of the management cluster " +
			"shows its node ports."},
	problem.ImagesUnreachable: {Page: "existing-vlan.md",
		Text: "Nodes may be unable to reach a registry that they need before they become Ready. Without a gateway, edges " +
			"forward these connections by TLS server name. In most cases, a gateway helps, or a mirror on the network with a " +
			"record in dns-records. With cause NoRegistryReachable, it is certain that nodes reach no registry, so the " +
			"condition is False. The command oc adm release info --pullspecs lists the images of a release with their hosts."},
	problem.ControlPlaneProxied: {
		Text: "The hosted cluster has an HTTPS proxy. Nodes use it for Ignition, konnectivity and the API server, unless " +
			"noProxy lists the hosts of these endpoints. HyperShift does not add these hosts to noProxy. The proxy cannot " +
			"resolve names that only edges resolve."},
	problem.OAuthUnreachable: {
		Text: "Pods of the hosted cluster, such as the console, cannot reach OAuth. The network has a gateway, and OAuth is " +
			"published at an IP address. These pods do not use the route to OAuth that their node has."},
	problem.HostUnreachable: {
		Text: "The hosted control plane, the console or an operator cannot reach a host. The hosted control plane connects to some " +
			"hosts from the nodes, through konnectivity. Without a gateway, nodes reach only Services of the hosted cluster, " +
			"published endpoints, and hosts to which edges forward. The console connects to OAuth, and operators connect to the ingress, " +
			"through the HTTPS proxy of the hosted cluster, unless noProxy lists these hosts."},
	problem.NTPMissing: {
		Text: "VMs cannot reach a time server: ntp is missing in annotation services, or annotation ntp-servers names servers " +
			"that VMs cannot reach."},
	problem.ClockUnsynchronized: {
		Text: "Edges serve the time of the management cluster node on which they run, and no program synchronizes the clock of " +
			"that node. Edges ask the kernel whether the clock is synchronized. If the program that sets the clock does not " +
			"inform the kernel, oooi reports even a correct clock. Examples are chronyd without rtcsync, chronyd with a " +
			"local stratum only, ntpd with disable kernel, and an agent of the hypervisor. If you cannot change the program, " +
			"set annotation ntp-servers to a time server that VMs reach."},
	problem.NotPermitted: {Page: "install.md",
		Text: "The HostedCluster requests something that edges refuse, or that the administrator of the management cluster " +
			"does not permit. oooi ignores this request, and serves the rest. If annotation edge-node-selector has a node " +
			"label that is not permitted, oooi applies nothing."},
	problem.NamesOverridden: {
		Text: "A record or a wildcard overrides names that VMs need for other hosts."},
	problem.AccessOpened: {Page: "management-access.md",
		Text: "Annotation management-access lets callers outside a network connect to hosts on it. This hint lists the callers " +
			"and the destinations."},
	problem.AccessRefused: {Page: "management-access.md",
		Text: "oooi cannot open an entry of annotation management-access, or a load balancer of the hosted cluster, to " +
			"callers. All other entries work."},
	problem.LoadBalancersUnreachable: {Page: "management-access.md",
		Text: "Clients outside the network cannot reach load balancers of the hosted cluster, or its ingress. These Services " +
			"forward to addresses of VMs, and no router has a route to an isolated network."},
	problem.ServedByOthers: {
		Text: "Edges do not run a server that annotation services leaves out, and do not serve an additional network without a " +
			"CIDR. The message says what your own servers must do instead."},
	problem.FailoverDegraded: {
		Text: "Failover is slow: if an edge fails, VMs may use the other edge only after 40 to 50 s, instead of 4 s or less. A " +
			"common cause is the sysctl arp_announce of management cluster nodes. Set both net.ipv4.conf.all.arp_announce " +
			"and net.ipv4.conf.default.arp_announce to 0. The option strictARP of kube-proxy sets the first one to 2. oooi " +
			"check --failover also reports its measurement with this reason."},
	problem.NotApplied: {
		Text: "The operator cannot apply the plan of the hosted cluster, or cannot apply all its objects. Running edges keep " +
			"serving, and the operator retries. If a mutating webhook changes objects of oooi, the admission " +
			"policy oooi-operator refuses them: exclude ServiceAccount oooi from such a webhook."},
	problem.Paused: {
		Text: "Annotation paused or spec.pausedUntil pauses oooi for this hosted cluster. oooi applies no changes, and the " +
			"condition describes the existing edges."},
	problem.RemovalScheduled: {
		Text: "Annotation network of the HostedCluster was removed while VMs use its networks. For ten minutes, oooi changes " +
			"nothing. Then it removes the edges."},
	problem.Removing: {
		Text: "The HostedCluster no longer opts in (annotation network), or is being deleted. The operator removes the edges " +
			"first, then the objects that edges depend on, and the condition last."},
	problem.EdgeUnavailable: {Page: "networks.md",
		Text: "One edge of a network does not serve, and the other edge serves all VMs. On a macvlan, sriov or OVN layer2 " +
			"network, two edges need the CNI plugin dummy and the kernel module dummy on their nodes."},
	problem.UpdatePending: {Page: "install.md",
		Text: "The operator was updated, and recreates the edges of all hosted clusters in waves. While edges fail with the " +
			"new release, the operator continues with one cluster at a time, or stops the update."},
	problem.EdgeNotReady: {
		Text: "No edge of a network is ready, so its VMs have no DHCP, DNS or proxy. For some seconds, a new network has this " +
			"problem with severity Waiting."},
	problem.AddressCheckPending: {
		Text: "oooi is checking whether another host uses the addresses of the edges (address conflict detection, RFC 5227)."},
	problem.WaitingForControlPlane: {
		Text: "HyperShift has not published the hosted API server yet, or the control plane was deleted. oooi creates nothing " +
			"until the API server is published."},
	problem.WaitingForEndpoint: {
		Text: "An object that defines an endpoint does not exist yet: a Route, a Service, a load balancer or the ingress. Or " +
			"no edge reaches an endpoint that nodes need. If edges served an endpoint before, they still serve it at its " +
			"last known address."},
	problem.EndpointStale: {
		Text: "The object that defines an endpoint is missing, or the address of the endpoint has changed. Edges still serve " +
			"the former addresses, because VMs may have stored one of them."},
	problem.WaitingForNetwork: {
		Text: "A network that VMs do not boot from has no CIDR, or the cluster has no NodePool. oooi plan also uses this " +
			"reason for NetworkAttachmentDefinitions that are not in its input."},
	problem.InstallationIncomplete: {Page: "install.md",
		Text: "oooi check finds that the management cluster lacks an API kind, a working operator, or the admission policies " +
			"of oooi."},
	problem.EdgesCannotStart: {Page: "troubleshooting.md",
		Text: "oooi check or oooi plan finds that the API server refuses edge pods, no node can run one, or a node cannot pull " +
			"their image. While an edge is ready, an Error becomes a Warning: that edge runs, but cannot be recreated."},
	problem.DrainInterrupts: {Page: "restore.md",
		Text: "oooi check --drain predicts how a drain of nodes affects edges and VMs, or why the drain would wait."},
	problem.NetworkTestFailed: {Page: "troubleshooting.md",
		Text: "oooi check --from-network started a pod that acts as a VM. The pod got no answer, or a wrong one. If nodes can " +
			"boot without that answer, an Error becomes a Warning."},
	problem.CheckIncomplete: {Page: "troubleshooting.md",
		Text: "oooi check could not run a test. The message says what was not tested, and why. If you lack a right, ask an " +
			"administrator to run the check once."},
}

// Of returns the meaning of r, which is zero for a reason of the condition True.
func Of(r problem.Reason) Meaning { return meanings[r] }
