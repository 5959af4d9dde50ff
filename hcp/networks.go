// This file decides which layer-2 segments a cluster's machines sit on, and
// which of them machines boot by. What addresses there are on them is decided in
// network_addresses.go, what a NetworkAttachmentDefinition means in
// network_attachments.go.

package hcp

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// A joined is a segment while NodePools are put together.
type joined struct {
	network.NetworkRequest
	// said: some NodePool lists it first, so annotations speak of it.
	said bool
	// beside are the NodePools that have another way out, and get an address only.
	beside []string
}

// segments are the networks of all NodePools. The first segment of a NodePool
// without a default network is primary: its machines boot by it. The one of the
// oldest such NodePool is home, which what is said for the whole cluster is for.
func segments(o Objects, base settings.Values) ([]network.NetworkRequest, network.Problems) {
	var all []joined
	problems := noSuchNodePool(o)
	home := -1
	for _, np := range oldestFirst(o.NodePools) {
		s, ps := settings.ForNodePool(base, o.HostedCluster.Annotations, np.Name, np.Annotations)
		problems = append(problems, ps...)
		for i, attachment := range attachments(o.HostedCluster, np) {
			if base.Network != "auto" && base.Network != attachment.String() {
				continue
			}
			one := segment(attachment, np, s, base, i == 0)
			at := slices.IndexFunc(all, func(x joined) bool { return x.Attachment == attachment })
			if at < 0 {
				at, all = len(all), append(all, one)
			} else {
				all[at], ps = merge(all[at], one)
				problems = append(problems, ps...)
			}
			if home < 0 && one.Primary {
				home = at
			}
		}
	}
	problems = append(problems, noSegment(o, base, len(all))...)
	problems = append(problems, giveAddresses(all, home, o, base)...)
	out, ps := attached(o, all)
	return out, append(problems, ps...)
}

// attached are the segments that edges can get onto, each once.
func attached(o Objects, all []joined) ([]network.NetworkRequest, network.Problems) {
	out := []network.NetworkRequest{}
	var problems network.Problems
	for _, s := range all {
		a, ps := attachment(o, s.NetworkRequest)
		problems = append(problems, ps...)
		if a.Name == "" {
			continue
		}
		if i := slices.IndexFunc(out, func(x network.NetworkRequest) bool { return x.Attachment.SameNetwork(a) }); i >= 0 {
			problems = append(problems, unserved(s.NetworkRequest, network.NADsOnOneNetwork, network.Args{
				"otherNAD": out[i].Attachment.String(), "layer2": a.Layer2, "nodePools": strings.Join(s.NodePools, ", ")}))
			continue
		}
		if s.Primary && len(s.beside) > 0 {
			problems = append(problems, networkProblem(network.VMsHaveOtherRoute, a, network.Args{"nodePools": strings.Join(s.beside, ", ")}))
		}
		s.Attachment = a
		out = append(out, s.NetworkRequest)
	}
	return out, problems
}

// noSuchNodePool names what is said of NodePools that there are not.
func noSuchNodePool(o Objects) network.Problems {
	var problems network.Problems
	for _, full := range slices.Sorted(maps.Keys(o.HostedCluster.Annotations)) {
		name, ok := settings.NodePoolOf(full)
		if !ok || len(o.NodePools) == 0 || slices.ContainsFunc(o.NodePools, func(np hyperv1.NodePool) bool { return np.Name == name }) {
			continue
		}
		problems = append(problems, network.NewProblem(network.NodePoolNotFound, network.Subject{Kind: "HostedCluster", Name: o.HostedCluster.Name},
			network.Args{"nodePool": name}, strings.TrimPrefix(full, settings.Prefix)))
	}
	return problems
}

// oldestFirst makes a later NodePool come later, so that it never takes what an
// earlier one has.
func oldestFirst(in []hyperv1.NodePool) []hyperv1.NodePool {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b hyperv1.NodePool) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// attachments of np in the order in which its machines have them.
func attachments(hc *hyperv1.HostedCluster, np hyperv1.NodePool) []network.Attachment {
	if np.Spec.Platform.Kubevirt == nil {
		return nil
	}
	var out []network.Attachment
	for _, n := range np.Spec.Platform.Kubevirt.AdditionalNetworks {
		out = append(out, nad.ParseName(n.Name, ControlPlaneNamespace(hc)))
	}
	return out
}

func attachesDefault(np hyperv1.NodePool) bool {
	k := np.Spec.Platform.Kubevirt
	return k == nil || k.AttachDefaultNetwork == nil || *k.AttachDefaultNetwork
}

// segment is what one NodePool says of one network. Its annotations speak of
// the network that it lists first; base is what the HostedCluster says for all.
func segment(a network.Attachment, np hyperv1.NodePool, s, base settings.Values, first bool) joined {
	out := joined{said: first, NetworkRequest: network.NetworkRequest{
		Attachment: a, NodePools: []string{np.Name}, Primary: first && !attachesDefault(np), VMs: machines(np)}}
	if !out.Primary {
		out.beside = []string{np.Name}
	}
	if !first {
		out.Settings = network.Settings{Services: base.Services, LeaseTime: base.LeaseTime, IgnoreUnknownClients: base.IgnoreUnknownClients}
		return out
	}
	out.CIDR, out.CIDRField, out.Gateway, out.Settings = s.CIDR, s.CIDRField, s.Gateway, s.Settings
	if s.CIDRKey != "" {
		out.CIDRKeys = []string{s.CIDRKey}
	}
	return out
}

// merge joins what two NodePools say of one segment. Where they disagree nobody
// wins: the user decides.
func merge(a, b joined) (joined, network.Problems) {
	if slices.Contains(a.NodePools, b.NodePools[0]) { // it is listed twice
		a.VMs += b.VMs
		return a, nil
	}
	out, other := a, b
	if b.said && !a.said {
		out, other = b, a
	}
	out.NodePools = append(slices.Clone(a.NodePools), b.NodePools...)
	out.beside = append(slices.Clone(a.beside), b.beside...)
	out.Primary, out.VMs = a.Primary || b.Primary, a.VMs+b.VMs
	var problems network.Problems
	disagree := func(c network.Cause, args network.Args, keys ...string) {
		all := network.Args{"nodePools": strings.Join(a.NodePools, ", "), "otherNodePool": b.NodePools[0]}
		maps.Copy(all, args)
		problems = append(problems, networkProblem(c, a.Attachment, all, keys...))
	}
	if a.said == b.said && !reflect.DeepEqual(a.Settings, b.Settings) {
		disagree(network.NodePoolSettingsDiffer, nil)
		problems[len(problems)-1].Subject = network.Subject{Kind: string(settings.OnNodePool), Name: b.NodePools[0]}
	}
	switch {
	case !out.CIDR.IsValid():
		out.CIDR, out.CIDRField, out.CIDRKeys = other.CIDR, other.CIDRField, other.CIDRKeys
	case other.CIDR.IsValid() && a.CIDR != b.CIDR:
		disagree(network.NodePoolValuesDiffer, network.Args{"value": a.CIDR.String(), "otherValue": b.CIDR.String()}, settings.KeyCIDR)
	}
	switch {
	case !out.Gateway.IsValid():
		out.Gateway = other.Gateway
	case other.Gateway.IsValid() && a.Gateway != b.Gateway:
		disagree(network.NodePoolValuesDiffer, network.Args{"value": a.Gateway.String(), "otherValue": b.Gateway.String()}, settings.KeyGateway)
	}
	return out, problems
}

// fieldAdditionalNetworks is where a NodePool names its networks.
const fieldAdditionalNetworks = "spec.platform.kubevirt.additionalNetworks"

// noSegment explains an empty list.
func noSegment(o Objects, base settings.Values, found int) network.Problems {
	if found > 0 {
		return nil
	}
	if len(o.NodePools) == 0 {
		return network.Problems{network.NewProblem(network.NodePoolMissing, network.Subject{}, nil)}
	}
	if base.Network != "auto" && base.Network != "" {
		return network.Problems{network.NewProblem(network.NetworkNotNamed, network.Subject{}, network.Args{"network": base.Network}, settings.KeyNetwork, fieldAdditionalNetworks)}
	}
	return network.Problems{network.NewProblem(network.NoNetworkNamed, network.Subject{}, nil, fieldAdditionalNetworks, settings.KeyNetwork)}
}

// wanted are the names of the networks that must not be removed: those that a
// NodePool names, in whatever state it is, and those that a VM still uses while its
// NodePool has moved on.
func wanted(o Objects) []string {
	asked := strings.TrimSpace(o.HostedCluster.Annotations[settings.Prefix+settings.KeyNetwork])
	return networkNames(slices.DeleteFunc(append(NamedNADs(o), ofMachines(o)...), func(a network.Attachment) bool {
		return asked != "auto" && asked != a.String()
	}))
}

// inUse are the names of the networks that VMs are on now.
func inUse(o Objects) []string { return networkNames(ofMachines(o)) }

// networkNames are those of all, sorted and each once.
func networkNames(all []network.Attachment) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.NetworkName())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
