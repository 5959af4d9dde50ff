// This file declares the problems of one topic: what the administrator of the management cluster does not permit, and
// names that the user overrides.

package problem

var (
	HostNotPermitted = declare("HostNotPermitted", Entry{Reason: NotPermitted, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} names hosts that the operator's flags --permit-hosts and --permit-ports do not permit: {hosts}.",
		Effect: "VMs cannot reach them. All other hosts are served.",
		Fix:    "Remove the hosts, use other ports, or ask the administrator of the management cluster to permit them."})
	HostInsideManagement = declare("HostInsideManagement", Entry{Reason: NotPermitted, Severity: SeverityWarning,
		What:   "External hosts of network {network} have addresses inside the management cluster: {hosts}.",
		Effect: "Edges do not dial these addresses for VMs.",
		Fix:    "Use a host outside of the management cluster. Its administrator can permit the addresses with the operator's flag --permit-destinations."})
	HostInClientNetwork = declare("HostInClientNetwork", Entry{Reason: NotPermitted, Severity: SeverityWarning,
		What:   "External hosts of network {network} have addresses in a client network, or inside the management cluster: {hosts}.",
		Effect: "Edges do not dial these addresses for VMs.",
		Fix:    "Remove hosts in a client network from annotation {key}: nodes then reach them through the gateway. The cluster's administrator can permit addresses inside the management cluster with the operator's flag --permit-destinations."})
	UpstreamPortRefused = declare("UpstreamPortRefused", Entry{Reason: NotPermitted, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} names {server} (network {network}), but edges reach DNS servers only at ports 53 and 853.",
		Effect: "Edges do not ask this server.",
		Fix:    "Set a server at port 53."})
	UpstreamIsSpecial = declare("UpstreamIsSpecial", Entry{Reason: NotPermitted, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} names {server} (network {network}), which is in the special-purpose block {other}.",
		Effect: "Edges do not ask this server.",
		Fix:    "Set the address of a DNS server."})
	UpstreamInManagement = declare("UpstreamInManagement", Entry{Reason: NotPermitted, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} names {server} (network {network}), which is inside the management cluster: {other}.",
		Effect: "Edges do not ask this server. It could reveal names of other tenants to VMs.",
		Fix:    "Set a server outside of it, or set {key} to management. The administrator of the management cluster can permit the address with the operator's flag --permit-destinations."})
	UpstreamNotPermitted = declare("UpstreamNotPermitted", Entry{Reason: NotPermitted, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} names {server} (network {network}), which the operator's flag --permit-upstreams does not permit.",
		Effect: "Edges do not ask this server.",
		Fix:    "Set another server, or ask the administrator of the management cluster to permit it."})
	EdgeNodesNotPermitted = declare("EdgeNodesNotPermitted", Entry{Reason: NotPermitted, Severity: SeverityError,
		What:   "Annotation {key} has node labels that the operator's flag --permit-edge-node-labels does not permit: {labels}.",
		Effect: "Nothing is applied; running edges keep the previous settings.",
		Fix:    "Use other labels, or ask the administrator of the management cluster to permit them."})
	RecordOverridesEndpoint = declare("RecordOverridesEndpoint", Entry{Reason: NamesOverridden, Severity: SeverityWarning,
		What:   "Annotation {key} sets {name} to {addresses}, which overrides a published endpoint.",
		Effect: "VMs do not reach this endpoint through edges.",
		Fix:    "Remove {name} from annotation {key}, unless {addresses} serves it."})
	RecordCoversTopLevelDomain = declare("RecordCoversTopLevelDomain", Entry{Reason: NamesOverridden, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} sets all names below a top-level domain ({name}) to {addresses}.",
		Effect: "VMs do not reach other hosts of that domain by name.",
		Fix:    "Name a domain of your own in annotation {key}."})
	SearchDomainHasWildcard = declare("SearchDomainHasWildcard", Entry{Reason: NamesOverridden, Severity: SeverityWarning, Mistake: true,
		What:   "Search domain {domain} of network {network} is below a wildcard, {name}.",
		Effect: "Pods try names of other hosts with this domain first, and connect to the wrong host. The console may not reach OAuth.",
		Fix:    "Remove the wildcard, or set annotation search-domains to a domain that it does not cover."})
)
