// This file declares the problems of one topic: endpoints that HyperShift or Services publish.

package problem

var (
	APIEndpointUnknown = declare("APIEndpointUnknown", Entry{Reason: WaitingForControlPlane, Severity: SeverityWaiting,
		What:   "HyperShift has not yet published the API server ({object}).",
		Effect: "oooi applies nothing until then. The API server will be at {at}."})
	APIServiceMissing = declare("APIServiceMissing", Entry{Reason: WaitingForControlPlane, Severity: SeverityWaiting,
		What:   "Service {object} of the API server does not exist yet.",
		Effect: "oooi applies nothing until then."})
	ControlPlaneMissing = declare("ControlPlaneMissing", Entry{Reason: WaitingForControlPlane, Severity: SeverityWaiting,
		What:   "HyperShift has not yet created the control plane in namespace {namespace}.",
		Effect: "oooi applies nothing until then."})
	ControlPlaneGone = declare("ControlPlaneGone", Entry{Reason: WaitingForControlPlane, Severity: SeverityWaiting,
		What:   "The HostedControlPlane in namespace {namespace} was deleted.",
		Effect: "Edges keep serving until Kubernetes deletes them, too. No change is applied.",
		Fix:    "To keep the hosted cluster, find out what deleted the HostedControlPlane. HyperShift creates it again."})
	ControlPlaneRefused = declare("ControlPlaneRefused", Entry{Reason: NodesNotCreated, Severity: SeverityWaiting,
		What:   "HyperShift creates no control plane, because condition {condition} of the HostedCluster is False ({error}).",
		Effect: "No node becomes Ready until the condition is True.",
		Fix:    "Correct what the condition names."})
	ControlPlaneNotUpdated = declare("ControlPlaneNotUpdated", Entry{Reason: NodesNotCreated, Severity: SeverityWarning,
		What:   "HyperShift does not change the control plane, because condition {condition} of the HostedCluster is False ({error}).",
		Effect: "The control plane stays as it is. If new nodes need the change, they do not become Ready.",
		Fix:    "Correct what the condition names."})
	NodePoolRefused = declare("NodePoolRefused", Entry{Reason: NodesNotCreated, Severity: SeverityWarning,
		What:   "HyperShift creates no new nodes of NodePool {nodePools}, because condition {condition} is False ({error}).",
		Effect: "VMs that exist are not affected.",
		Fix:    "Correct what the condition names."})
	NodePoolPaused = declare("NodePoolPaused", Entry{Reason: NodesNotCreated, Severity: SeverityWarning,
		What:   "HyperShift creates no new nodes of NodePool {nodePools}, because of spec.pausedUntil.",
		Effect: "VMs that exist are not affected.",
		Fix:    "Remove the field."})
	HyperShiftPaused = declare("HyperShiftPaused", Entry{Reason: NodesNotCreated, Severity: SeverityWarning,
		What:   "HyperShift is paused by spec.pausedUntil of the HostedCluster.",
		Effect: "It creates neither a control plane nor VMs. VMs that exist are not affected.",
		Fix:    "Remove the field."})
	NodePoolWithoutVolume = declare("NodePoolWithoutVolume", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "NodePool {nodePools} has a rootVolume without persistent.",
		Effect: "HyperShift refuses the NodePool, and creates no VMs for it.",
		Fix:    "Set spec.platform.kubevirt.rootVolume.persistent."})
	NodePoolWithoutNetwork = declare("NodePoolWithoutNetwork", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "NodePool {nodePools} sets attachDefaultNetwork to false, and names no network.",
		Effect: "HyperShift refuses the NodePool, and creates no VMs for it.",
		Fix:    "Name a network in spec.platform.kubevirt.additionalNetworks."})
	NodePoolReleaseNewer = declare("NodePoolReleaseNewer", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "The release of NodePool {nodePools} is newer than that of the HostedCluster.",
		Effect: "HyperShift creates no new nodes of the NodePool, and does not update it.",
		Fix:    "Update the HostedCluster first, or set an older release in spec.release.image of the NodePool."})
	NodePoolPatchRefused = declare("NodePoolPatchRefused", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "HyperShift cannot apply annotation kubevirt-vm-jsonpatch to VMs of NodePool {nodePools} ({error}).",
		Effect: "It creates no new nodes of the NodePool, and does not update it.",
		Fix:    "Correct the JSON patch. Use op add for fields that HyperShift does not set."})
	CertificatesDisabled = declare("CertificatesDisabled", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {annotation} of the HostedCluster turns off its certificates.",
		Effect: "Its control plane does not start until something else provides them.",
		Fix:    "Remove the annotation."})
	AuthenticationWithoutType = declare("AuthenticationWithoutType", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "spec.configuration.authentication of the HostedCluster has no type.",
		Effect: "HyperShift refuses such a HostedCluster, so it creates and changes nothing for it.",
		Fix:    "Set type IntegratedOAuth."})
	MachineManagementDisabled = declare("MachineManagementDisabled", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {annotation} of the HostedCluster turns off Cluster API.",
		Effect: "No VM is created.",
		Fix:    "Remove the annotation."})
	IgnitionServerDisabled = declare("IgnitionServerDisabled", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {annotation} of the HostedCluster turns off its Ignition server.",
		Effect: "HyperShift creates no VM until something else provides Ignition.",
		Fix:    "Remove the annotation."})
	NoNodePoolCreatesNodes = declare("NoNodePoolCreatesNodes", Entry{Reason: NodesNotCreated, Severity: SeverityWarning,
		What: "HyperShift creates no nodes for any NodePool, and the hosted cluster has no VM.",
		Fix:  "Fix what is reported for its NodePools, or for its HostedCluster."})
	NoNewNodes = declare("NoNewNodes", Entry{Reason: NodesNotCreated, Severity: SeverityWarning,
		What:   "HyperShift creates no new nodes for any NodePool.",
		Effect: "Only VMs that exist can become nodes.",
		Fix:    "Fix what is reported for its NodePools."})
	EndpointPending = declare("EndpointPending", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "{service} is not published yet ({object}).",
		Effect: "It will be served at {at}."})
	RouteHostPending = declare("RouteHostPending", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "{service} is not served yet, because {object} has no host.",
		Effect: "It will be served at {at}."})
	NodePortPending = declare("NodePortPending", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "{service} is not served yet, because {object} has no node port.",
		Effect: "It will be served at {at}."})
	LoadBalancerPending = declare("LoadBalancerPending", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "{service} is not served yet, because the load balancer of {object} is not provisioned.",
		Effect: "It will be served at {at}."})
	EndpointServiceMissing = declare("EndpointServiceMissing", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting, Subject: "endpoint",
		What: "{subject} is not served yet, because {object} does not exist."})
	EndpointPortMissing = declare("EndpointPortMissing", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting, Subject: "endpoint",
		What: "{subject} is not served, because {object} has no port {port}, which its Route names."})
	BaseDomainPending = declare("BaseDomainPending", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "*.apps is not served yet, because HyperShift has not set {object}.",
		Effect: "HyperShift takes the domain from the management cluster, and then publishes the ingress. Edges forward port 443 to its node port, so the console needs no action."})
	BaseDomainMissing = declare("BaseDomainMissing", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "{object} of the HostedCluster is empty, and spec.platform.kubevirt.baseDomainPassthrough is not true.",
		Effect: "HyperShift then gives the ingress a domain that is not valid, so Routes, the console and logins to it do not work.",
		Fix:    "Create the cluster with {object}, or with baseDomainPassthrough: true."})
	IngressServicePending = declare("IngressServicePending", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "{name} is not served yet, because {object} does not exist.",
		Effect: "HyperShift creates it when the hosted cluster has an ingress. Edges then forward port 443 to its node port, so the console needs no action."})
	IngressCopyPending = declare("IngressCopyPending", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "{name} is not served yet, because Service openshift-ingress/router-default of the hosted cluster has no copy in the control plane namespace.",
		Effect: "The cloud provider of the hosted cluster makes the copy when the ingress is of type LoadBalancerService. Edges then forward ports 443 and 80 to its node ports.",
		Fix:    "If it is of another type, create Service {service}, which oooi plan prints. Or set annotation apps-address to an address that serves {name} on port 443."})
	IngressLoadBalancerPending = declare("IngressLoadBalancerPending", Entry{Reason: LoadBalancersUnreachable, Severity: SeverityWarning,
		What:   "The load balancer of {name} (Service openshift-ingress/router-default of the hosted cluster) has no address.",
		Effect: "Edges serve {name}. But the ingress operator of the hosted cluster stays degraded, so the installation does not complete.",
		Fix:    "Let a load balancer of the management cluster, such as MetalLB, give an address to the copy of this Service."})
	IngressAddressMissing = declare("IngressAddressMissing", Entry{Reason: AppsUnreachable, Severity: SeverityWarning,
		What:   "{name} is not resolved on the network.",
		Effect: "The console and ingress operators of the hosted cluster stay degraded.",
		Fix:    "Create Service {service}, which oooi plan prints. Or set annotation apps-address to an address that serves {name} on port 443."})
	IngressTypeIgnored = declare("IngressTypeIgnored", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "The hosted cluster starts with release {release}, which ignores spec.operatorConfiguration.ingressOperator. No object has the address of {name}.",
		Effect: "The ingress has type NodePortService. If VMs do not reach {name} on port 443, the console and ingress operators of the hosted cluster stay degraded.",
		Fix:    "Create Service {service}, which oooi plan prints. Or set annotation apps-address. Or create the cluster with release 4.21 or later."})
	IngressDomainCapital = declare("IngressDomainCapital", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "The domain of the hosted cluster's ingress is {domain}, with capital letters.",
		Effect: "Its OpenShift API server does not start with such a domain, so Routes, the console and logins do not work.",
		Fix:    "Create the cluster with a domain in small letters (spec.dns, or spec.configuration.ingress)."})
	IngressDomainInside = declare("IngressDomainInside", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "The domain of the hosted cluster's ingress is {domain}, which is below cluster.local.",
		Effect: "The DNS server of the hosted cluster answers for cluster.local itself, so its pods do not resolve names of the ingress. The console and ingress operators stay degraded.",
		Fix:    "Create the cluster with a domain that is not below cluster.local (spec.dns, or spec.configuration.ingress)."})
	AllNodesTainted = declare("AllNodesTainted", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "All nodes of the hosted cluster get taints (spec.taints of NodePool {nodePools}).",
		Effect: "The ingress, the console and the monitoring of the hosted cluster do not tolerate these taints, so they cannot run on any node.",
		Fix:    "Create a NodePool without taints. Or add tolerations in the hosted cluster, such as spec.nodePlacement of its IngressController."})
	NamesInHostedCluster = declare("NamesInHostedCluster", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "Names are below cluster.local, but not names of Services: {hosts}.",
		Effect: "The DNS server of the hosted cluster answers for cluster.local itself, so its pods do not resolve these names. Logins fail if OAuth or an identity provider has such a name. Nodes resolve them.",
		Fix:    "Use names that are not below cluster.local."})
	IngressPrivate = declare("IngressPrivate", Entry{Reason: AppsUnreachable, Severity: SeverityWarning,
		What:   "The HostedCluster sets type Private for its ingress ({field}), which then opens no port on its nodes.",
		Effect: "If the IngressController still has that type, and no Service publishes it, {name} does not work. The console and ingress operators then stay degraded.",
		Fix:    "Set annotation apps-address to an address that serves {name} on port 443, such as a load balancer of your own. If the IngressController of the hosted cluster has another type by now, set that type in spec.operatorConfiguration of the HostedCluster."})
	IngressWantsPROXY = declare("IngressWantsPROXY", Entry{Reason: AppsUnreachable, Severity: SeverityWarning,
		What:   "The HostedCluster sets the PROXY protocol for its ingress, which edges do not send.",
		Effect: "If the IngressController still expects it, connections to {name} fail: the console and ingress operators stay degraded.",
		Fix:    "Set protocol to TCP in spec.operatorConfiguration of the HostedCluster and in the IngressController of the hosted cluster. Or set annotation apps-address to a load balancer that sends the PROXY protocol."})
	IngressPortsDiffer = declare("IngressPortsDiffer", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "Service {service} has port {port} of the nodes for the ingress. The HostedCluster sets type HostNetwork for it, with port {otherPort}.",
		Effect: "Edges connect to port {port}. HyperShift reads the type only when it creates the ingress, so oooi does not know which port is right.",
		Fix:    "If the IngressController of the hosted cluster has type HostNetwork, delete the Service. If not, remove the type from spec.operatorConfiguration of the HostedCluster."})
	IngressPortIsNoNodePort = declare("IngressPortIsNoNodePort", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "Service {service} has target port {port} for the ingress, which is no node port of the hosted cluster ({range}).",
		Effect: "Edges connect to port {port} of the VMs. If the ingress has a node port, {name} does not work.",
		Fix:    "Set the node port of Service router-nodeport-default in the hosted cluster as target port. If the ingress has type HostNetwork, keep the Service."})
	IngressPortInUse = declare("IngressPortInUse", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "The HostedCluster sets type HostNetwork for its ingress, with port {port}. On each node, the proxy to the API server has this port.",
		Effect: "No node runs the ingress, so {name} does not work. The console and ingress operators of the hosted cluster stay degraded.",
		Fix:    "Create the cluster with another port for the ingress, or for the proxy (spec.networking.apiServer.port)."})
	IngressNameUnresolved = declare("IngressNameUnresolved", Entry{Reason: AppsUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "The ingress also serves {names}, but annotation dns-records has only {name}.",
		Effect: "The name is not resolved on the network. The console operator of the hosted cluster checks it from the nodes, and stays degraded.",
		Fix:    "Add a record for it to annotation dns-records."})
	IdentityProviderUnreachable = declare("IdentityProviderUnreachable", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "Identity provider {provider} is at {hosts}, which nodes do not resolve or reach.",
		Effect: "{by} dials it from the nodes, so {logins} fail unless nodes find it on the network.",
		Fix:    "If annotation allowed-hosts lacks {hosts}, add them after the word auto. An OpenID provider may name more hosts (.well-known/openid-configuration): add these, too. The operator's flags --permit-hosts, --permit-ports and --permit-destinations must permit them."})
	HostsThroughProxy = declare("HostsThroughProxy", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "{by} connects to {hosts} through the HTTP proxy of the hosted cluster (spec.configuration.proxy).",
		Effect: "Edges resolve these names for nodes. If the proxy does not resolve and reach them, too, {uses} fail.",
		Fix:    "Add {hosts} to spec.configuration.proxy.noProxy."})
	LDAPServersApart = declare("LDAPServersApart", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "Identity providers use LDAP at {hosts}, which edges do not know, and at {other}, which nodes reach.",
		Effect: "When the OAuth server finds {hosts} with the DNS of the management cluster, it dials all LDAP servers from there. Logins with {other} then fail.",
		Fix:    "Add {hosts} to annotation dns-records, with addresses that VMs reach. Or let the management cluster resolve and reach {other}, too."})
	IdentityProviderWithoutName = declare("IdentityProviderWithoutName", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "Identity provider {provider} is at {hosts}, which nodes do not reach and edges cannot forward to without a TLS server name.",
		Effect: "{by} dials it from the nodes, so {logins} fail unless nodes find it on the network.",
		Fix:    "Give it an address on the network, or serve it at a DNS name with TLS. Or set annotation gateway, with a DNS server in dns-upstreams that knows the name."})
	IdentityProviderIsEdge = declare("IdentityProviderIsEdge", Entry{Reason: HostUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "An identity provider of the hosted cluster is at {hosts}, at an address of the edges of network {network}.",
		Effect: "Edges serve no identity provider there, so logins with it fail.",
		Fix:    "Set another address or name for the provider. Or publish its Service with annotation publish, and set the name."})
	IdentityProviderInHostedCluster = declare("IdentityProviderInHostedCluster", Entry{Reason: HostUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "An identity provider of the hosted cluster is at {hosts}, inside the hosted cluster: {other}.",
		Effect: "Nodes on network {network} look for it inside the hosted cluster, so logins with it fail.",
		Fix:    "Give the provider another address. The networks of the hosted cluster cannot be changed."})
	OIDCProviderOnNetwork = declare("OIDCProviderOnNetwork", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "OIDC provider {provider} is at {hosts}, which has an address of network {network}. The network has no gateway.",
		Effect: "The hosted API server reads the keys of the provider from the management cluster, not through nodes. If it does not reach the provider, logins fail.",
		Fix:    "Let the management cluster resolve and reach {hosts}, too."})
	ImportsUnreachable = declare("ImportsUnreachable", Entry{Reason: HostUnreachable, Severity: SeverityInfo,
		What:   "ImageStreams may import from {hosts}, which nodes do not resolve or reach.",
		Effect: "The hosted control plane connects to registries through the nodes, so these imports fail.",
		Fix:    "If annotation allowed-hosts lacks {hosts}, add them after the word auto. The operator's flags --permit-hosts, --permit-ports and --permit-destinations must permit them."})
	CatalogsUnreachable = declare("CatalogsUnreachable", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "Catalogs of OLM run on nodes (spec.olmCatalogPlacement), with images from {hosts}, which nodes do not reach.",
		Effect: "Nodes become Ready, but the hosted cluster installs no operators from these catalogs.",
		Fix:    "Add {hosts} to annotation allowed-hosts, after the word auto. Or create the cluster with spec.configuration.operatorhub.disableAllDefaultSources."})
	CatalogsRefused = declare("CatalogsRefused", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "Catalogs of OLM run on nodes (spec.olmCatalogPlacement), with images from {hosts}, which nodes refuse (spec.configuration.image.registrySources).",
		Effect: "Nodes become Ready, but the hosted cluster installs no operators from these catalogs.",
		Fix:    "Add {hosts} to allowedRegistries, or remove the entries that match from blockedRegistries."})
	ImportsWithoutName = declare("ImportsWithoutName", Entry{Reason: HostUnreachable, Severity: SeverityInfo,
		What:   "ImageStreams may import from {hosts}, which nodes do not reach and edges cannot forward to without a TLS server name.",
		Effect: "The hosted control plane connects to registries through the nodes, so these imports fail.",
		Fix:    "Give the registry an address on the network, or a DNS name. Or set annotation gateway, with a DNS server in dns-upstreams that knows the name."})
	AllowedHostPublished = declare("AllowedHostPublished", Entry{Reason: HostUnreachable, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation allowed-hosts has {hosts}, which is published to VMs.",
		Effect: "Edges forward connections to the published endpoint, not to an external host.",
		Fix:    "Remove {hosts} from annotation allowed-hosts."})
	AllowedHostOfIngress = declare("AllowedHostOfIngress", Entry{Reason: HostUnreachable, Severity: SeverityWarning,
		What:   "Annotation allowed-hosts has {hosts}, which is also a name of the hosted cluster's ingress.",
		Effect: "Edges forward connections to the external host, not to the ingress.",
		Fix:    "If the ingress serves {hosts}, remove it from annotation allowed-hosts."})
	IngressAddressUnknown = declare("IngressAddressUnknown", Entry{Reason: AppsUnreachable, Severity: SeverityInfo,
		What:   "No object of the management cluster has the address of {name}, so edges leave the name to other DNS servers.",
		Effect: "If VMs do not reach its address on port 443, the console and ingress operators of the hosted cluster stay degraded.",
		Fix:    "If so, create Service {service}, which oooi plan prints. Or set annotation apps-address."})
	PassthroughIneffective = declare("PassthroughIneffective", Entry{Reason: LoadBalancersUnreachable, Severity: SeverityInfo,
		What:   "spec.platform.kubevirt.baseDomainPassthrough of the HostedCluster is true, but it has no effect with {field}.",
		Effect: "The ingress of the management cluster does not forward clients outside of the VLAN to the hosted cluster. VMs are not affected.",
		Fix:    "If such clients need the console, create the cluster without {field}. HyperShift's Route has the default domain, and the node port of the ingress."})
	PassthroughRouteRefused = declare("PassthroughRouteRefused", Entry{Reason: LoadBalancersUnreachable, Severity: SeverityInfo,
		What:   "No router of the management cluster admits Route {route}, which HyperShift creates for base domain passthrough.",
		Effect: "Clients outside of the VLAN do not reach the ingress of the hosted cluster, such as its console. VMs are not affected.",
		Fix:    "If such clients need the console, read the status of the Route. If the router admits no wildcards, set spec.routeAdmission.wildcardPolicy of the management cluster's IngressController to WildcardsAllowed."})
	EndpointAtIPv6 = declare("EndpointAtIPv6", Entry{Reason: IPv6NotServed, Severity: SeverityError,
		What: "{service} is published at an IPv6 address, which edges do not serve.",
		Fix:  "Publish it at a host name or an IPv4 address. Nodes use only the first address of a load balancer."})
	IPv6Networks = declare("IPv6Networks", Entry{Reason: IPv6NotServed, Severity: SeverityInfo,
		What:   "The cluster has IPv6 networks ({networks}), but edges provide IPv4 only.",
		Effect: "VMs take IPv6 addresses and routes from a router on their network, if it has one. IPv4 traffic is unaffected.",
		Fix:    "If a router there advertises IPv6, remove the DNS server from its advertisements: that server does not know the names that edges serve."})
	RouteHostIsAddress = declare("RouteHostIsAddress", Entry{Reason: PublishingUnsupported, Severity: SeverityWarning,
		What:   "Route {route} has the address {address} as its host.",
		Effect: "Edges do not serve it, because they distinguish Routes by their host name.",
		Fix:    "Set a DNS name as its host."})
	RouteServiceMissing = declare("RouteServiceMissing", Entry{Reason: PublishingUnsupported, Severity: SeverityInfo,
		What: "Route {route} is not served, because {object} does not exist.",
		Fix:  "Create it if VMs need the Route, or delete the Route."})
	RoutePortMissing = declare("RoutePortMissing", Entry{Reason: PublishingUnsupported, Severity: SeverityInfo,
		What: "Route {route} is not served, because {object} has no port {port}, which the Route names.",
		Fix:  "Correct spec.port of the Route if VMs need it, or delete the Route."})
	RouteAlternatesUnused = declare("RouteAlternatesUnused", Entry{Reason: PublishingUnsupported, Severity: SeverityInfo,
		What: "Route {route} has several Services. Edges send all its connections to {object}, and none to {services}.",
		Fix:  "Remove the others from spec.alternateBackends, or publish them with annotation publish."})
	IgnitionRouteNotAdmitted = declare("IgnitionRouteNotAdmitted", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "No router has admitted {object}.",
		Effect: "HyperShift creates Ignition's certificate only after that, so new nodes cannot boot.",
		Fix:    "Check which routers select the Route. VMs do not use the router."})
	IgnitionHostDiffers = declare("IgnitionHostDiffers", Entry{Reason: WaitingForEndpoint, Severity: SeverityWaiting,
		What:   "The first router in the status of {object} admitted it with host {host}. VMs connect to {otherHost}.",
		Effect: "HyperShift creates Ignition's certificate for {host}, so new nodes cannot boot.",
		Fix:    "Let a router that does not override the host admit the Route first. VMs do not use the router."})
	TooManyPublished = declare("TooManyPublished", Entry{Reason: PublishingUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "Services with annotation publish request more than {most} endpoints.",
		Effect: "Service {service} is not fully published, nor are {count} newer Services.",
		Fix:    "Remove annotation publish from some of them."})
	PublishedIsIngress = declare("PublishedIsIngress", Entry{Reason: PublishingUnsupported, Severity: SeverityWarning, Mistake: true,
		What: "Service {service} is not published at {at}, because it is the ingress of the hosted cluster, which is served as *.apps.",
		Fix:  "Remove annotation publish from it."})
	PublishedByHostedCluster = declare("PublishedByHostedCluster", Entry{Reason: PublishingUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "Service {service} is not published, because it is a copy of Service {hostedService} of the hosted cluster.",
		Effect: "Users of the hosted cluster cannot publish endpoints to its nodes.",
		Fix:    "Remove annotation publish from both Services. Publish another Service of the control plane namespace."})
	PublishedHasNoPort = declare("PublishedHasNoPort", Entry{Reason: PublishingUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "Service {service} is not published at {at}.",
		Effect: "It has no TCP port, or it is of type ExternalName.",
		Fix:    "Publish a Service with a TCP port."})
	StrategyUnsupported = declare("StrategyUnsupported", Entry{Reason: PublishingUnsupported, Severity: SeverityError,
		What:   "On KubeVirt, HyperShift does not publish {service} with strategy {strategy} ({field}).",
		Effect: "The strategy cannot be changed later.",
		Fix:    "Create the cluster with one of: {strategies}."})
	NodePortAddressMissing = declare("NodePortAddressMissing", Entry{Reason: PublishingUnsupported, Severity: SeverityError,
		What:   "{service} is published with a NodePort without an address ({field}).",
		Effect: "VMs have no address to connect to.",
		Fix:    "Create the cluster with an address."})
	EndpointPortInvalid = declare("EndpointPortInvalid", Entry{Reason: PublishingUnsupported, Severity: SeverityError, Subject: "endpoint",
		What:   "{subject} has a port that is not from 1 to 65535.",
		Effect: "It is not served.",
		Fix:    "Correct the port in the object that publishes it."})
	NodePortAddressIsLocalhost = declare("NodePortAddressIsLocalhost", Entry{Reason: PublishingUnsupported, Severity: SeverityError,
		What:   "{service} is published at localhost ({field}).",
		Effect: "Each VM would connect to itself.",
		Fix:    "Create the cluster with an address or a DNS name."})
	PublishedHostInvalid = declare("PublishedHostInvalid", Entry{Reason: PublishingUnsupported, Severity: SeverityError,
		What: "{service} is published at an invalid host name ({field}).", Effect: "The host name cannot be changed later.",
		Fix: "Create the cluster with a DNS name such as blue.example.com."})
	ServiceNotPublished = declare("ServiceNotPublished", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "spec.services of the HostedCluster lacks {service}, and cannot be changed later.",
		Effect: "HyperShift creates no complete control plane, so no node becomes Ready.",
		Fix:    "Create the cluster with {service} in spec.services."})
	PublishedHostRepeated = declare("PublishedHostRepeated", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "{services} are published at one host name, {host}.",
		Effect: "HyperShift refuses such a HostedCluster, so it creates neither a control plane nor nodes.",
		Fix:    "Create the cluster with a host name for each."})
	RouteHostCapital = declare("RouteHostCapital", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "{service} is published at {host}, which has capital letters.",
		Effect: "OpenShift refuses Routes with such a host, so HyperShift does not publish it. Without OAuth, HyperShift creates no API server either.",
		Fix:    "Create the cluster with a host name in lower-case letters."})
	NodePortRepeated = declare("NodePortRepeated", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "{services} are published at one node port, {port}.",
		Effect: "Kubernetes refuses the second Service, so HyperShift does not publish it.",
		Fix:    "Create the cluster with a port for each, or without ports."})
	NodePortOutOfRange = declare("NodePortOutOfRange", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "{service} is published at node port {port}, which is not from 30000 to 32767.",
		Effect: "Unless the management cluster has another range, Kubernetes refuses the Service, so HyperShift does not publish it.",
		Fix:    "Create the cluster with another port, or without one."})
	NodePortNotInRange = declare("NodePortNotInRange", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "{service} is published at node port {port}, which is not in serviceNodePortRange {range} of the hosted cluster.",
		Effect: "HyperShift 0.1.74 and later refuse such a HostedCluster, so they create neither a control plane nor nodes.",
		Fix:    "Correct spec.configuration.network.serviceNodePortRange, or create the cluster with another port."})
	NodePortRangeInvalid = declare("NodePortRangeInvalid", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "serviceNodePortRange {range} of the hosted cluster is not two ports such as 30000-32767.",
		Effect: "HyperShift 0.1.74 and later refuse such a HostedCluster, so they create neither a control plane nor nodes.",
		Fix:    "Correct spec.configuration.network.serviceNodePortRange."})
	CertificateNamesRefused = declare("CertificateNamesRefused", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "spec.configuration.apiServer.servingCerts has {names}. HyperShift's own certificate of the API server has the same name.",
		Effect: "HyperShift refuses such a HostedCluster, at the latest when its certificate exists. It then creates and changes nothing.",
		Fix:    "Remove the name. For a certificate of yours, give the API server another name (spec.kubeAPIServerDNSName)."})
	ControlPlaneNameTooLong = declare("ControlPlaneNameTooLong", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "The control plane would be in namespace {namespace}. A namespace has at most 63 characters.",
		Effect: "HyperShift creates neither a control plane nor nodes.",
		Fix:    "Create the HostedCluster with a shorter name, or in a namespace with a shorter name."})
	InfraIDTooLong = declare("InfraIDTooLong", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "spec.infraID of the HostedCluster has more than 63 characters, and cannot be changed later.",
		Effect: "HyperShift sets it as a label of MachineDeployments and MachineSets. Kubernetes refuses that label, so no VM is created.",
		Fix:    "Create the cluster with a shorter infraID, or without one."})
	NodePoolNameTooLong = declare("NodePoolNameTooLong", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "The name of NodePool {nodePools} has more than 63 characters.",
		Effect: "HyperShift sets it as a label of VMs. Kubernetes refuses that label, so no VM is created.",
		Fix:    "Create a NodePool with a shorter name."})
	NodePoolLabelInvalid = declare("NodePoolLabelInvalid", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "NodePool {nodePools} has {label} in spec.nodeLabels. With HyperShift's prefix managed.hypershift.openshift.io, this is not a valid label.",
		Effect: "HyperShift sets it on objects of Cluster API. Kubernetes refuses these objects, so no VM is created.",
		Fix:    "Correct the label. Its value has at most 63 characters, and a key without a domain such as example.com/ at most 31."})
	NodePoolLabelStopsUpdates = declare("NodePoolLabelStopsUpdates", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "NodePool {nodePools} has {label} in spec.nodeLabels. With HyperShift's prefix managed.hypershift.openshift.io, this is not a valid label.",
		Effect: "Nodes do not get the label. After it has created the first nodes, HyperShift neither updates the NodePool nor changes its number of replicas.",
		Fix:    "Correct the label. Its value has at most 63 characters, and a key without a domain such as example.com/ at most 31."})
	NodePoolNameHasDot = declare("NodePoolNameHasDot", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "The name of NodePool {nodePools} has a dot.",
		Effect: "KubeVirt cuts the host name of a VM at its first dot. In OpenShift 4.16 and later, all these VMs get the same host name, and none becomes a node.",
		Fix:    "Create a NodePool with a name without dots."})
	RegistryUnreadable = declare("RegistryUnreadable", Entry{Reason: NodesNotCreated, Severity: SeverityWarning, Mistake: true,
		What:   "{field} of the HostedCluster has {hosts}. Nodes cannot read that as a registry or a repository.",
		Effect: "HyperShift cannot create the configuration of nodes from it, or nodes cannot pull images. No new node becomes Ready.",
		Fix:    "Remove a scheme, a tag, a slash at the end, and capital letters of a path. In containerRuntimeSearchRegistries, also remove paths and wildcards. For plain HTTP, set registrySources.insecureRegistries."})
	APIRouteHostMissing = declare("APIRouteHostMissing", Entry{Reason: PublishingUnsupported, Severity: SeverityError,
		What: "The API server is published with a Route without a host name ({field}), which HyperShift refuses.",
		Fix:  "Create the cluster with a host name. If its command line has no flag for it, edit the output of --render."})
)
