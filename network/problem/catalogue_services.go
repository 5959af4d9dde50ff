// This file declares the problems of one topic: parts that other servers provide, and connections that cannot be carried.

package problem

// checkTimeSources is the fix for a clock that is not synchronized.
const checkTimeSources = "Check the time sources of that node: chronyc sources."

// otherDHCP says what a DHCP server on a network that VMs do not boot from must not do.
const otherDHCP = "A DHCP server there must send no default route and no DNS server, or VMs may use these instead of their own."

var (
	SecondaryWithoutDHCP = declare("SecondaryWithoutDHCP", Entry{Reason: ServedByOthers, Severity: SeverityInfo,
		What:   "Network {network} is not served.",
		Effect: "VMs do not boot from it, so it needs only DHCP, which annotation services leaves out. " + otherDHCP,
		Fix:    "To serve it, add dhcp to annotation services."})
	SecondaryWithoutCIDR = declare("SecondaryWithoutCIDR", Entry{Reason: ServedByOthers, Severity: SeverityInfo,
		What:   "Network {network} is not served, because it has no CIDR.",
		Effect: "VMs do not boot from it, and get addresses there from other servers, or have static ones. " + otherDHCP,
		Fix:    "To serve it, set {where}: spec.networking.machineNetwork applies only to a network that VMs boot from. To remove this hint, set annotation services to none on its NetworkAttachmentDefinition."})
	SecondaryCIDRRemoved = declare("SecondaryCIDRRemoved", Entry{Reason: ServedByOthers, Severity: SeverityWarning, Mistake: true,
		What:   "The CIDR of network {network} is no longer set.",
		Effect: "Its edges stay as they are, with CIDR {cidr}.",
		Fix:    "To keep them, set {cidr} again ({where}). To remove them, set annotation services to none on its NetworkAttachmentDefinition."})
	SecondaryInUse = declare("SecondaryInUse", Entry{Reason: ServedByOthers, Severity: SeverityInfo,
		What:   "Annotation services leaves out DHCP, the only server of network {network}, while VMs are on it.",
		Effect: "Its edges serve DHCP until no VM uses the network."})
	ServicesEmpty = declare("ServicesEmpty", Entry{Reason: AnnotationInvalid, Severity: SeverityError,
		What: "VMs boot from network {network}, but annotation services leaves out all servers.",
		Fix:  "Name at least one of dhcp, dns, ntp and proxy, or remove the annotation."})
	DHCPByOthers = declare("DHCPByOthers", Entry{Reason: ServedByOthers, Severity: SeverityInfo,
		What: "Annotation services leaves DHCP on network {network} to your own server.",
		Fix:  "Your server must exclude {addresses} and send these options: {options}."})
	DNSByOthers = declare("DNSByOthers", Entry{Reason: ServedByOthers, Severity: SeverityInfo,
		What: "Annotation services leaves DNS on network {network} to your own server.",
		Fix:  "Your server must resolve {names} to {address}."})
	DNSAndProxyByOthers = declare("DNSAndProxyByOthers", Entry{Reason: ServedByOthers, Severity: SeverityInfo,
		What: "Annotation services leaves DNS and proxy on network {network} to your own servers.",
		Fix:  "Your DNS server must resolve {names} to your own proxy."})
	ProxyByOthers = declare("ProxyByOthers", Entry{Reason: ServedByOthers, Severity: SeverityInfo,
		What:   "Annotation services leaves the proxy on network {network} to your own servers.",
		Effect: "Edges carry no connections to {endpoints}.",
		Fix:    "Your servers must carry them. The edges resolve only the names in annotation dns-records."})
	ListenerInUse = declare("ListenerInUse", Entry{Reason: AddressConflict, Severity: SeverityError, Mistake: true, Subject: "endpoint",
		What: "{subject} is not served at {at}, because {by} already uses that address and port.",
		Fix:  "Publish one of the two at another port or name."})
	ListenerWithoutServerNames = declare("ListenerWithoutServerNames", Entry{Reason: AddressConflict, Severity: SeverityWarning, Subject: "endpoint",
		What:   "{subject} is not served at {at}.",
		Effect: "Every connection to that port goes to {by}, because its clients do not send a server name.",
		Fix:    "Publish it at another port."})
	PortReservedForDNS = declare("PortReservedForDNS", Entry{Reason: AddressConflict, Severity: SeverityError, Mistake: true, Subject: "endpoint",
		What: "{subject} is not served at {at}, because that port is reserved for DNS.",
		Fix:  "Publish it at another port."})
	BackendNameInUse = declare("BackendNameInUse", Entry{Reason: AddressConflict, Severity: SeverityError, Mistake: true, Subject: "endpoint",
		What: "{subject} is not served at {at}, because another endpoint is already named {by}.",
		Fix:  "Give the Service another name."})
	ServerNameMissing = declare("ServerNameMissing", Entry{Reason: PublishingUnsupported, Severity: SeverityError, Mistake: true, Subject: "endpoint",
		What:   "{subject} is not served at {at}.",
		Effect: "Connections to that port are distinguished by their TLS server name, and {subject} has none.",
		Fix:    "Publish it with a host name."})
	RegistryNotServed = declare("RegistryNotServed", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Edges cannot carry connections to {registry}.",
		Effect: "Nodes cannot pull images from it.",
		Fix:    "Fix the conflict that is reported for {registry}."})
	LastGoodEndpoint = declare("LastGoodEndpoint", Entry{Reason: EndpointStale, Severity: SeverityWarning, Subject: "endpoint",
		What:   "The address of {subject} is currently unknown ({object}).",
		Effect: "Its last known address is still served.",
		Fix:    "If this persists, check {object}."})
	EndpointMoved = declare("EndpointMoved", Entry{Reason: EndpointStale, Severity: SeverityInfo, Subject: "endpoint",
		What:   "{subject} moved from {former} to {at}.",
		Effect: "VMs that booted before may have stored the former address. Edges serve both until no VM of the cluster runs."})
	FormerPlaceTaken = declare("FormerPlaceTaken", Entry{Reason: EndpointStale, Severity: SeverityWarning, Subject: "endpoint",
		What:   "{subject} was published at {at} before, but something else uses that address now.",
		Effect: "Edges no longer serve it there. VMs that stored the address cannot reach the endpoint. If it is the API server, their nodes stay NotReady.",
		Fix:    "Free the address, or replace the VMs that booted before."})
	TooManyFormerPlaces = declare("TooManyFormerPlaces", Entry{Reason: EndpointStale, Severity: SeverityWarning, Subject: "endpoint",
		What:   "{subject} was published at {at} before, and edges serve at most {most} former addresses.",
		Effect: "Edges no longer serve it there. VMs that stored the address cannot reach the endpoint. If it is the API server, their nodes stay NotReady.",
		Fix:    "Find out what moves the endpoint so often, and replace the VMs that booted before."})
	LastGoodIngress = declare("LastGoodIngress", Entry{Reason: EndpointStale, Severity: SeverityWarning,
		What:   "Service openshift-ingress/router-default of the hosted cluster no longer has a copy in the control plane namespace.",
		Effect: "Edges still forward {name} to the VMs, as the last copy defined.",
		Fix:    "If the ingress has another type now, create Service {service}, which oooi plan prints. Or set annotation apps-address to an address that serves {name} on port 443."})
	FailoverAnnouncementIgnored = declare("FailoverAnnouncementIgnored", Entry{Reason: FailoverDegraded, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} cannot announce next-hop VIP {nextHop} and service VIP {serviceVIP}, because its kernel sends ARP requests from {source} (arp_announce is {arpAnnounce}).",
		Effect: "When the other edge fails, VMs may notice it only after 40 to 50 s.",
		Fix:    "Set sysctl net.ipv4.conf.all.arp_announce=0 on the management nodes, then restart the edge's pod."})
	FailoverServiceVIPIgnored = declare("FailoverServiceVIPIgnored", Entry{Reason: FailoverDegraded, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} cannot announce service VIP {serviceVIP}, because its kernel sends ARP requests from {source} (arp_announce is {arpAnnounce}).",
		Effect: "VMs with the route through next-hop VIP {nextHop} are not affected. When the other edge fails, other hosts may notice it only after 40 to 50 s.",
		Fix:    "Set sysctl net.ipv4.conf.all.arp_announce=0 on the management nodes, then restart the edge's pod."})
	FailoverTargetsAnswered = declare("FailoverTargetsAnswered", Entry{Reason: FailoverDegraded, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} cannot announce next-hop VIP {nextHop} to VMs, because a router answers for every address (proxy ARP).",
		Effect: "When the other edge fails, VMs may notice it only after 40 to 50 s.",
		Fix:    "Disable proxy ARP on the router's interface on this network."})
	FailoverCheckFailed = declare("FailoverCheckFailed", Entry{Reason: FailoverDegraded, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} cannot check whether it can announce next-hop VIP {nextHop} to VMs ({error}).",
		Effect: "When the other edge fails, VMs may notice it only after 40 to 50 s.",
		Fix:    "Fix the cause that the error names, then restart the edge's pod."})
	PeerNotHeard = declare("PeerNotHeard", Entry{Reason: EdgesPartitioned, Severity: SeverityWarning,
		What:   "Both edges of network {network} serve, but edge {edge} cannot reach its peer on the VLAN (UDP port 7788).",
		Effect: "VMs may notice only after 40 to 50 s that an edge has failed, and VMs that reach only that edge lose service.",
		Fix:    "Check the VLAN on the switch ports of both nodes. Annotation edge-node-selector keeps edges on nodes with the VLAN."})
	EdgesHeld = declare("EdgesHeld", Entry{Reason: EdgesPartitioned, Severity: SeverityWarning,
		What:   "The edges of network {network} are not replaced, and cannot be drained, because edge {edge} cannot reach its peer.",
		Effect: "This ends when both edges reach each other, or after {minutes} minutes.",
		Fix:    "To drain a node immediately, delete its edge pod: open connections through it are reset, and its VMs may lose service."})
	PlansDiffer = declare("PlansDiffer", Entry{Reason: EdgesServeDifferentPlans, Severity: SeverityWarning,
		What:   "The edges of network {network} serve different plans, as edge {edge} reports.",
		Effect: "The edge with the older plan serves previous names, addresses and endpoints.",
		Fix:    "Check that both edge pods reach the API server of the management cluster. Otherwise delete the pod that logs errors."})
	EdgeHasTwoPods = declare("EdgeHasTwoPods", Entry{Reason: EdgeDuplicated, Severity: SeverityWarning,
		What:   "Two pods run as edge {edge} of network {network}.",
		Effect: "Only the younger pod serves VMs.",
		Fix:    "If the node of the older pod is lost, delete the Node or taint it node.kubernetes.io/out-of-service:NoExecute."})
	EdgeHearsNothing = declare("EdgeHearsNothing", Entry{Reason: EdgeImpaired, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} receives nothing from the VLAN.",
		Effect: "Its peer serves the VMs. If the peer also fails, they have no service.",
		Fix:    "Check the VLAN on the switch port of its node."})
	EdgeReachesLess = declare("EdgeReachesLess", Entry{Reason: EdgeImpaired, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} cannot connect VMs to the API server of the hosted cluster, but its peer can.",
		Effect: "Its peer serves the VMs. If the peer also fails, they cannot reach the API server.",
		Fix:    "Check the cluster network of its node, and container envoy of its pod."})
	EdgeLacksClientRoutes = declare("EdgeLacksClientRoutes", Entry{Reason: EdgeImpaired, Severity: SeverityWarning,
		What:   "The kernel of edge {edge} of network {network} lacks a route to a network of annotation client-networks.",
		Effect: "The edge neither answers hosts there nor asks DNS servers there. VMs are served.",
		Fix:    "If the annotation has just changed, wait until the edge is recreated. Otherwise delete the edge's pod. If that does not help, the CNI plugin ignores ipam.routes: use a NetworkAttachmentDefinition of type bridge for the network."})
	EdgeRefusesConfiguration = declare("EdgeRefusesConfiguration", Entry{Reason: EdgeImpaired, Severity: SeverityWarning,
		What:   "Envoy in edge {edge} of network {network} refuses {type} {name} of its configuration ({error}).",
		Effect: "Envoy keeps the previous version, so the change does not take effect for VMs. The edge tries again every 10 s.",
		Fix:    "Correct what the error names. If nothing outside the edge is the cause, report the error as a bug of oooi."})
	EdgeOpensNoPort = declare("EdgeOpensNoPort", Entry{Reason: EdgeImpaired, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} cannot open ports {ports} for callers.",
		Effect: "It refuses connections to these ports of Service oooi-access and of load balancers. Its other ports and VMs are not affected. The edge keeps trying.",
		Fix:    "The log of its container access has the cause. If a port is in use, choose another one in annotation management-access, or set another nodePort for the Service."})
	EdgeReachesNoEndpoint = declare("EdgeReachesNoEndpoint", Entry{Reason: EdgeImpaired, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} finds no endpoint of {backends} that answers and is ready.",
		Effect: "The edge still connects VMs to these backends, but the connections probably fail. It serves everything else.",
		Fix:    "Check the pods of the backend, or the external host. If only one edge has this problem, check the cluster network of its node."})
	NoEdgeReachesEndpoint = declare("NoEdgeReachesEndpoint", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "No edge finds an endpoint of Service {service} of the control plane that answers and is ready.",
		Effect: "Edges serve everything else.",
		Fix:    "Check the pods of the Service. If they are ready, check the NetworkPolicies of their namespace, and the cluster network."})
	EdgeAnswersForgedSources = declare("EdgeAnswersForgedSources", Entry{Reason: SourcesUnverified, Severity: SeverityWarning,
		What:   "The kernel of edge {edge} of network {network} does not verify source addresses (sysctl rp_filter).",
		Effect: "A VM that forges addresses can make the edge send ICMP replies and TCP resets into the pod network.",
		Fix:    "On the management nodes, set the sysctl net.ipv4.conf.default.rp_filter to 1, and net.ipv4.conf.all.rp_filter to 0 or 1. Then restart the edge's pod."})
	EdgeAnswersForgedIPv6Sources = declare("EdgeAnswersForgedIPv6Sources", Entry{Reason: SourcesUnverified, Severity: SeverityWarning,
		What:   "Edge {edge} accepts IPv6 packets from network {network}, and the pod network has IPv6. The kernel does not verify IPv6 source addresses.",
		Effect: "A VM that forges addresses can make the edge send ICMPv6 replies and TCP resets into the pod network.",
		Fix:    "On the management nodes, filter IPv6 on the bridge or the virtual functions of the VLAN."})
	EdgeTakesForgedRedirects = declare("EdgeTakesForgedRedirects", Entry{Reason: SourcesUnverified, Severity: SeverityWarning,
		What:   "The kernel of edge {edge} of network {network} accepts ICMP redirects with forged source addresses.",
		Effect: "A VM can make the edge send packets for the API server through another host of the pod network, for five minutes each time.",
		Fix:    "On the management nodes, set the sysctl net.ipv4.conf.default.rp_filter to 1, and net.ipv4.conf.all.rp_filter to 0 or 1. Then restart the edge's pod."})
	EdgeHasAdvertisedRoute = declare("EdgeHasAdvertisedRoute", Entry{Reason: RogueRouter, Severity: SeverityWarning,
		What:   "A host on network {network} acts as an IPv6 router, and the kernel of edge {edge} has a route to it.",
		Effect: "Edges do not use the route, since they send IPv4 only. VMs may send their IPv6 traffic to that host.",
		Fix:    "If the network has an IPv6 router of yours, no action is needed. Otherwise find the host that sends router advertisements on the VLAN, and filter them there. Then restart the edge's pod."})
	ClockNotSet = declare("ClockNotSet", Entry{Reason: ClockUnsynchronized, Severity: SeverityWarning,
		What: "No program on the node synchronizes its clock, or it is not synchronized yet.", Fix: checkTimeSources})
	ClockInaccurate = declare("ClockInaccurate", Entry{Reason: ClockUnsynchronized, Severity: SeverityWarning,
		What: "Clients refuse the clock: it may be wrong by more than 1s, since no program has corrected it for half an hour.", Fix: checkTimeSources})
	ClockUnread = declare("ClockUnread", Entry{Reason: ClockUnsynchronized, Severity: SeverityWarning,
		What: "The state of the clock cannot be read: {error}.",
		Fix:  "If the operation is not permitted, let the seccomp profile RuntimeDefault of the node permit adjtimex, as containerd and CRI-O do."})
	EdgeClockUnsynchronized = declare("EdgeClockUnsynchronized", Entry{Reason: ClockUnsynchronized, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} serves no time, because the clock of its management cluster node is not synchronized ({why}).",
		Effect: "VMs that use edge {edge} do not set their clocks.",
		Fix:    "Check the time sources of that node: chronyc sources. To find the node: {command}"})
	OneClockUnsynchronized = declare("OneClockUnsynchronized", Entry{Reason: ClockUnsynchronized, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} serves no time, because the clock of its management cluster node is not synchronized ({why}).",
		Effect: "VMs that use edge {edge} do not set their clocks. Edge {other} serves the time, but an unsynchronized clock causes no failover.",
		Fix:    "Check the time sources of that node: chronyc sources. To find the node: {command}. To move the VMs to edge {other}: {move}"})
	NetworkClocksUnsynchronized = declare("NetworkClocksUnsynchronized", Entry{Reason: ClockUnsynchronized, Severity: SeverityWarning,
		What:   "No edge of network {network} serves the time, because the clocks of their management cluster nodes are not synchronized ({why}).",
		Effect: "VMs on the network do not set their clocks. If clocks drift, TLS fails.",
		Fix:    "Check the time sources of these nodes: chronyc sources. Or set annotation {key} to a time server on the network. To find the nodes: {command}"})
)
