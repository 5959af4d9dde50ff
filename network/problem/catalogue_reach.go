// This file declares the problems of one topic: what VMs cannot reach on a network without a gateway.

package problem

var (
	OAuthBehindGateway = declare("OAuthBehindGateway", Entry{Reason: OAuthUnreachable, Severity: SeverityWarning,
		What:   "OAuth is published at the address {address}, and network {network} has gateway {gateway}.",
		Effect: "Pods of the hosted cluster send their traffic to the gateway, so logins to the console fail.",
		Fix:    "Publish OAuth with a host name, set routingViaHost in OVN-Kubernetes, or route {address} from the gateway to the next-hop VIP."})
	TimeServersMissing = declare("TimeServersMissing", Entry{Reason: NTPMissing, Severity: SeverityWarning,
		What:   "The value ntp is missing in annotation services for networks without a gateway ({networks}), so VMs there have no time server.",
		Effect: "If clocks drift, TLS fails.",
		Fix:    "Add ntp to annotation services, or set annotation ntp-servers to a time server on the network. If VMs use the time of their hosts, no action is needed."})
	TimeServersUnreachable = declare("TimeServersUnreachable", Entry{Reason: NTPMissing, Severity: SeverityWarning, Mistake: true,
		What:   "VMs on network {network} ({cidr}) cannot reach the time servers {servers}.",
		Effect: "If clocks drift, TLS fails.",
		Fix:    "Remove annotation {key}: edges then serve the time. Or set {key} to a time server on the network. Or set annotation gateway, unless the servers lie in a network of the hosted cluster."})
	OnlyTimeServersUnreachable = declare("OnlyTimeServersUnreachable", Entry{Reason: NTPMissing, Severity: SeverityWarning, Mistake: true,
		What:   "VMs on network {network} ({cidr}) cannot reach the time servers {servers}, and edges run no NTP server there.",
		Effect: "If clocks drift, TLS fails.",
		Fix:    "Set annotation {key} to a time server on the network. Or set annotation gateway, unless the servers lie in a network of the hosted cluster. If VMs boot from the network, you can also remove {key} and add ntp to annotation services."})
	AppsAddressUnreachable = declare("AppsAddressUnreachable", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "VMs on network {network} ({cidr}) cannot reach annotation {key} ({address}).",
		Effect: "Connections to {name} fail, so the console and ingress operators of the hosted cluster stay degraded. A load balancer of the hosted cluster with this address is not affected.",
		Fix:    "Set annotation {key} to an address on the network that serves {name} on port 443. Or set annotation gateway, unless the address lies in a network of the hosted cluster."})
	HostedProxyUnreachable = declare("HostedProxyUnreachable", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Nodes use the HTTP proxy {proxy} (spec.configuration.proxy), but network {network} has no gateway.",
		Effect: "Nodes do not become Ready unless the network reaches the proxy.",
		Fix:    "Give the proxy an address on the network (annotation dns-records), or set annotation gateway."})
	HostedProxyInvalid = declare("HostedProxyInvalid", Entry{Reason: ControlPlaneProxied, Severity: SeverityWarning, Mistake: true,
		What:   "An HTTP proxy of the hosted cluster (spec.configuration.proxy) is not a URL with scheme http or https.",
		Effect: "HyperShift cannot configure nodes with it, or VMs refuse the configuration.",
		Fix:    "Set a URL such as http://proxy.example.com:3128."})
	HTTPProxyRefused = declare("HTTPProxyRefused", Entry{Reason: ControlPlaneProxied, Severity: SeverityWarning, Mistake: true,
		What:   "The httpProxy of the hosted cluster (spec.configuration.proxy) has scheme https.",
		Effect: "The network operator of the hosted cluster refuses its proxies, so its pods do not use them. Nodes that depend on a proxy do not become Ready.",
		Fix:    "Set a URL with scheme http. Only httpsProxy may have scheme https."})
	NoProxyRefused = declare("NoProxyRefused", Entry{Reason: ControlPlaneProxied, Severity: SeverityWarning, Mistake: true,
		What:   "The noProxy of the hosted cluster (spec.configuration.proxy) has entries that are no host, domain or CIDR: {entries}.",
		Effect: "The network operator of the hosted cluster refuses its proxies, so its pods do not use them. Nodes that depend on a proxy do not become Ready.",
		Fix:    "Write names in small letters, without ports and wildcards, and addresses of IPv6 as CIDRs. Remove empty entries."})
	HostedProxyUnusable = declare("HostedProxyUnusable", Entry{Reason: ControlPlaneProxied, Severity: SeverityWarning, Mistake: true,
		What:   "The httpsProxy of the hosted cluster (spec.configuration.proxy) has a user, a path, or scheme https. Its noProxy does not have the API server.",
		Effect: "Nodes forward the traffic of pods to the API server through that proxy, without a password and without TLS. So this traffic does not arrive.",
		Fix:    "Add the host of the API server to spec.configuration.proxy.noProxy."})
	ControlPlaneThroughProxy = declare("ControlPlaneThroughProxy", Entry{Reason: ControlPlaneProxied, Severity: SeverityWarning,
		What:   "Nodes on network {network} connect to {hosts} through the HTTPS proxy of the hosted cluster (spec.configuration.proxy).",
		Effect: "Nodes do not become Ready unless the proxy resolves these names and reaches them.",
		Fix:    "Add the hosts to spec.configuration.proxy.noProxy, instead of an entry *. HyperShift before 0.1.76 finds the API server there only by its exact host. Nodes then connect to the edges."})
	IngressThroughProxy = declare("IngressThroughProxy", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "On network {network}, operators check the ingress at {hosts}, through the HTTPS proxy of the hosted cluster (spec.configuration.proxy).",
		Effect: "The operators stay degraded unless the proxy resolves these names and reaches them.",
		Fix:    "Add {domains} to spec.configuration.proxy.noProxy."})
	ConsoleThroughProxy = declare("ConsoleThroughProxy", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "On network {network}, the console connects to OAuth ({hosts}) through the HTTPS proxy of the hosted cluster (spec.configuration.proxy).",
		Effect: "Logins to the console fail unless the proxy resolves this name and reaches it.",
		Fix:    "Add {hosts} to spec.configuration.proxy.noProxy."})
	RegistryThroughProxy = declare("RegistryThroughProxy", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Nodes on network {network} pull images from {hosts} through the HTTP proxy of the hosted cluster (spec.configuration.proxy).",
		Effect: "Edges resolve these names for nodes. If the proxy does not resolve and reach them, too, nodes cannot pull these images.",
		Fix:    "Add {hosts} to spec.configuration.proxy.noProxy."})
	ImagesFromEdge = declare("ImagesFromEdge", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Nodes on network {network} pull images from or through {hosts}, at an address of the edges.",
		Effect: "Edges serve neither a registry nor an HTTP proxy there, so nodes cannot pull these images.",
		Fix:    "Set another address or name for the registry or the HTTP proxy (spec.configuration.proxy, annotation dns-records). Or publish its Service with annotation publish, and set the name."})
	ImagesInHostedCluster = declare("ImagesInHostedCluster", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Nodes on network {network} pull images from or through {hosts}, inside the hosted cluster: {other}.",
		Effect: "Nodes look for these addresses inside the hosted cluster, so they cannot pull these images.",
		Fix:    "Give the host another address. The networks of the hosted cluster cannot be changed."})
	ImageNamesUnresolved = declare("ImageNamesUnresolved", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Annotation {key} of network {network} is none, and edges have no address for {hosts}.",
		Effect: "Nodes pull images from or through these hosts, and cannot resolve their names.",
		Fix:    "Remove annotation {key}. Or set annotation allowed-hosts to auto: edges then forward to registries. Or add the names to annotation dns-records."})
	ExternalHostsOff = declare("ExternalHostsOff", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Annotation {key} is none, and network {network} has no gateway.",
		Effect: "Nodes do not become Ready unless another host on the network serves {hosts}.",
		Fix:    "Set annotation {key} to auto, or set annotation gateway."})
	ExternalHostsNotServed = declare("ExternalHostsNotServed", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Annotation services leaves out dns or proxy, and network {network} has no gateway.",
		Effect: "Nodes do not become Ready unless your own servers serve {hosts}.",
		Fix:    "Add dns and proxy to annotation services, or set annotation gateway."})
	RegistryWithoutName = declare("RegistryWithoutName", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Images are pulled from an IP address, or a host without a full DNS name ({hosts}). Edges forward by TLS server name.",
		Effect: "Nodes cannot pull these images.",
		Fix:    "Give the registry a DNS name, or set annotation gateway."})
	RegistryOnOneNetwork = declare("RegistryOnOneNetwork", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Images are pulled from {hosts}, an address of a network that not all nodes are on.",
		Effect: "Nodes that boot from another network without a gateway cannot pull these images.",
		Fix:    "Name the registry's network in spec.platform.kubevirt.additionalNetworks of each NodePool, or set annotation gateway. Or give the registry a DNS name with an address that edges reach through the pod network."})
	RegistryIsPlainHTTP = declare("RegistryIsPlainHTTP", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Images are pulled with plain HTTP ({hosts}), which has no TLS server name.",
		Effect: "Nodes cannot pull these images.",
		Fix:    "Serve the registry with HTTPS, or set annotation gateway."})
	RegistryInManagementCluster = declare("RegistryInManagementCluster", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Images are pulled from inside the management cluster ({hosts}).",
		Effect: "Nodes cannot pull these images.",
		Fix:    "Use a registry outside of the management cluster, or publish its Service with annotation publish."})
	RegistryBehindIngress = declare("RegistryBehindIngress", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Images are pulled from {hosts}, through the ingress of the management cluster ({addresses}).",
		Effect: "Edges do not dial addresses inside the management cluster, so nodes cannot pull these images.",
		Fix:    "Ask the administrator of the management cluster to permit {addresses} with the operator's flag --permit-destinations, or use another registry."})
	TooManyRegistries = declare("TooManyRegistries", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Images are pulled from more than {most} registries.",
		Effect: "Nodes cannot reach {count} of the mirrors.",
		Fix:    "Remove mirrors from spec.imageContentSources, or set annotation gateway."})
	NoRegistryReachable = declare("NoRegistryReachable", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "VMs on network {network} reach no registry that nodes pull images from ({hosts}).",
		Effect: "The network has no other way to these hosts, so no new node becomes Ready.",
		Fix:    "For at least one of the registries, apply the fix in its own line. Or put a mirror on the network, and set annotation dns-records for its name. Or set annotation gateway."})
	RegistryMayRedirect = declare("RegistryMayRedirect", Entry{Reason: ImagesUnreachable, Severity: SeverityInfo,
		What:   "Images are pulled from {hosts}. oooi does not know whether these registries redirect to other hosts.",
		Effect: "Nodes reach only hosts that are named.",
		Fix:    "If a registry redirects, name the hosts that it redirects to in annotation allowed-hosts. If none redirects, name the registries there."})
	RegistryMayLackTLS = declare("RegistryMayLackTLS", Entry{Reason: ImagesUnreachable, Severity: SeverityInfo,
		What:   "Nodes may use plain HTTP for {hosts} (spec.configuration.image.registrySources.insecureRegistries).",
		Effect: "Edges forward only TLS. If a registry has no TLS, nodes cannot pull its images.",
		Fix:    "Serve the registry with HTTPS, with any certificate. If it has HTTPS, name it in annotation allowed-hosts, after the word auto."})
	ReleaseMayNameOthers = declare("ReleaseMayNameOthers", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "A release image is on {hosts}. No source in spec.imageContentSources mirrors {repository}, and edges do not forward to {other}.",
		Effect: "Published releases of OpenShift name images there, also if the release is mirrored. Nodes without these images do not become Ready.",
		Fix:    "Add this source and its mirror to spec.imageContentSources, or {other} to annotation allowed-hosts, after the word auto. A release that you built may name other repositories, which nodes need instead."})
	MirrorsNotForNodes = declare("MirrorsNotForNodes", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "The management cluster has mirrors of {repository}, but spec.imageContentSources has none. Only these are for nodes.",
		Effect: "Nodes pull from {other}. If edges do not reach it, nodes do not become Ready.",
		Fix:    "Add this source and its mirrors to spec.imageContentSources. If edges reach {other}, name it in annotation allowed-hosts, after the word auto."})
	NetworkPluginMayNameOthers = declare("NetworkPluginMayNameOthers", Entry{Reason: ImagesUnreachable, Severity: SeverityInfo,
		What:   "The hosted cluster has networkType {type}, so you install its network plugin.",
		Effect: "No object names the registries of the plugin's images. Nodes that cannot pull them stay NotReady.",
		Fix:    "Add the hosts of these registries, or of their mirror, to annotation allowed-hosts, after the word auto."})
	NodePoolConfigUnread = declare("NodePoolConfigUnread", Entry{Reason: ImagesUnreachable, Severity: SeverityInfo,
		What:   "NodePools configure nodes with ConfigMaps that oooi does not read: {configMaps} (spec.config).",
		Effect: "If these name mirrors, an osImageURL or time servers, nodes may not reach them.",
		Fix:    "Name the hosts of mirrors and of osImageURL in annotation allowed-hosts, after the word auto, or the mirrors in spec.imageContentSources. Name time servers on the network: edges serve the time at the service VIP."})
	RegistriesRefused = declare("RegistriesRefused", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Nodes refuse images from {hosts} (spec.configuration.image.registrySources).",
		Effect: "Nodes that cannot pull these images do not become Ready.",
		Fix:    "Add {hosts} to allowedRegistries, or remove the entries that match from blockedRegistries."})
	ManagementProxyUnusable = declare("ManagementProxyUnusable", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Edges cannot use the operator's HTTPS_PROXY. It must be a valid http:// URL, without a user or password.",
		Effect: "Nodes cannot pull images from {hosts}.",
		Fix:    "Correct HTTPS_PROXY of the operator, or name the hosts in NO_PROXY if they can be reached without the proxy."})
	RegistryNotPermitted = declare("RegistryNotPermitted", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "Images are on {hosts}, which the operator's flags --permit-hosts and --permit-ports do not permit.",
		Effect: "Nodes cannot pull these images.",
		Fix:    "Ask the administrator of the management cluster to permit the hosts and their ports. Or use a registry that is permitted, or port 443."})
)
