// This file declares the problems of one topic: annotations whose values cannot be used, and keys that have no effect.

package problem

var (
	AnnotationUnreadable = declare("AnnotationUnreadable", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} has the invalid value \"{value}\".",
		Fix:  "Set {want}."})
	AnnotationNotString = declare("AnnotationNotString", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What:   "Annotation {key} of {subject} is {value} without quotes, which is not a string in YAML.",
		Effect: "The API server refuses the object.",
		Fix:    "Put the value in quotes."})
	CIDRHasHostBits = declare("CIDRHasHostBits", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} is {value}, which is the address of a host in {want}.",
		Fix:  "Set {want}."})
	RangeReversed = declare("RangeReversed", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} has the range {value}, which ends before it begins.",
		Fix:  "Set the lower address first."})
	RangeTooLong = declare("RangeTooLong", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} has the range {value}, which is too long.",
		Fix:  "Set at most {most} addresses."})
	ListTooLong = declare("ListTooLong", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} has {count} entries.",
		Fix:  "Set at most {most}."})
	ListEntryRepeated = declare("ListEntryRepeated", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} contains {value} twice.",
		Fix:  "Remove one of the two entries."})
	HostInManagementCluster = declare("HostInManagementCluster", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} names {value}, which is inside the management cluster.",
		Fix:  "Set a host outside of it. A Service of the control plane namespace is published with annotation publish on the Service."})
	HostInHostedCluster = declare("HostInHostedCluster", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What:   "Annotation {key} of {subject} names {value}, which is a name inside the hosted cluster.",
		Effect: "Clients of the hosted API server send such names as TLS server names.",
		Fix:    "Set another name, such as git.example.com:443."})
	HostIsAddress = declare("HostIsAddress", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} has the address {value} in place of a DNS name.",
		Fix:  "Set a DNS name, such as registry.example.com."})
	HostHasOneLabel = declare("HostHasOneLabel", Entry{Reason: AnnotationInvalid, Severity: SeverityError, Subject: "object",
		What: "Annotation {key} of {subject} has {value}, which is not a full DNS name.",
		Fix:  "Set a DNS name, such as registry.example.com."})
	AnnotationMisplaced = declare("AnnotationMisplaced", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What: "Annotation {key} has no effect on {subject}.",
		Fix:  "Set it on one of: {places}."})
	AnnotationMisspelled = declare("AnnotationMisspelled", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What: "Annotation {key} of {subject} does not exist and has no effect.",
		Fix:  "Did you mean {meant}?"})
	AnnotationNotKnown = declare("AnnotationNotKnown", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What: "Annotation {key} of {subject} does not exist and has no effect.",
		Fix:  "Remove it."})
	AnnotationPrefixWrong = declare("AnnotationPrefixWrong", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What: "{subject} has an annotation {key} with a wrong prefix, so it has no effect.",
		Fix:  "Set {meant}."})
	AnnotationsWithoutEffect = declare("AnnotationsWithoutEffect", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What: "More annotations of {subject} do not exist and have no effect: {count}.",
		Fix:  "Remove them."})
	AnnotationNotPerNodePool = declare("AnnotationNotPerNodePool", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What: "Annotation {key} of {subject} has no effect. Only cidr, gateway and client-networks can name a NodePool.",
		Fix:  "Set annotation {meant} on NodePool {nodePool}."})
	LabelNotAnnotation = declare("LabelNotAnnotation", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What: "Label {key} of {subject} has no effect.",
		Fix:  "Set it as an annotation."})
	PublishedElsewhere = declare("PublishedElsewhere", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What: "Annotation {key} of {subject} has no effect, because {namespace} is not the control plane namespace of a hosted cluster in the input.",
		Fix:  "Set it on a Service of a control plane namespace."})
	NodePoolNotFound = declare("NodePoolNotFound", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning,
		What: "Annotation {key} has no effect, because the cluster has no NodePool {nodePool}.",
		Fix:  "Correct or remove it."})
	NADValueUnused = declare("NADValueUnused", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning, Subject: "object",
		What:   "Annotation {key} ({value}) of {subject} is not used.",
		Effect: "For network {network}, {otherValue} ({source}) takes precedence.",
		Fix:    "Set annotation {key} to the same value on {subject}, and on the HostedCluster or NodePool."})
	ClusterCIDRNotTaken = declare("ClusterCIDRNotTaken", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning,
		What:   "CIDR {value} of the HostedCluster is not used.",
		Effect: "Network {network} runs with {cidr} of its NetworkAttachmentDefinition, and keeps it until a backup is restored.",
		Fix:    "Set annotation cidr to {cidr} on the HostedCluster. To change the CIDR, also edit annotation cidr of the NetworkAttachmentDefinition."})
	GatewayOnSecondary = declare("GatewayOnSecondary", Entry{Reason: AnnotationUnknown, Severity: SeverityInfo,
		What:   "Annotation gateway ({gateway}) sets no router on network {network}, because VMs do not boot from it.",
		Effect: "DHCP does not assign the address."})
	ClientNetworksOnSecondary = declare("ClientNetworksOnSecondary", Entry{Reason: AnnotationUnknown, Severity: SeverityInfo,
		What: "Annotation {key} has no effect on network {network}, because VMs do not boot from it. Edges serve only DHCP there."})
	ClientNetworksWithoutGateway = declare("ClientNetworksWithoutGateway", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning,
		What:   "Annotation client-networks has no effect on network {network}, because it has no gateway.",
		Effect: "Hosts beyond the network cannot use the service VIP.",
		Fix:    "Set annotation {key} to the router to these hosts, or remove annotation client-networks."})
	NodePoolSettingsDiffer = declare("NodePoolSettingsDiffer", Entry{Reason: AnnotationInvalid, Severity: SeverityError,
		What: "NodePools {nodePools} and {otherNodePool} are on one network ({network}), but their annotations {keys} differ.",
		Fix:  "Set the annotations on the HostedCluster, or set the same values on both NodePools."})
	NodePoolValuesDiffer = declare("NodePoolValuesDiffer", Entry{Reason: AnnotationInvalid, Severity: SeverityError,
		What: "NodePools {nodePools} and {otherNodePool} are on one network ({network}), but annotation {key} is {value} and {otherValue}.",
		Fix:  "Set annotation {key} on the HostedCluster, or set the same value on both NodePools."})
	NodePoolOverridesOthers = declare("NodePoolOverridesOthers", Entry{Reason: AnnotationInvalid, Severity: SeverityError,
		What:   "Annotation {key} of network {network} is {value} for NodePool {nodePools}. For NodePool {otherNodePool} on the same network, {otherValue} of the HostedCluster applies.",
		Effect: "All NodePools of a network must have the same value.",
		Fix:    "Set the same value for all NodePools of the network, or set it on the HostedCluster only."})
)
