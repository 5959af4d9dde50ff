// This file declares the problems of one topic: NodePools, and the NetworkAttachmentDefinitions that they name.

package problem

var (
	NotKubeVirt = declare("NotKubeVirt", Entry{Reason: PlatformUnsupported, Severity: SeverityError,
		What:   "The platform of the hosted cluster is {platform}.",
		Effect: "Only VMs of KubeVirt hosted clusters can be served.",
		Fix:    "Remove annotation network."})
	VMsOnOtherCluster = declare("VMsOnOtherCluster", Entry{Reason: ExternalInfrastructure, Severity: SeverityError,
		What:   "spec.platform.kubevirt.credentials places the VMs on another cluster.",
		Effect: "Edges cannot attach to their networks.",
		Fix:    "Provide DHCP, DNS and a proxy on that cluster, and remove annotation network. If the kubeconfig is for this cluster, set annotation infrastructure to here."})
	VMsInOtherNamespace = declare("VMsInOtherNamespace", Entry{Reason: ExternalInfrastructure, Severity: SeverityError,
		What:   "spec.platform.kubevirt.credentials.infraNamespace is {namespace}, not the control plane namespace {controlPlane}.",
		Effect: "Edges cannot find the VMs there.",
		Fix:    "Create the HostedCluster again with infraNamespace {controlPlane}: the field cannot change."})
	NodePoolMissing = declare("NodePoolMissing", Entry{Reason: WaitingForNetwork, Severity: SeverityWaiting,
		What:   "The cluster has no NodePool yet.",
		Effect: "There is no network to serve."})
	NodePoolMisnamed = declare("NodePoolMisnamed", Entry{Reason: NetworkMissing, Severity: SeverityError, Mistake: true, Subject: "object",
		What:   "{subject} names HostedCluster {named}, which is not in the input.",
		Effect: "The plan does not include its VMs.",
		Fix:    "Did you mean {meant}? Correct spec.clusterName or metadata.namespace, or add the HostedCluster with another -f."})
	NodePoolStray = declare("NodePoolStray", Entry{Reason: NetworkMissing, Severity: SeverityWarning, Mistake: true, Subject: "object",
		What:   "{subject} names HostedCluster {named}, which is not in the input.",
		Effect: "No plan includes its VMs.",
		Fix:    "Correct spec.clusterName or metadata.namespace, or add the HostedCluster with another -f."})
	FilesDisagree = declare("FilesDisagree", Entry{Reason: FilesDiffer, Severity: SeverityWarning, Mistake: true, Subject: "object",
		What:   "{subject} is also in {file}, and differs.",
		Effect: "oooi uses only the version in {file}.",
		Fix:    "Keep one of the two. If they are for different management clusters, run oooi once for each of these."})
	PodNetworkAttached = declare("PodNetworkAttached", Entry{Reason: NetworkMissing, Severity: SeverityWarning, Mistake: true,
		What:   "VMs of NodePool {nodePools} boot from the pod network, because attachDefaultNetwork is not false.",
		Effect: "Network {network} is not served: it has no CIDR of its own, and machineNetwork applies only to a network that VMs boot from.",
		Fix:    "Set spec.platform.kubevirt.attachDefaultNetwork of NodePool {nodePools} to false. To serve {network} as an additional network, set {where} instead."})
	NetworkNotNamed = declare("NetworkNotNamed", Entry{Reason: NetworkMissing, Severity: SeverityError,
		What: "No NodePool of the cluster names network {network}.",
		Fix:  "Name it in spec.platform.kubevirt.additionalNetworks of a NodePool, or set annotation network to auto."})
	NetworkNotSelected = declare("NetworkNotSelected", Entry{Reason: NetworkMissing, Severity: SeverityError,
		What:   "VMs of NodePool {nodePools} boot from network {network}, but annotation network selects only {selected}.",
		Effect: "New nodes of the NodePool cannot boot.",
		Fix:    "Set annotation network to auto, or name {selected} first in spec.platform.kubevirt.additionalNetworks of the NodePool."})
	NotSelectedInUse = declare("NotSelectedInUse", Entry{Reason: NetworkMissing, Severity: SeverityWarning, Mistake: true,
		What:   "VMs use network {network}, but annotation network does not select it.",
		Effect: "The network and its edges remain as they are until no VM uses it.",
		Fix:    "Delete or replace the VMs that use it. To keep the network, set annotation network to auto."})
	VMNetworkUnserved = declare("VMNetworkUnserved", Entry{Reason: NetworkMissing, Severity: SeverityWarning,
		What:   "VMs boot from {nads}, which no NodePool names: {vms}.",
		Effect: "Edges serve no address there, so the nodes of these VMs may not become Ready.",
		Fix:    "Name the network in spec.platform.kubevirt.additionalNetworks of the NodePool. oooi does not see networks that annotation kubevirt-vm-jsonpatch adds."})
	VMNetworksPatched = declare("VMNetworksPatched", Entry{Reason: NetworkMissing, Severity: SeverityInfo,
		What:   "Annotation {annotation} changes the networks of VMs of NodePool {nodePools}.",
		Effect: "If VMs then boot from a network that no NodePool names, edges serve no address there.",
		Fix:    "Name the networks in spec.platform.kubevirt.additionalNetworks of the NodePool instead."})
	VMPlacementPatched = declare("VMPlacementPatched", Entry{Reason: NetworkMissing, Severity: SeverityInfo,
		What:   "Annotation {annotation} changes the node affinity of VMs of NodePool {nodePools}, which oooi does not read.",
		Effect: "Edges may run on nodes where no VM runs, and which may lack the network.",
		Fix:    "Set annotation {key} to a label of the nodes where the VMs run."})
	NoNetworkNamed = declare("NoNetworkNamed", Entry{Reason: NetworkMissing, Severity: SeverityError,
		What:   "No NodePool of the cluster names a network.",
		Effect: "Edges serve only networks that NodePools name. The pod network needs none.",
		Fix:    "Create NodePools with --attach-default-network=false and --additional-network, or remove annotation network."})
	NetworksTooMany = declare("NetworksTooMany", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What:   "The NodePools of the cluster name more than {most} networks.",
		Effect: "No change of the cluster is applied, and none of its new networks is served.",
		Fix:    "Name fewer networks in spec.platform.kubevirt.additionalNetworks of the NodePools."})
	NodePoolsTooMany = declare("NodePoolsTooMany", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What:   "The cluster has more than {most} NodePools. A NodePool with several networks counts once for each network.",
		Effect: "No change of the cluster is applied, and none of its new networks is served.",
		Fix:    "Use fewer NodePools, or name fewer networks in each."})
	NADNameInvalid = declare("NADNameInvalid", Entry{Reason: NetworkMissing, Severity: SeverityError, StopsVMs: true,
		What: "NodePool {nodePools} names network \"{nad}\", which has an invalid {part}.",
		Fix:  "Name a NetworkAttachmentDefinition as [namespace]/[name], such as {example}. Use lower case letters, digits and dashes."})
	NADNotFound = declare("NADNotFound", Entry{Reason: NetworkMissing, Severity: SeverityError, StopsVMs: true,
		What: "NetworkAttachmentDefinition {nad} does not exist, but NodePool {nodePools} names it.",
		Fix:  "Create it with a supported type: {types}."})
	NADNotGiven = declare("NADNotGiven", Entry{Reason: WaitingForNetwork, Severity: SeverityWaiting,
		What:   "NetworkAttachmentDefinition {nad} is not in the input.",
		Effect: "Its type, VLAN and MTU are not known.",
		Fix:    "Add it with another -f."})
	NADNotCreated = declare("NADNotCreated", Entry{Reason: WaitingForNetwork, Severity: SeverityWaiting,
		What:   "NetworkAttachmentDefinition {nad} is not in the input. The input has {owner}, which creates it.",
		Effect: "Its type, VLAN and MTU are not known.",
		Fix:    "Create {owner} first. Then add the NetworkAttachmentDefinition of the management cluster with another -f."})
	NADMisnamed = declare("NADMisnamed", Entry{Reason: NetworkMissing, Severity: SeverityError, Mistake: true,
		What: "NodePool {nodePools} names network {nad}, which is not in the input.",
		Fix:  "Did you mean {meant}? Otherwise, add the NetworkAttachmentDefinition with another -f."})
	NADNotAmongGiven = declare("NADNotAmongGiven", Entry{Reason: NetworkMissing, Severity: SeverityError, Mistake: true,
		What: "NodePool {nodePools} names network {nad}, which is not in the input. In its namespace, the input has {given}.",
		Fix:  "Correct spec.platform.kubevirt.additionalNetworks, or add the NetworkAttachmentDefinition with another -f."})
	NADBesideCluster = declare("NADBesideCluster", Entry{Reason: NetworkMissing, Severity: SeverityError, Mistake: true,
		What: "NodePool {nodePools} names network {nad}, which is not in the input. The input has {given}.",
		Fix:  "Set metadata.namespace of {given} to {namespace}, or add the NetworkAttachmentDefinition with another -f."})
	NADConfigInvalid = declare("NADConfigInvalid", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What: "The spec.config of NetworkAttachmentDefinition {nad} is not a CNI configuration ({error}).",
		Fix:  "Correct spec.config."})
	NADConfigMissing = declare("NADConfigMissing", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What:   "NetworkAttachmentDefinition {nad} has no spec.config.",
		Effect: "Multus would look for a file on each node, which edges cannot read.",
		Fix:    "Set spec.config."})
	NADNameHasDot = declare("NADNameHasDot", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "NetworkAttachmentDefinition {nad} has a dot in its name.",
		Effect: "HyperShift uses the name for the interface of VMs. KubeVirt refuses such a name, so no VM is created.",
		Fix:    "Create it with a name without dots."})
	NADVersionTooOld = declare("NADVersionTooOld", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "NetworkAttachmentDefinition {nad} has no cniVersion, or one before 0.3.0.",
		Effect: "In these versions, a CNI plugin fails if it assigns no address, so no VM starts.",
		Fix:    "Set \"cniVersion\": \"0.3.1\" in spec.config."})
	NADBridgeOfOVS = declare("NADBridgeOfOVS", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "NetworkAttachmentDefinition {nad} names {device}, which is a bridge of OVN-Kubernetes, not of Linux.",
		Effect: "The plugin bridge fails, so neither VMs nor edges start.",
		Fix:    "Create a Linux bridge on the nodes, and name it. Or use the topology localnet of OVN-Kubernetes."})
	NADVLANMisspelled = declare("NADVLANMisspelled", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What:   "NetworkAttachmentDefinition {nad} sets {setting}, which the plugin {type} ignores.",
		Effect: "VMs would be on the network without a VLAN tag.",
		Fix:    "Set {values} instead."})
	NADWithoutVLANKey = declare("NADWithoutVLANKey", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} sets {setting}, which the plugin {type} ignores.",
		Effect: "VMs are on the network of its master, without a further VLAN tag.",
		Fix:    "Name a VLAN device of the nodes as master, and remove {setting}."})
	NADTrunkWithoutVLAN = declare("NADTrunkWithoutVLAN", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} sets vlanTrunk, but no vlan.",
		Effect: "VMs send frames without a tag. The bridge puts these on VLAN 1, mostly its untagged network, and not on a VLAN of vlanTrunk.",
		Fix:    "Set \"vlan\" to the VLAN of the network in spec.config, unless you mean the untagged network."})
	NADKeepsUntagged = declare("NADKeepsUntagged", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} sets vlan {vlan} and preserveDefaultVlan.",
		Effect: "VMs also receive broadcasts of the bridge's untagged network, such as IPv6 router advertisements.",
		Fix:    "Set \"preserveDefaultVlan\": false in its spec.config."})
	OVNLayer2IgnoresVLAN = declare("OVNLayer2IgnoresVLAN", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What:   "NetworkAttachmentDefinition {nad} sets {setting}, which OVN-Kubernetes ignores with topology layer2.",
		Effect: "VMs would be on a network inside the management cluster, which reaches no VLAN and no router.",
		Fix:    "Set \"topology\": \"localnet\" in spec.config, or remove {setting}."})
	NADResourceMissing = declare("NADResourceMissing", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "No node offers resource {resource}, which NetworkAttachmentDefinition {nad} requests.",
		Effect: "VMs and edges on the network stay Pending.",
		Fix:    "Create the device on the nodes, or correct annotation {annotation}."})
	VMsWithoutResource = declare("VMsWithoutResource", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning, PreventsNodes: true,
		What:   "No node that the nodeSelector of NodePool {nodePools} allows offers resource {resource}, which NetworkAttachmentDefinition {nad} requests.",
		Effect: "VMs of the NodePool stay Pending.",
		Fix:    "Change spec.platform.kubevirt.nodeSelector, or create the device on these nodes."})
	EdgesWithoutResource = declare("EdgesWithoutResource", Entry{Reason: EdgesCannotStart, Severity: SeverityWarning,
		What:   "No node that annotation {key} allows offers resource {resource}, which network {network} needs.",
		Effect: "Its edges stay Pending.",
		Fix:    "Change annotation {key}, or create the device on these nodes."})
	NADIsMacvlan = declare("NADIsMacvlan", Entry{Reason: FramesDropped, Severity: SeverityError,
		What:   "NetworkAttachmentDefinition {nad} has type macvlan. HyperShift connects VMs through a bridge, and a macvlan delivers no frames to a bridge behind it.",
		Effect: "VMs send, but receive no answer, so they get no address.",
		Fix:    "Use type bridge, cnv-bridge or OVN localnet."})
	NADChecksMACs = declare("NADChecksMACs", Entry{Reason: FramesDropped, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} of type sriov does not set spoofchk off and trust on.",
		Effect: "HyperShift connects VMs through a bridge, so their MAC is not the virtual function's. The device may drop their frames. Then nodes that boot from the network do not become Ready.",
		Fix:    "Set \"spoofchk\": \"off\" and \"trust\": \"on\" in its spec.config. Or use type bridge, cnv-bridge or OVN localnet."})
	NADBridgeOnNoNode = declare("NADBridgeOnNoNode", Entry{Reason: FramesDropped, Severity: SeverityWarning,
		What:   "No node has the Linux bridge {device} that NetworkAttachmentDefinition {nad} names, by the resources of the bridge marker.",
		Effect: "The plugin {type} creates a bridge without an uplink, so VMs and edges of different nodes do not reach each other.",
		Fix:    "Create the bridge on the nodes, such as with a NodeNetworkConfigurationPolicy, or correct its name in spec.config."})
	NADBridgeNotSelected = declare("NADBridgeNotSelected", Entry{Reason: FramesDropped, Severity: SeverityWarning,
		What:   "No node that {where} allows has the Linux bridge {device} that NetworkAttachmentDefinition {nad} names, by the resources of the bridge marker.",
		Effect: "The plugin creates a bridge without an uplink there. VMs and edges do not reach each other, so nodes do not become Ready.",
		Fix:    "Change {where}, or create the bridge on these nodes."})
	NADBridgeOnSomeNodes = declare("NADBridgeOnSomeNodes", Entry{Reason: FramesDropped, Severity: SeverityWarning,
		What:   "Nodes {nodes} lack the Linux bridge {device} that NetworkAttachmentDefinition {nad} names, by the resources of the bridge marker. VMs or edges may be scheduled there.",
		Effect: "The plugin creates a bridge without an uplink there, so VMs and edges of different nodes do not reach each other.",
		Fix:    "Set annotation {annotation} on the NetworkAttachmentDefinition to {resource}. Pods of the network then run only on nodes with the bridge."})
	LocalnetUnmapped = declare("LocalnetUnmapped", Entry{Reason: FramesDropped, Severity: SeverityWarning,
		What:   "No bridge mapping of OVN-Kubernetes on {where} names {device}, the physical network of NetworkAttachmentDefinition {nad}.",
		Effect: "VMs and edges there reach no other node, so nodes that boot from the network may not become Ready.",
		Fix:    "Map {device} to a bridge on all nodes of VMs and edges, such as with a NodeNetworkConfigurationPolicy. Or set physicalNetworkName of the network to a mapped name: {values}."})
	NADOfOtherBridge = declare("NADOfOtherBridge", Entry{Reason: FramesDropped, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} names bridge {device}, but requests the resource of bridge {other}.",
		Effect: "VMs and edges run on nodes with {other}. If such a node lacks {device}, they reach no other node.",
		Fix:    "Set annotation {annotation} to {resource}, or correct the bridge in its spec.config."})
	NADTrunkHasVLAN = declare("NADTrunkHasVLAN", Entry{Reason: FramesDropped, Severity: SeverityError,
		What:   "NetworkAttachmentDefinition {nad} sets vlan {vlan}, and has the same VLAN in vlanTrunk.",
		Effect: "Linux then drops frames without a tag from VMs, so they get no address.",
		Fix:    "Leave {vlan} out of vlanTrunk in its spec.config."})
	NADTypeUnsupported = declare("NADTypeUnsupported", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What: "NetworkAttachmentDefinition {nad} has the unsupported type \"{type}\".",
		Fix:  "Use one of: {types}."})
	NADValueUnsupported = declare("NADValueUnsupported", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What: "NetworkAttachmentDefinition {nad} has \"{setting}\": {value}, which edges cannot use.",
		Fix:  "Change it in spec.config. Allowed: {values}."})
	NADHasIPAM = declare("NADHasIPAM", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What:   "NetworkAttachmentDefinition {nad} assigns addresses itself (ipam {ipam}).",
		Effect: "KubeVirt would answer the DHCP requests of VMs.",
		Fix:    "If nodes should boot from another network, name that first in spec.platform.kubevirt.additionalNetworks. Otherwise, set \"ipam\": {} in its spec.config."})
	NADBridgeNotNamed = declare("NADBridgeNotNamed", Entry{Reason: FramesDropped, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} names no bridge, so the plugin uses {device}. It creates this bridge on nodes that lack it.",
		Effect: "Such a bridge has no uplink. VMs reach edges and other VMs only on their own node of the management cluster, so nodes may not become Ready.",
		Fix:    "Set \"bridge\" in its spec.config to a bridge of the nodes that is connected to the VLAN."})
	NADRefusedByPlugin = declare("NADRefusedByPlugin", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "The plugin {type} refuses NetworkAttachmentDefinition {nad}: {why}.",
		Effect: "No VM starts on the network.",
		Fix:    "Correct its spec.config."})
	NADPluginUnknown = declare("NADPluginUnknown", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} names plugin \"{type}\", which oooi does not know.",
		Effect: "On nodes without this plugin, no VM starts. Edges leave it out.",
		Fix:    "Check the name in its spec.config. oooi knows {types}."})
	NADAssignsAddresses = declare("NADAssignsAddresses", Entry{Reason: NetworkUnsupported, Severity: SeverityInfo,
		What:   "NetworkAttachmentDefinition {nad} assigns addresses itself.",
		Effect: "VMs do not boot from its network, so edges do not serve it. KubeVirt's DHCP there gives VMs the DNS servers of the management cluster and, if the network has one, its default route."})
	NADPortsIsolated = declare("NADPortsIsolated", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} has portIsolation.",
		Effect: "VMs on one node of the management cluster cannot reach each other. Edges are not isolated, so VMs reach them.",
		Fix:    "Remove portIsolation from its spec.config."})
	NADAnnouncesEarly = declare("NADAnnouncesEarly", Entry{Reason: NetworkUnsupported, Severity: SeverityInfo,
		What:   "NetworkAttachmentDefinition {nad} does not set disableContainerInterface.",
		Effect: "While a VM migrates live, the new pod may announce the VM's MAC too early. Then the VM can lose traffic for half a minute.",
		Fix:    "Set \"disableContainerInterface\": true in its spec.config, with KubeVirt 1.2 or later."})
	NodesOnSeparateNetworks = declare("NodesOnSeparateNetworks", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning,
		What:   "Nodes of NodePools {nodePools} boot from different networks: {networks}.",
		Effect: "Nodes of one network do not reach those of another. Pods, Services, oc logs, oc exec and webhooks fail between them.",
		Fix:    "Use one network for all NodePools. If none is the pod network, you can instead set annotation gateway on each network to a router that reaches the others."})
	NodesBehindGateways = declare("NodesBehindGateways", Entry{Reason: NetworkUnsupported, Severity: SeverityInfo,
		What:   "Nodes of NodePools {nodePools} boot from different networks: {networks}.",
		Effect: "Nodes of one network reach those of another only through the gateways.",
		Fix:    "Let the gateways route between the networks without address translation. Nodes need at least UDP port 9880 and TCP port 10250."})
	MacvlanModeUnsupported = declare("MacvlanModeUnsupported", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What:   "NetworkAttachmentDefinition {nad} has the macvlan mode {mode}.",
		Effect: "VMs and edges on one node cannot reach each other.",
		Fix:    "Set \"mode\": \"bridge\" in its spec.config."})
	OVNPrimaryNetwork = declare("OVNPrimaryNetwork", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What: "NetworkAttachmentDefinition {nad} is the primary network of its namespace, which all pods there join.",
		Fix:  "Use a network with the role secondary."})
	OVNHasSubnets = declare("OVNHasSubnets", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What: "NetworkAttachmentDefinition {nad} has subnets ({subnets}), so OVN-Kubernetes assigns addresses and answers DHCP.",
		Fix:  "Remove subnets from its spec.config."})
	OVNOwnerHasSubnets = declare("OVNOwnerHasSubnets", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What: "NetworkAttachmentDefinition {nad} has subnets ({subnets}), so OVN-Kubernetes assigns addresses and answers DHCP.",
		Fix:  "Replace {owner} with one without subnets (ipam.mode: Disabled)."})
	OVNNetworkContradicted = declare("OVNNetworkContradicted", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "NetworkAttachmentDefinitions {nad} and {otherNAD} define network {name} of OVN-Kubernetes with different values of {setting}.",
		Effect: "OVN-Kubernetes accepts one of them. VMs and edges do not start on the network of the other.",
		Fix:    "Set another name in spec.config of {nad}. With topology localnet, also set physicalNetworkName to the name in the bridge mappings of OVN-Kubernetes."})
	OVNTopologyUnsupported = declare("OVNTopologyUnsupported", Entry{Reason: NetworkUnsupported, Severity: SeverityError,
		What: "NetworkAttachmentDefinition {nad} has topology \"{topology}\", which VMs cannot share with an edge.",
		Fix:  "Use topology localnet or layer2."})
	SRIOVResourceMissing = declare("SRIOVResourceMissing", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "NetworkAttachmentDefinition {nad} of type sriov has no annotation {annotation}.",
		Effect: "Edges cannot get a virtual function.",
		Fix:    "Set the annotation to the resource, or use type bridge, cnv-bridge or OVN localnet."})
	SRIOVResourceExhausted = declare("SRIOVResourceExhausted", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "No node has a virtual function {resource}, which NetworkAttachmentDefinition {nad} needs.",
		Effect: "Each edge needs one, as each VM does.",
		Fix:    "Add virtual functions with an SriovNetworkNodePolicy, or use type bridge, cnv-bridge or OVN localnet."})
	SRIOVBoundToVFIO = declare("SRIOVBoundToVFIO", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true,
		What:   "SriovNetworkNodePolicy {policy} binds virtual functions {resource}, which NetworkAttachmentDefinition {nad} needs, to vfio-pci.",
		Effect: "With such a function, edges get no interface, and HyperShift's VMs do not start.",
		Fix:    "Set spec.deviceType of the policy to netdevice."})
	ClientNetworksOnOVN = declare("ClientNetworksOnOVN", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} has no effect on network {network}, because OVN-Kubernetes does not add the routes that edges need.",
		Effect: "Hosts beyond the network cannot use the service VIP, unless the gateway translates their addresses.",
		Fix:    "Let gateway {gateway} masquerade these hosts, and remove annotation {key}. Or use a NetworkAttachmentDefinition of type bridge for the network."})
	NADListedTwice = declare("NADListedTwice", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "NodePool {nodePools} names network {nad} more than once in spec.platform.kubevirt.additionalNetworks.",
		Effect: "Each VM has several interfaces on the network, with an address and routes on each. Nodes may answer through the wrong one.",
		Fix:    "Name the network once."})
	NADListedTwiceOVN = declare("NADListedTwiceOVN", Entry{Reason: NetworkUnsupported, Severity: SeverityError, StopsVMs: true, Mistake: true,
		What:   "NodePool {nodePools} names network {nad} more than once in spec.platform.kubevirt.additionalNetworks.",
		Effect: "OVN-Kubernetes starts no pod that has one of its networks twice, so no VM starts.",
		Fix:    "Name the network once."})
	VMsHaveOtherRoute = declare("VMsHaveOtherRoute", Entry{Reason: NetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "VMs of NodePool {nodePools} have a default route already, but VMs of other NodePools boot from network {network}.",
		Effect: "VMs of NodePool {nodePools} get a second default route and DNS server there.",
		Fix:    "Set spec.platform.kubevirt.attachDefaultNetwork of NodePool {nodePools} to false, and name the network first. Or use a separate network for them."})
	NADNamespaceIsolated = declare("NADNamespaceIsolated", Entry{Reason: NADNamespaceNotAllowed, Severity: SeverityError, StopsVMs: true,
		What:   "VMs run in namespace {namespace}, where Multus does not allow NetworkAttachmentDefinition {nad}. It allows the namespaces {allowed}.",
		Effect: "VMs cannot start.",
		Fix:    "Create a NetworkAttachmentDefinition in namespace {namespace} or default, and name it in NodePool {nodePools}."})
	NADNamespaceNotGranted = declare("NADNamespaceNotGranted", Entry{Reason: NADNamespaceNotAllowed, Severity: SeverityError,
		What:   "NetworkAttachmentDefinition {nad} does not allow namespace {namespace}, where the VMs run.",
		Effect: "No edge joins its network, which may belong to others.",
		Fix:    "In NodePool {nodePools}, name a NetworkAttachmentDefinition in namespace {namespace} or default. If Multus does not isolate namespaces, you can instead add {namespace} to annotation {annotation} on {nad}. On OpenShift, Multus isolates them."})
	NADNamespaceDiffers = declare("NADNamespaceDiffers", Entry{Reason: NADNamespaceNotAllowed, Severity: SeverityWarning,
		What:   "NetworkAttachmentDefinition {nad} is not in namespace {namespace}, where the VMs run, and nothing in the input shows that Multus isolates namespaces.",
		Effect: "The plan assumes that Multus does not isolate them, and that {nad} allows that namespace. On OpenShift, Multus isolates namespaces, so VMs cannot start.",
		Fix:    "Create a NetworkAttachmentDefinition in namespace {namespace} or default, and name it in NodePool {nodePools}. Or add the management cluster's nodes to the input."})
)
