// This file decides which networks the VMs of a cluster use, and which of them VMs
// boot from. network_addresses.go decides their addresses, and
// network_attachments.go reads their NetworkAttachmentDefinitions.

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

// A merged network request combines the requests of several NodePools.
type merged struct {
	network.NetworkRequest
	// listedFirst is true if some NodePool lists the network first. Only then the
	// annotations of NodePools apply to it.
	listedFirst bool
	// otherRoute holds the NodePools whose VMs have a default route on another network.
	otherRoute []string
}

// networks returns the networks of all NodePools. The first network of a NodePool
// without the default pod network is primary: VMs boot from it. Cluster-wide addresses
// apply to home, the primary network of the oldest such NodePool.
func networks(o Objects, base settings.Values) ([]network.NetworkRequest, network.Problems) {
	var all []merged
	problems := unknownNodePools(o)
	home := -1
	for _, np := range oldestFirst(o.NodePools) {
		s, ps := settings.ForNodePool(base, o.HostedCluster.Annotations, np.Name, np.Annotations)
		problems = append(problems, ps...)
		for i, attachment := range attachments(o.HostedCluster, np) {
			if base.Network != "auto" && base.Network != attachment.String() {
				continue
			}
			one := networkRequest(attachment, np, s, base, i == 0)
			at := slices.IndexFunc(all, func(x merged) bool { return x.Attachment == attachment })
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
	problems = append(problems, noNetworks(o, base, len(all))...)
	problems = append(problems, setAddresses(all, home, o, base)...)
	out, ps := withAttachments(o, all)
	return out, append(problems, ps...)
}

// withAttachments returns the networks that edges can join, without duplicates.
func withAttachments(o Objects, all []merged) ([]network.NetworkRequest, network.Problems) {
	out := []network.NetworkRequest{}
	var problems network.Problems
	for _, s := range all {
		a, ps := attachment(o, s.NetworkRequest)
		problems = append(problems, ps...)
		if a.Name == "" {
			continue
		}
		if i := slices.IndexFunc(out, func(x network.NetworkRequest) bool { return x.Attachment.SameNetwork(a) }); i >= 0 {
			problems = append(problems, nadProblem(s.NetworkRequest, network.NADsOnOneNetwork, network.Args{
				"otherNAD": out[i].Attachment.String(), "layer2": a.Layer2, "nodePools": strings.Join(s.NodePools, ", ")}))
			continue
		}
		if s.Primary && len(s.otherRoute) > 0 {
			problems = append(problems, networkProblem(network.VMsHaveOtherRoute, a, network.Args{"nodePools": strings.Join(s.otherRoute, ", ")}))
		}
		s.Attachment = a
		out = append(out, s.NetworkRequest)
	}
	return out, problems
}

// unknownNodePools returns problems for annotations that name a missing NodePool.
func unknownNodePools(o Objects) network.Problems {
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

// oldestFirst sorts NodePools by age, then by name. So a new NodePool never takes
// addresses of an older one.
func oldestFirst(in []hyperv1.NodePool) []hyperv1.NodePool {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b hyperv1.NodePool) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// attachments returns the networks of np in the order of its VMs' interfaces.
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

// attachesDefault reports whether VMs of np have the default pod network.
func attachesDefault(np hyperv1.NodePool) bool {
	k := np.Spec.Platform.Kubevirt
	return k == nil || k.AttachDefaultNetwork == nil || *k.AttachDefaultNetwork
}

// networkRequest returns the request of one NodePool for one network. s holds the
// values of the NodePool, which apply only to the network that it lists first. base
// holds the values of the HostedCluster.
func networkRequest(a network.Attachment, np hyperv1.NodePool, s, base settings.Values, first bool) merged {
	out := merged{listedFirst: first, NetworkRequest: network.NetworkRequest{
		Attachment: a, NodePools: []string{np.Name}, Primary: first && !attachesDefault(np), VMs: maxVMs(np)}}
	if !out.Primary {
		out.otherRoute = []string{np.Name}
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

// merge combines two requests for the same network. Different values are a problem:
// neither NodePool has precedence.
func merge(a, b merged) (merged, network.Problems) {
	if slices.Contains(a.NodePools, b.NodePools[0]) { // the NodePool lists the network twice
		a.VMs += b.VMs
		return a, nil
	}
	out, other := a, b
	if b.listedFirst && !a.listedFirst {
		out, other = b, a
	}
	out.NodePools = append(slices.Clone(a.NodePools), b.NodePools...)
	out.otherRoute = append(slices.Clone(a.otherRoute), b.otherRoute...)
	out.Primary, out.VMs = a.Primary || b.Primary, a.VMs+b.VMs
	var problems network.Problems
	disagree := func(c network.Cause, args network.Args, keys ...string) {
		all := network.Args{"nodePools": strings.Join(a.NodePools, ", "), "otherNodePool": b.NodePools[0]}
		maps.Copy(all, args)
		problems = append(problems, networkProblem(c, a.Attachment, all, keys...))
	}
	if a.listedFirst == b.listedFirst && !reflect.DeepEqual(a.Settings, b.Settings) {
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

// fieldAdditionalNetworks is the field of a NodePool that names its networks.
const fieldAdditionalNetworks = "spec.platform.kubevirt.additionalNetworks"

// noNetworks returns the reason why the cluster has no networks. found is the number
// of networks; the result is empty if it is not 0.
func noNetworks(o Objects, base settings.Values, found int) network.Problems {
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

// wanted returns the names of the networks that must not be removed: those that some
// NodePool names, and those that some VM still uses.
func wanted(o Objects) []string {
	selected := strings.TrimSpace(o.HostedCluster.Annotations[settings.Prefix+settings.KeyNetwork])
	return networkNames(slices.DeleteFunc(append(NamedNADs(o), vmAttachments(o)...), func(a network.Attachment) bool {
		return selected != "auto" && selected != a.String()
	}))
}

// inUse returns the names of the networks that VMs are attached to.
func inUse(o Objects) []string { return networkNames(vmAttachments(o)) }

// networkNames returns the names of all networks, sorted and without duplicates.
func networkNames(all []network.Attachment) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.NetworkName())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
