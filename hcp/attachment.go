// This file decides whether edges can get onto a segment, by what its
// NetworkAttachmentDefinition says, and which layer-2 segment that is. How edges
// join is written in sibling.go.

package hcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/network"
)

// resourceNameAnnotation names the device plugin resource that a pod on the
// network needs (Multus).
const resourceNameAnnotation = "k8s.v1.cni.cncf.io/resourceName"

// The CNI types that are served.
const (
	typeBridge    = "bridge"
	typeCNVBridge = "cnv-bridge" // OpenShift Virtualization's name of bridge
	typeMacvlan   = "macvlan"
	typeSRIOV     = "sriov"
	typeOVN       = "ovn-k8s-cni-overlay" // OVN-Kubernetes' secondary networks
)

// kindsServed are the kinds that work, as problems say them.
const kindsServed = "bridge, cnv-bridge or macvlan without IPAM, OVN localnet or layer2 without subnets, or SR-IOV with a virtual function for each edge"

// attachment completes seg's attachment from its definition. A zero Attachment
// leaves the segment out.
func attachment(o Objects, seg network.Segment) (network.Attachment, network.Problems) {
	a := seg.Attachment
	if why := misnamed(a); why != "" {
		return network.Attachment{}, network.Problems{unserved(seg, network.NetworkMissing, fmt.Sprintf(
			"NodePool %s names the network %q: %s. Name a NetworkAttachmentDefinition as [namespace]/[name], such as %s/vlan100.",
			strings.Join(seg.NodePools, ", "), strings.TrimPrefix(a.String(), "/"), why, ControlPlaneNamespace(o.HostedCluster)))}
	}
	said, forbidden := isolated(o, seg)
	if forbidden {
		return network.Attachment{}, said
	}
	nad, ok := definition(o, a)
	if !ok && o.Partial {
		return a, append(said, network.Problem{Reason: network.WaitingForNetwork, Field: "NetworkAttachmentDefinition " + a.String(),
			Detail: fmt.Sprintf("NetworkAttachmentDefinition %s is not among the given objects, so its kind, VLAN and MTU are not known here: add it with a further -f.", a)})
	}
	if !ok {
		return network.Attachment{}, network.Problems{unserved(seg, network.NetworkMissing, fmt.Sprintf(
			"there is no NetworkAttachmentDefinition %s, which NodePool %s names. Create it: type %s.",
			a, strings.Join(seg.NodePools, ", "), kindsServed))}
	}
	plugins, conf, err := parse(nad)
	why := ""
	if err != nil {
		why = fmt.Sprintf("has a spec.config that is not a CNI configuration: %v. Correct it.", err)
	} else {
		why = unfit(o, nad, plugins)
	}
	if why != "" {
		return network.Attachment{}, network.Problems{unserved(seg, network.NetworkUnsupported, fmt.Sprintf("NetworkAttachmentDefinition %s %s", a, why))}
	}
	first := plugins[0]
	a.Kind = text(first["type"])
	a.VLAN, a.MTU = vlan(plugins), mtuOf(plugins)
	a.ResourceName = nad.Annotations[resourceNameAnnotation]
	a.Layer2 = layer2(a, first, conf)
	if a.Kind != typeOVN {
		a.SiblingConfig = sibling(conf, plugins, runtimeForwards(o))
	}
	return a, said
}

// misnamed says why there can be no definition a, or "".
func misnamed(a network.Attachment) string {
	const has = "has lower case letters, digits and dashes only"
	switch {
	case strings.Contains(a.Name, "/"):
		return "it has more than one slash"
	case len(validation.IsDNS1123Label(a.Namespace)) > 0:
		return "a namespace " + has
	case len(validation.IsDNS1123Subdomain(a.Name)) > 0:
		return "a name " + has + ", and dots"
	}
	return ""
}

// unserved blocks where machines boot by the segment, else only the segment is
// left out.
func unserved(seg network.Segment, r network.Reason, detail string) network.Problem {
	return network.Problem{Reason: r, Field: "NetworkAttachmentDefinition " + seg.Attachment.String(), Detail: detail, Blocking: seg.Primary}
}

// globalNamespaces are those whose definitions pods of every namespace may use
// where OpenShift's network operator runs Multus.
func globalNamespaces() []string {
	return []string{"default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv"}
}

// isolated says that Multus keeps the machines from a definition in another
// namespace: forbidden where that was seen to be so, else a note. A machine that
// runs on it shows that it does not.
func isolated(o Objects, seg network.Segment) (ps network.Problems, forbidden bool) {
	a, own := seg.Attachment, ControlPlaneNamespace(o.HostedCluster)
	allowed := append([]string{own}, globalNamespaces()...)
	if slices.Contains(allowed, a.Namespace) || runsOn(o.Machines, a) {
		return nil, false
	}
	cure := fmt.Sprintf("Create it in %s or default, and name that one in NodePool %s.", own, strings.Join(seg.NodePools, ", "))
	if o.MultusIsolates {
		return network.Problems{unserved(seg, network.NADNamespaceNotAllowed, fmt.Sprintf(
			"NetworkAttachmentDefinition %s is in a namespace that Multus keeps from the machines, which run in %s: OpenShift allows definitions of %s only. %s",
			a, own, strings.Join(allowed, ", "), cure))}, true
	}
	p := unserved(seg, network.NADNamespaceNotAllowed, fmt.Sprintf(
		"NetworkAttachmentDefinition %s is not in the namespace of the machines, %s. Where Multus isolates namespaces, as on OpenShift, they will not start. %s", a, own, cure))
	p.Blocking = false
	return network.Problems{p}, false
}

// runsOn says whether a machine was given an interface on a.
func runsOn(machines []kubevirtv1.VirtualMachineInstance, a network.Attachment) bool {
	return slices.ContainsFunc(machines, func(m kubevirtv1.VirtualMachineInstance) bool {
		return slices.ContainsFunc(m.Spec.Networks, func(n kubevirtv1.Network) bool {
			has := slices.ContainsFunc(m.Status.Interfaces, func(i kubevirtv1.VirtualMachineInstanceNetworkInterface) bool { return i.Name == n.Name })
			return has && n.Multus != nil && named(n.Multus.NetworkName, m.Namespace) == a
		})
	})
}

func definition(o Objects, a network.Attachment) (nadv1.NetworkAttachmentDefinition, bool) {
	for _, n := range o.NetworkAttachmentDefinitions {
		if n.Namespace == a.Namespace && n.Name == a.Name {
			return n, true
		}
	}
	return nadv1.NetworkAttachmentDefinition{}, false
}

// parse reads a CNI configuration: a list of plugins, or one plugin alone.
func parse(nad nadv1.NetworkAttachmentDefinition) (plugins []map[string]any, conf map[string]any, err error) {
	if err := json.Unmarshal([]byte(nad.Spec.Config), &conf); err != nil {
		return nil, nil, err
	}
	list, isList := conf["plugins"].([]any)
	if !isList {
		if conf["type"] == nil {
			return nil, nil, fmt.Errorf("it names no plugin type")
		}
		return []map[string]any{conf}, conf, nil
	}
	for _, p := range list {
		m, ok := p.(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("plugins holds something that is not an object")
		}
		plugins = append(plugins, m)
	}
	if len(plugins) == 0 {
		return nil, nil, fmt.Errorf("plugins is empty")
	}
	return plugins, conf, nil
}

// unfit says why the network of nad can't be served, or "".
func unfit(o Objects, nad nadv1.NetworkAttachmentDefinition, plugins []map[string]any) string {
	first := plugins[0]
	switch kind := text(first["type"]); kind {
	case typeOVN:
		return unfitOVN(nad, first)
	case typeBridge, typeCNVBridge, typeMacvlan:
	case typeSRIOV:
		if why := unfitSRIOV(o, nad); why != "" {
			return why
		}
	default:
		return fmt.Sprintf("is of type %q, which is not served. Use %s.", kind, kindsServed)
	}
	for _, p := range plugins {
		if gives, ok := ipam(p); ok {
			return fmt.Sprintf("gives out addresses itself (ipam %s), so KubeVirt would answer the machines' DHCP. Make it \"ipam\": {}.", gives)
		}
	}
	return ""
}

// ipam is what a plugin gives out addresses by, whatever that is.
func ipam(plugin map[string]any) (string, bool) {
	switch v := plugin["ipam"].(type) {
	case nil:
		return "", false
	case map[string]any:
		kind := text(v["type"])
		return kind, kind != ""
	default:
		return fmt.Sprint(v), true
	}
}

// unfitOVN says why an OVN network can't be served, or "".
func unfitOVN(nad nadv1.NetworkAttachmentDefinition, plugin map[string]any) string {
	if role := text(plugin["role"]); role == "primary" {
		return "is the primary network of its namespace, which pods join by themselves. Use one whose role is secondary."
	}
	if s := text(plugin["subnets"]); s != "" {
		cure := "Remove subnets, so that DHCP is ours."
		for _, owner := range nad.OwnerReferences {
			if owner.Kind == "ClusterUserDefinedNetwork" || owner.Kind == "UserDefinedNetwork" {
				cure = fmt.Sprintf("Make a %s without subnets (ipam.mode: Disabled) in place of %s, so that DHCP is ours.", owner.Kind, owner.Name)
			}
		}
		return fmt.Sprintf("has subnets (%s): OVN gives out addresses and answers DHCP itself. %s", s, cure)
	}
	switch t := text(plugin["topology"]); t {
	case "localnet", "layer2":
		return ""
	default:
		return fmt.Sprintf("has topology %q, which machines can't share with an edge. Use localnet.", t)
	}
}

// unfitSRIOV says why no edge could get a virtual function, or "".
func unfitSRIOV(o Objects, nad nadv1.NetworkAttachmentDefinition) string {
	resource := nad.Annotations[resourceNameAnnotation]
	if resource == "" {
		return fmt.Sprintf("is of type sriov without the annotation %s, so no edge could get a virtual function. Name the resource there, or use bridge, cnv-bridge or OVN localnet.", resourceNameAnnotation)
	}
	if o.Partial && len(o.Nodes) == 0 {
		return ""
	}
	for _, n := range o.Nodes {
		if q, ok := n.Status.Allocatable[corev1.ResourceName(resource)]; ok && !q.IsZero() {
			return ""
		}
	}
	return fmt.Sprintf("needs a virtual function of %s, and no node has one. Edges need one each, as machines do: make more by an SriovNetworkNodePolicy, or use bridge, cnv-bridge or OVN localnet.", resource)
}

// vlan is the 802.1Q id where a plugin says it: "vlan" for bridges and SR-IOV,
// "vlanID" for OVN, the suffix of "master" for macvlan.
func vlan(plugins []map[string]any) int {
	for _, p := range plugins {
		for _, key := range []string{"vlan", "vlanID"} {
			if n := number(p[key]); n != 0 {
				return n
			}
		}
	}
	if _, suffix, ok := strings.Cut(text(plugins[0]["master"]), "."); ok {
		if n, err := strconv.Atoi(suffix); err == nil && n > 0 && n < 4095 {
			return n
		}
	}
	return 0
}

// mtuOf is in bytes; a later plugin (tuning) changes what an earlier one set.
func mtuOf(plugins []map[string]any) int {
	for _, p := range slices.Backward(plugins) {
		if n := number(p["mtu"]); n != 0 {
			return n
		}
	}
	return 0
}

// layer2 names the segment below a definition: two definitions of one name are
// on one segment. Empty where the definition leaves it to the node.
func layer2(a network.Attachment, plugin, conf map[string]any) string {
	on := func(kind, what string) string {
		if what == "" {
			return ""
		}
		return fmt.Sprintf("%s %s vlan %d", kind, what, a.VLAN)
	}
	switch name := text(conf["name"]); a.Kind {
	case typeBridge, typeCNVBridge:
		return on("bridge", text(plugin["bridge"]))
	case typeMacvlan:
		return on("macvlan", text(plugin["master"]))
	case typeSRIOV:
		return on("sriov", a.ResourceName)
	case typeOVN:
		if text(plugin["topology"]) == "layer2" {
			return on("layer2", name)
		}
		if physical := text(plugin["physicalNetworkName"]); physical != "" {
			name = physical
		}
		return on("localnet", name)
	}
	return ""
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) int {
	f, _ := v.(float64)
	return int(f)
}

// Definitions are the NetworkAttachmentDefinitions that o's NodePools name,
// sorted: what a caller must read for Intent.
func Definitions(o Objects) []network.Attachment {
	seen := map[network.Attachment]bool{}
	for _, np := range o.NodePools {
		for _, a := range attachments(o.HostedCluster, np) {
			seen[a] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) })
}
