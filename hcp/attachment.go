// This file decides how the edges get onto a segment: what a
// NetworkAttachmentDefinition says, and what the one beside it must say so that
// pods get addresses there. It never changes the machines' own definition.

package hcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"

	"github.com/cldmnky/oooi/network"
)

// resourceNameAnnotation names the device plugin resource that a pod on the
// network needs (Multus).
const resourceNameAnnotation = "k8s.v1.cni.cncf.io/resourceName"

// ovnKubernetes is the CNI type of OVN-Kubernetes' secondary networks.
const ovnKubernetes = "ovn-k8s-cni-overlay"

// attachment completes seg's attachment from its definition. A zero Attachment
// leaves the segment out.
func attachment(o Objects, seg network.Segment) (network.Attachment, network.Problems) {
	a := seg.Attachment
	nad, ok := definition(o, a)
	if !ok && o.Partial {
		return a, network.Problems{{Reason: network.WaitingForNetwork, Field: "NetworkAttachmentDefinition " + a.String(),
			Detail: fmt.Sprintf("NetworkAttachmentDefinition %s is not among the given objects, so its kind, VLAN and MTU are not known here.", a)}}
	}
	if !ok {
		return leaveOut(seg, network.NetworkMissing, fmt.Sprintf(
			"there is no NetworkAttachmentDefinition %s, which NodePool %s names. Create it: type bridge, cnv-bridge or OVN localnet, without IPAM.",
			a, strings.Join(seg.NodePools, ", ")))
	}
	plugins, conf, err := parse(nad)
	if err != nil {
		return leaveOut(seg, network.NetworkUnsupported, fmt.Sprintf("spec.config of NetworkAttachmentDefinition %s is not a CNI configuration: %v.", a, err))
	}
	first := plugins[0]
	a.Kind, _ = first["type"].(string)
	a.VLAN, a.MTU = vlan(first), number(first["mtu"])
	a.ResourceName = nad.Annotations[resourceNameAnnotation]
	switch a.Kind {
	case ovnKubernetes:
		if why := unfitOVN(first); why != "" {
			return leaveOut(seg, network.NetworkUnsupported, fmt.Sprintf("NetworkAttachmentDefinition %s %s", a, why))
		}
		return a, nil
	case "bridge", "cnv-bridge", "macvlan":
		if ipam, _ := first["ipam"].(map[string]any); ipam["type"] != nil && ipam["type"] != "" {
			return leaveOut(seg, network.NetworkUnsupported, fmt.Sprintf(
				"NetworkAttachmentDefinition %s gives out addresses itself (ipam %v), so KubeVirt would answer the machines' DHCP. Make it \"ipam\": {}.", a, ipam["type"]))
		}
		a.SiblingConfig = sibling(conf, plugins, runtimeForwards(o))
		return a, nil
	}
	return leaveOut(seg, network.NetworkUnsupported, fmt.Sprintf(
		"NetworkAttachmentDefinition %s is of type %q, which is not served. Use bridge, cnv-bridge or OVN localnet.", a, a.Kind))
}

// leaveOut blocks where machines boot by the segment, else only the segment is
// missing.
func leaveOut(seg network.Segment, r network.Reason, detail string) (network.Attachment, network.Problems) {
	return network.Attachment{}, network.Problems{{Reason: r, Field: "NetworkAttachmentDefinition " + seg.Attachment.String(), Detail: detail, Blocking: seg.Primary}}
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

// unfitOVN says why an OVN network can't be served, or "".
func unfitOVN(plugin map[string]any) string {
	if s, _ := plugin["subnets"].(string); s != "" {
		return fmt.Sprintf("has subnets (%s): OVN gives out addresses and answers DHCP itself. Remove subnets, so that DHCP is ours.", s)
	}
	switch t, _ := plugin["topology"].(string); t {
	case "localnet", "layer2":
		return ""
	default:
		return fmt.Sprintf("has topology %q, which machines can't share with an edge. Use localnet.", t)
	}
}

// vlan is the 802.1Q id where a plugin's configuration says it: "vlan" for
// bridges, "vlanID" for OVN, the suffix of "master" for macvlan.
func vlan(plugin map[string]any) int {
	for _, key := range []string{"vlan", "vlanID"} {
		if n := number(plugin[key]); n != 0 {
			return n
		}
	}
	master, _ := plugin["master"].(string)
	if _, suffix, ok := strings.Cut(master, "."); ok {
		if n, err := strconv.Atoi(suffix); err == nil && n > 0 && n < 4095 {
			return n
		}
	}
	return 0
}

func number(v any) int {
	f, _ := v.(float64)
	return int(f)
}

// sibling is the configuration by which edges join: the machines' plugin with
// static addresses from the pod's annotation, and, where the nodes' runtime
// leaves forwarding on in new pods, the tuning plugin to switch it off on the
// interface. Where it does not (CRI-O), tuning is left out: OpenShift's
// allow-list refuses that key.
func sibling(conf map[string]any, plugins []map[string]any, forwards bool) string {
	first := maps.Clone(plugins[0])
	// An interface without addresses, or one that is the node's gateway, is not
	// what an edge joins by.
	for _, k := range []string{"cniVersion", "name", "plugins", "disableContainerInterface", "isGateway", "isDefaultGateway", "ipMasq", "forceAddress"} {
		delete(first, k)
	}
	first["ipam"] = map[string]any{"type": "static"}
	first["capabilities"] = map[string]any{"ips": true}
	chain := []any{first}
	for _, p := range plugins[1:] {
		chain = append(chain, p)
	}
	if forwards {
		chain = append(chain, map[string]any{"type": "tuning", "sysctl": map[string]any{"net.ipv4.conf.IFNAME.forwarding": "0"}})
	}
	version, _ := conf["cniVersion"].(string)
	if version == "" {
		version = "0.3.1"
	}
	name, _ := conf["name"].(string)
	out, err := json.Marshal(map[string]any{"cniVersion": version, "name": name, "plugins": chain})
	if err != nil {
		panic("hcp: what was JSON stays JSON: " + err.Error())
	}
	return string(out)
}

// runtimeForwards says whether some Linux node's runtime may give pods a namespace
// that forwards: any but CRI-O. Not known: no, as on OpenShift; an edge that
// would forward does not serve, so a wrong guess is seen and does no harm.
func runtimeForwards(o Objects) bool {
	for _, n := range o.Nodes {
		info := n.Status.NodeInfo
		if info.OperatingSystem != "windows" && !strings.HasPrefix(info.ContainerRuntimeVersion, "cri-o://") {
			return true
		}
	}
	return false
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
