// This file declares the problems of one topic: VMs that do not become nodes.

package problem

// VMs that do not become nodes, by the step that is missing for more than ten minutes. The VMs named are the first five.
var (
	BootWithoutDiscover = declare("BootWithoutDiscover", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "No DHCPDISCOVER of {newVMs} has reached an edge of network {network} since {since}, although they run.",
		Effect: "They have no address, so they do not boot.",
		Fix:    "Look at the console of such a VM. If it waits for DHCP, check the VLAN on the switch port of its node."})
	BootWithoutLease = declare("BootWithoutLease", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} sent a DHCPDISCOVER on network {network} at {since}, and got no lease.",
		Effect: "They have no address, so they do not boot.",
		Fix: "If there is a problem about addresses, leases or another DHCP server, fix it. Otherwise the offers of edges do not reach them: " +
			"check the VLAN on the switch port of their node."})
	BootWithoutName = declare("BootWithoutName", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} got a lease on network {network} at {since}, and asked no edge for the name of Ignition.",
		Effect: "They do not get their configuration, so they do not become nodes.",
		Fix:    "Look at the console of such a VM. Check that it uses DNS server {serviceVIP}: another DHCP server may have answered it."})
	BootWithoutIgnition = declare("BootWithoutIgnition", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} on network {network} got no connection to Ignition since {since}.",
		Effect: "They do not get their configuration, so they do not become nodes.",
		Fix: "Check the health of ignition-server-proxy in the output of oooi status. If it has no fault, oooi check --from-network finds out what " +
			"is in the way."})
	BootWithoutAPI = declare("BootWithoutAPI", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} on network {network} reached Ignition at {since}, and not the API server.",
		Effect: "They do not become nodes.",
		Fix: "Look at the console of such a VM. It pulls the image of its operating system first, so check that annotation allowed-hosts has its " +
			"registry."})
	BootWithoutKonnectivity = declare("BootWithoutKonnectivity", Entry{Reason: NodesNotJoining, Severity: SeverityWarning,
		What:   "{newVMs} on network {network} reached the API server at {since}, but no konnectivity agent there connected.",
		Effect: "They may not be Ready, and kubectl logs and exec fail for them.",
		Fix:    "In the hosted cluster, look at its nodes and CertificateSigningRequests, and at the pods of DaemonSet kube-system/konnectivity-agent."})
)
