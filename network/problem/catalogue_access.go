// This file declares the problems of one topic: what is opened to the management cluster, and what is not.

package problem

const (
	// notOpen is the Effect of a problem about an ignored entry.
	notOpen = "This entry of annotation management-access is ignored. The others work."
	// notLed is the Effect of a problem about a load balancer that does not forward to edges.
	notLed = "Clients cannot connect through it. Other Services are not affected."
)

var (
	AccessOpen = declare("AccessOpen", Entry{Reason: AccessOpened, Severity: SeverityInfo,
		What:   "Pods of namespaces {namespaces} reach {destinations} on network {network} through Service {service}.",
		Effect: "Callers need no token. HyperShift's own policies also admit pods of the ingress and of monitoring.",
		Fix:    "To close it, remove annotation management-access."})
	AccessOpenToAccounts = declare("AccessOpenToAccounts", Entry{Reason: AccessOpened, Severity: SeverityInfo,
		What:   "ServiceAccounts {accounts} reach {destinations} on network {network} through Service {service}, from pods of namespaces {namespaces}.",
		Effect: "Each ServiceAccount needs a token. HyperShift's own policies also admit pods of the ingress and of monitoring.",
		Fix:    "To close it, remove annotation management-access."})
	AccessNameUnknown = declare("AccessNameUnknown", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open: {name} is not the word nodes or apps, an address, or a name in annotation dns-records.",
		Effect: notOpen,
		Fix:    "Write the word nodes or apps, add the name to annotation dns-records, or name its address."})
	AccessToEdge = declare("AccessToEdge", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open, because edges answer at address {address}.",
		Effect: notOpen,
		Fix:    "Name a VM or another host of the network. Pods reach the control plane itself through its Services."})
	AccessToNoHost = declare("AccessToNoHost", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open, because {address} is not a host address of {cidr}.",
		Effect: notOpen,
		Fix:    "Name the address of a host of the network."})
	AccessOutsideNetworks = declare("AccessOutsideNetworks", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open, because address {address} is on no network that edges serve (CIDRs: {cidrs}).",
		Effect: notOpen,
		Fix:    "Name an address on a network, or remove the entry."})
	AccessPortInUse = declare("AccessPortInUse", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open, because edges use that port for {use}.",
		Effect: notOpen,
		Fix:    "Choose another port before the equals sign."})
	AccessPortRepeated = declare("AccessPortRepeated", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open, because {other} has the same port.",
		Effect: "Both entries of annotation management-access are ignored. The others work.",
		Fix:    "Choose another port before the equals sign of one of them."})
	AccessPortWithoutToken = declare("AccessPortWithoutToken", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open, because annotation management-access-accounts is set and plain TCP carries no token.",
		Effect: notOpen,
		Fix:    "Remove the port before the equals sign, so that callers use HTTP CONNECT. Or remove annotation management-access-accounts."})
	AccessIngressUnknown = declare("AccessIngressUnknown", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "{entry} is not open, because oooi does not know an ingress of the hosted cluster for this port.",
		Effect: notOpen,
		Fix:    "The entry opens when oooi knows the ingress. Or set annotation apps-address to the address of the ingress on the network."})
	AccessNeedsLeases = declare("AccessNeedsLeases", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open on network {network}, because annotation services leaves out dhcp there.",
		Effect: "Edges find VMs by their DHCP leases. This entry has no effect on that network.",
		Fix:    "Name addresses in annotation management-access, or add dhcp to annotation services."})
	AccessNoNetwork = declare("AccessNoNetwork", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "{entry} is not open, because no VM boots from a network that edges serve.",
		Effect: notOpen,
		Fix:    "Name addresses of hosts in annotation management-access."})
	AccessSettingUnused = declare("AccessSettingUnused", Entry{Reason: AccessRefused, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} has no effect, because annotation management-access is not set.",
		Effect: "Nothing is open to pods of the management cluster.",
		Fix:    "Set annotation management-access, or remove {key}."})
	LoadBalancersOpen = declare("LoadBalancersOpen", Entry{Reason: AccessOpened, Severity: SeverityInfo,
		What:   "Anyone who reaches a load balancer of the hosted cluster ({services}) reaches VMs on network {network} through edges.",
		Effect: "Annotations management-access-from and management-access-accounts do not apply to load balancers.",
		Fix:    "To close them, remove loadbalancers from annotation management-access."})
	LoadBalancerNotTCP = declare("LoadBalancerNotTCP", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "Service {service} has {protocol} ports {ports}, and edges carry TCP only.",
		Effect: "Clients cannot connect to these ports. TCP ports are not affected.",
		Fix:    "Use TCP, or a load balancer that has an address on the network itself."})
	LoadBalancerPortInUse = declare("LoadBalancerPortInUse", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "Service {service} forwards to port {port}, which edges use for {use}.",
		Effect: "Clients cannot connect to this port. Other ports and Services are not affected.",
		Fix:    "Set another nodePort for the Service in the hosted cluster."})
	LoadBalancerPortInvalid = declare("LoadBalancerPortInvalid", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "Port {port} of Service {service} has no node port from 30000 to 32767.",
		Effect: "Edges do not open it, so clients cannot connect to it. Other ports and Services are not affected.",
		Fix:    "Set allocateLoadBalancerNodePorts of the Service in the hosted cluster to true, or its nodePort to a port from 30000 to 32767. If serviceNodePortRange of the hosted cluster does not include these, extend it first."})
	LoadBalancerPortShared = declare("LoadBalancerPortShared", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "Services {service} and {other} forward to the same node port {port}.",
		Effect: "Clients cannot connect to this port of {service}. Other ports and Services are not affected.",
		Fix:    "One of the two Services is stale: the Service that it copies was deleted in the hosted cluster. Delete the stale one."})
	LoadBalancerOnlyIPv6 = declare("LoadBalancerOnlyIPv6", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "Service {service} has IPv6 addresses only, and edges serve IPv4.",
		Effect: notLed,
		Fix:    "Set its ipFamilies to IPv4."})
	LoadBalancerIPv6 = declare("LoadBalancerIPv6", Entry{Reason: AccessRefused, Severity: SeverityInfo,
		What:   "Service {service} has IPv4 and IPv6 addresses, and edges serve IPv4.",
		Effect: "Clients cannot connect to its IPv6 address. Its IPv4 address works."})
	LoadBalancerOfOthers = declare("LoadBalancerOfOthers", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "Service {service} has a selector that neither HyperShift nor oooi set.",
		Effect: notLed,
		Fix:    "Remove the selector. HyperShift's cloud controller sets none if its configuration has selectorless: true."})
	LoadBalancerSourcesHidden = declare("LoadBalancerSourcesHidden", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "Service {service} has loadBalancerSourceRanges that edges cannot enforce.",
		Effect: notLed,
		Fix:    "Create the Service again with externalTrafficPolicy: Local and at most {most} ranges, or remove its loadBalancerSourceRanges."})
	LoadBalancersTooMany = declare("LoadBalancersTooMany", Entry{Reason: AccessRefused, Severity: SeverityWarning,
		What:   "Load balancers of the hosted cluster ({services}) do not forward to edges, because the limit for all load balancers together is {most}.",
		Effect: "Clients cannot connect through these. Other load balancers are not affected.",
		Fix:    "Delete load balancers that are not needed, or publish several names through the ingress."})
	LoadBalancersNotLed = declare("LoadBalancersNotLed", Entry{Reason: LoadBalancersUnreachable, Severity: SeverityInfo,
		What:   "Load balancers of the hosted cluster ({services}) do not forward to edges of network {network} yet.",
		Effect: "These Services forward to edges when every running edge has opened their ports."})
	LoadBalancersToNoRoute = declare("LoadBalancersToNoRoute", Entry{Reason: LoadBalancersUnreachable, Severity: SeverityInfo,
		What:   "Load balancers of the hosted cluster ({services}) forward to addresses of VMs, and no router has a route to the network of these VMs.",
		Effect: "Clients cannot connect through the load balancers and the ingress of the hosted cluster.",
		Fix:    "Set annotation management-access to loadbalancers,apps:443. Edges then carry their connections."})
	IngressLoadBalancerToAdd = declare("IngressLoadBalancerToAdd", Entry{Reason: LoadBalancersUnreachable, Severity: SeverityInfo,
		What:   "Service {service} of the ingress does not forward to edges.",
		Effect: "Clients outside the network cannot reach the ingress through its Route. Other load balancers are not affected.",
		Fix:    "Add apps:443 to annotation management-access."})
)
