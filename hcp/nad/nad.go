// Package nad reads NetworkAttachmentDefinitions: whether an edge can join the
// network of one, which layer-2 network that is, and the configuration by which
// the edge joins. It knows CNI plugins and Multus, and nothing of HyperShift.
package nad

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
)

// SupportedKinds are the kinds of NetworkAttachmentDefinitions that work, as
// messages name them.
const SupportedKinds = "bridge, cnv-bridge or macvlan without IPAM, OVN localnet or layer2 without subnets, or SR-IOV with a virtual function for each edge"

// A Object is what is read of a NetworkAttachmentDefinition.
type Object struct {
	Namespace, Name string
	// ResourceName is the value of wire.AnnotationResourceName.
	ResourceName string
	// Config is spec.config: a CNI configuration as JSON.
	Config string
	// UserDefined is the ClusterUserDefinedNetwork or UserDefinedNetwork that the
	// definition was made from. Empty: none.
	UserDefined Owner
}

// An Owner is the object that a definition was made from.
type Owner struct{ Kind, Name string }

// Nodes are what is known of the management cluster's nodes.
type Nodes struct {
	// Resources that some node has to give. Nil: not known.
	Resources map[string]bool
	// ForwardByDefault says that a node's container runtime may leave IPv4
	// forwarding on in new pods.
	ForwardByDefault bool
}

// Attach is the network of d, and how an edge joins it. Where no edge can, the
// problem says why, blocks, and the Attachment is zero.
func Attach(d Object, nodes Nodes) (network.Attachment, *network.Problem) {
	plugins, conf, err := parse(d.Config)
	if err != nil {
		return network.Attachment{}, d.problem(network.NADConfigInvalid, network.Args{"error": err.Error()})
	}
	if p := unfit(d, nodes, plugins); p != nil {
		return network.Attachment{}, p
	}
	first := plugins[0]
	a := network.Attachment{Namespace: d.Namespace, Name: d.Name, Kind: text(first["type"]), VLAN: vlan(plugins), MTU: mtu(plugins), ResourceName: d.ResourceName}
	a.Layer2 = layer2(a, first, conf)
	if a.Kind != typeOVN {
		a.EdgeNADConfig = edgeConfig(conf, plugins, nodes.ForwardByDefault)
	}
	return a, nil
}

// problem is one that keeps edges from joining the network of d.
func (d Object) problem(c network.Cause, args network.Args) *network.Problem {
	p := Problem(c, network.Attachment{Namespace: d.Namespace, Name: d.Name}, args)
	return &p
}

// Problem is one of the NetworkAttachmentDefinition a, which it names in its
// arguments.
func Problem(c network.Cause, a network.Attachment, args network.Args) network.Problem {
	all := network.Args{"nad": a.String()}
	maps.Copy(all, args)
	return network.NewProblem(c, network.Subject{Kind: "NetworkAttachmentDefinition", Namespace: a.Namespace, Name: a.Name}, all)
}

// ParseName reads "<namespace>/<name>"; a bare name lies in ns, as KubeVirt reads it.
func ParseName(s, ns string) network.Attachment {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		namespace, name = ns, s
	}
	return network.Attachment{Namespace: namespace, Name: name}
}

// InvalidPart is the part of a's name that no NetworkAttachmentDefinition can have:
// "name" or "namespace". Empty: there can be one.
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
