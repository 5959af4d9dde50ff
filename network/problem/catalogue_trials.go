// This file declares the problems of one topic: what a pod that acts as a VM finds on a network, or cannot find out.

package problem

const (
	otherDHCPServer = "That server does not belong to oooi: find its host, and stop it."
	otherHost       = "Find another host with the address, and look at the logs of container dns of the edges."
)

// What servers answer.
var (
	DHCPOffered           = declare("DHCPOffered", Entry{Reason: NetworkTestFailed, Severity: SeverityInfo, What: "{server} offers {address}."})
	DHCPServerBesidesOurs = declare("DHCPServerBesidesOurs", Entry{Reason: RogueDHCPServer, Severity: SeverityError,
		What: "Another DHCP server, {server}, offers {address}.", Effect: "A VM takes the first offer, so it may get an address and a router of that server.",
		Fix: "Find its host by the address, and stop it."})
	DHCPSilent = declare("DHCPSilent", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "No DHCP server answers within {within}. Edges are silent, too, if the pool has no free address.",
		Fix:  "Look at the edges and the leases in oooi status. If all addresses are leased, enlarge annotation dhcp-range."})
	DHCPForVMsOnly = declare("DHCPForVMsOnly", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "Only VMs of the cluster get an address (annotation unknown-clients: ignore), and this pod is not a VM. No other server answers."})
	DHCPOfOthersSilent = declare("DHCPOfOthersSilent", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "Edges run no DHCP server here, and no other server answers within {within}. It may serve only its VMs."})
	DHCPOfferDiffers = declare("DHCPOfferDiffers", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "The server offers {got}, but VMs need {planned}.", Fix: otherDHCPServer})
	NameUnanswered = declare("NameUnanswered", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "{server} does not answer over {transport}.", Fix: otherHost})
	NameDiffers = declare("NameDiffers", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "{server} answers {got} over {transport}, but the plan has {planned}.", Fix: otherHost})
	TimeUnsynchronized = declare("TimeUnsynchronized", Entry{Reason: ClockUnsynchronized, Severity: SeverityWarning,
		What: "The server answers that its own clock is not synchronized.", Fix: "Repair the NTP client of the nodes that edges run on."})
	TimeDiffers = declare("TimeDiffers", Entry{Reason: ClockUnsynchronized, Severity: SeverityInfo,
		What: "The time differs by {difference} from the clock of this pod's node."})
)

// How connections end.
var (
	ConnectionRefused = declare("ConnectionRefused", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "The connection is refused: no edge listens.", Fix: "Look at the logs of the edges' containers."})
	AddressUnanswered = declare("AddressUnanswered", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "No edge has the address: ARP is not answered.", Fix: "Look at the edges in oooi status."})
	ConnectionClosed = declare("ConnectionClosed", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "The edge closes the connection: its backend does not answer or refuses the connection.",
		Fix:  "Look at the backend's line in oooi status, then at its pods, or at the firewall in front of an external host."})
	ConnectionSilent = declare("ConnectionSilent", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "No answer within {within}.", Fix: "Look at the backend's line in oooi status, then at its pods."})
	ConnectionFailed = declare("ConnectionFailed", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "The connection fails ({error}).", Fix: "Look at the edges in oooi status."})
	EndpointWithoutTLS = declare("EndpointWithoutTLS", Entry{Reason: NetworkTestFailed, Severity: SeverityInfo, What: "It answers, but not with TLS."})
	EndpointAlerts     = declare("EndpointAlerts", Entry{Reason: NetworkTestFailed, Severity: SeverityInfo, What: "It answers with TLS: {error}."})
	EndpointWaits      = declare("EndpointWaits", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "The endpoint accepts the connection, but sends nothing for {within}. It may not be a TLS server."})
	CertificateDiffers = declare("CertificateDiffers", Entry{Reason: NetworkTestFailed, Severity: SeverityWarning,
		What: "The certificate has another name: {names}.", Fix: "Compare the published name with the certificate of the control plane."})
	ServerNameUnplanned = declare("ServerNameUnplanned", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "A backend answers a name that is not in the plan.", Fix: "Look for another host with the address, and restart the edges."})
)

// What must not be reached, and which host has a VIP.
var (
	HostReached = declare("HostReached", Entry{Reason: NetworkTestFailed, Severity: SeverityError,
		What: "It is a host of the management cluster, and VMs reach it: this network is not isolated.",
		Fix:  "Find the router or the firewall on the VLAN that forwards such connections. Edges forward nothing."})
	HostRefuses = declare("HostRefuses", Entry{Reason: NetworkTestFailed, Severity: SeverityWarning,
		What: "The connection is refused by this host of the management cluster, or by a firewall in its place.",
		Fix:  "Find the router or the firewall on the VLAN that forwards such connections."})
	PathElsewhere = declare("PathElsewhere", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "This pod reaches {address} through another interface, so it cannot act as a VM."})
	PathDiffers = declare("PathDiffers", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "VMs reach {address} through {router}, but this pod through {other}, so the path of VMs was not tried."})
	RouterUnanswered = declare("RouterUnanswered", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "No host answers ARP requests for the router {router}, so nothing was tried."})
	VIPShared = declare("VIPShared", Entry{Reason: AddressInUse, Severity: SeverityError,
		What:   "Two hosts have the VIP: an edge (MAC {macs}), and a host with MAC {mac}, which is not an edge.",
		Effect: "VMs send to the host that answers first. This pod sent to the second one, so other lines may be about that host.",
		Fix:    "Remove the address from that host."})
	VIPForeign = declare("VIPForeign", Entry{Reason: AddressInUse, Severity: SeverityError,
		What: "A host with MAC {mac}, which is not an edge, answers for the VIP.", Effect: "VMs send to the host that answers first.",
		Fix: "Remove the address from that host."})
)

// How failover ends.
var (
	FailoverMeasured = declare("FailoverMeasured", Entry{Reason: FailoverDegraded, Severity: SeverityInfo,
		What: "VMs could not open connections for {gap}. {made} succeeded and {failed} failed."})
	FailoverSlow = declare("FailoverSlow", Entry{Reason: FailoverDegraded, Severity: SeverityWarning,
		What: "VMs could not open connections for {gap}. {made} succeeded and {failed} failed.",
		Fix:  "Look at the logs of container failover of both edges, at the switch between them, and at the load of their nodes."})
	FailoverUnseen = declare("FailoverUnseen", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "Connections never went to another edge, so no failover was seen. {made} succeeded and {failed} failed."})
	FailoverNotBegun = declare("FailoverNotBegun", Entry{Reason: FailoverDegraded, Severity: SeverityError,
		What: "No connection succeeded, not even before the edge stopped.", Fix: "Look at the edges in oooi status."})
	FailoverMissing = declare("FailoverMissing", Entry{Reason: FailoverDegraded, Severity: SeverityError,
		What: "No connection succeeded in the last {time}: the other edge did not take over.",
		Fix:  "Look at the logs of container failover of both edges."})
	EdgeEvicted         = declare("EdgeEvicted", Entry{Reason: FailoverDegraded, Severity: SeverityInfo, What: "Edge {edge}, pod {pod}, was evicted."})
	FailoverOneEdge     = declare("FailoverOneEdge", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown, What: "The network has one edge."})
	EvictionEdgeUnknown = declare("EvictionEdgeUnknown", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "It is unknown which edge the connections go to (MAC {mac}), so no edge is evicted."})
	EvictionTooLate = declare("EvictionTooLate", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "The state of the edges was not read within {time} of the pod's start, so no edge is evicted."})
	EvictionRefused = declare("EvictionRefused", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "The PodDisruptionBudget permits no eviction of edge {edge} now: {error}."})
	EvictionEdgeNotReady = declare("EvictionEdgeNotReady", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "Edge {edge} is not ready now, or does not report that it reaches the API server. So no edge is evicted."})
)

// Why the pod cannot find out.
var (
	TrialWithoutPlan = declare("TrialWithoutPlan", Entry{Reason: InstallationIncomplete, Severity: SeverityError,
		What: "No plan is in force, so nothing can be tested.", Fix: "Look at the condition in oooi status."})
	TrialWithoutEdge = declare("TrialWithoutEdge", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "The test pod is not started, because no edge is ready."})
	TrialImageUnknown = declare("TrialImageUnknown", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "No edge exists, so the image of the pod is unknown."})
	TrialWithoutImage = declare("TrialWithoutImage", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "The test pod is not started, because its node does not have the image."})
	TrialLeasesUnread = declare("TrialLeasesUnread", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "Leases cannot be read, so no address is known to be free."})
	TrialAddressUnusable = declare("TrialAddressUnusable", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "--address {address} is not in {cidr}, or belongs to a VM, an edge or a gateway on {network}."})
	TrialAddressUnknown = declare("TrialAddressUnknown", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "No address of {cidr} is known to be free.", Fix: "Set one with --address."})
	TrialAddressLast = declare("TrialAddressLast", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "Only one address of the DHCP pool is free, and a VM may need it.", Fix: "Set another one of {cidr} with --address."})
	TrialPodFailed = declare("TrialPodFailed", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "Pod {pod} failed, or did not reach phase {phase} within {time}: {state}."})
	TrialPodLeft = declare("TrialPodLeft", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "{object} of an earlier check still exists.", Fix: "Delete it."})
	TrialWithoutResults = declare("TrialWithoutResults", Entry{Reason: CheckIncomplete, Severity: SeverityUnknown,
		What: "The pod printed no results: {log}."})
)
