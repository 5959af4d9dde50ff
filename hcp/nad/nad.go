// Package nad reads NetworkAttachmentDefinitions. It decides whether an edge can
// join the network, identifies the layer-2 network, and builds the CNI
// configuration that edges use. It knows CNI plugins and Multus, but not HyperShift.
package nad

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// SupportedKinds lists the supported kinds of NADs for messages.
const SupportedKinds = "bridge or cnv-bridge without IPAM, OVN localnet or layer2 without subnets, or SR-IOV with a virtual function for each edge"

// An Object holds the fields of a NetworkAttachmentDefinition that this package reads.
type Object struct {
	Namespace, Name string
	// ResourceName is the value of wire.AnnotationResourceName.
	ResourceName string
	// Config is spec.config: a CNI configuration as JSON.
	Config string
	// UserDefined is the ClusterUserDefinedNetwork or UserDefinedNetwork that
	// created the NetworkAttachmentDefinition. Empty means none.
	UserDefined Owner
}

// An Owner identifies the object that created a NetworkAttachmentDefinition.
type Owner struct{ Kind, Name string }

// Nodes holds the known facts about the management cluster's nodes.
type Nodes struct {
	// Resources are the extended resources that some node offers. Nil means unknown.
	Resources map[string]bool
	// ForwardByDefault is true if some node's container runtime might leave IPv4
	// forwarding enabled in new pods.
	ForwardByDefault bool
	// OVN is true if some node has the pod network of OVN-Kubernetes.
	OVN bool
	// Mapped are the physical networks of OVN-Kubernetes that some node maps to a bridge, or should map. Nil means unknown.
	Mapped map[string]bool
	// Bound are the bindings of virtual functions, by their resource without its prefix.
	Bound map[string]Binding
}

// Attach returns the network of o and how an edge joins it. If no edge can join, the Attachment is zero, and the problem
// is an Error.
func Attach(o Object, nodes Nodes) (network.Attachment, *problem.Problem) {
	if o.Config == "" {
		return network.Attachment{}, o.problem(problem.NADConfigMissing, nil)
	}
	plugins, conf, err := parse(o.Config)
	if err != nil {
		return network.Attachment{}, o.problem(problem.NADConfigInvalid, problem.Args{"error": {err.Error()}})
	}
	if p := unsupported(o, nodes, conf, plugins); p != nil {
		return network.Attachment{}, p
	}
	a := attached(o, plugins, conf)
	a.ConfigHash = configHash(a, plugins)
	switch {
	case a.Kind != typeOVN:
		a.EdgeNADConfig = edgeConfig(conf, takenPlugins(plugins), nodes.ForwardByDefault)
	case text(valueOf(plugins[0], "topology")) == topologyLayer2 || nodes.ForwardByDefault:
		// OVN-Kubernetes accepts no chained plugins, so the sysctls are set on an interface on top of OVN's.
		a.EdgeNADConfig, a.AboveNAD = edgeConfig(conf, abovePlugin(), nodes.ForwardByDefault), true
	}
	if a.AboveNAD || announces(a.Kind) {
		a.VIPNADConfig = vipConfig(conf, nodes.ForwardByDefault)
	}
	return a, nil
}

func attached(o Object, plugins []map[string]any, conf map[string]any) network.Attachment {
	first := plugins[0]
	a := network.Attachment{Namespace: o.Namespace, Name: o.Name, Kind: text(first["type"]), VLAN: vlan(first), MTU: mtu(plugins), ResourceName: o.ResourceName}
	a.Layer2 = layer2(a, first, conf)
	return a
}

func (o Object) problem(c problem.Cause, args problem.Args) *problem.Problem {
	p := Problem(c, network.Attachment{Namespace: o.Namespace, Name: o.Name}, args)
	return &p
}

// Problem returns a problem about a, with argument "nad" in addition to args.
func Problem(c problem.Cause, a network.Attachment, args problem.Args) problem.Problem {
	all := problem.Args{"nad": {a.String()}}
	maps.Copy(all, args)
	return problem.New(c, problem.Subject{Kind: "NetworkAttachmentDefinition", Namespace: a.Namespace, Name: a.Name}, all)
}

// ParseName parses "<namespace>/<name>". Without a namespace, the namespace is ns, as in KubeVirt. It does not
// validate the result; see InvalidPart.
func ParseName(s, ns string) network.Attachment {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		namespace, name = ns, s
	}
	return network.Attachment{Namespace: namespace, Name: name}
}

// InvalidPart returns the part of a that is not a valid Kubernetes name: "name" or
// "namespace". It returns "" if both are valid.
func InvalidPart(a network.Attachment) string {
	switch {
	case strings.Contains(a.Name, "/"):
		return "name"
	case len(validation.IsDNS1123Label(a.Namespace)) > 0:
		return "namespace"
	case len(validation.IsDNS1123Subdomain(a.Name)) > 0:
		return "name"
	}
	return ""
}
