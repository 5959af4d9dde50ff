// Package networks decides which networks the VMs of a cluster use, which of them VMs boot from, and the values of
// each. A network is primary if VMs boot from it. The home network is the primary network to which addresses on the
// HostedCluster apply. A hint is a problem with severity Info. addresses.go decides their addresses, and attachments.go
// reads their NetworkAttachmentDefinitions.
package networks

import (
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A merged combines the requests of several NodePools for one network.
type merged struct {
	network.NetworkRequest
	// listedFirst is true if a NodePool lists the network first. Annotations of NodePools apply to the network only
	// then.
	listedFirst bool
	// otherRoute holds the NodePools whose VMs have a default route on another network.
	otherRoute []string
	// repeating holds the NodePools that list the network more than once.
	repeating []string
	// without holds, for each key, the NodePools that list the network first and do not set the key.
	without map[string][]string
	// ofNodePools are the keys that are set on some NodePool that lists the network first.
	ofNodePools []string
	// ofNAD are the values of its NetworkAttachmentDefinition, and ofNADProblems the problems of its values.
	ofNAD         settings.Values
	ofNADProblems problem.Problems
	// problems are about this network only. If there is an Error among them, the network is not requested.
	problems problem.Problems
}

// Requested are the networks that NodePools request, and problems about them.
type Requested struct {
	Networks []network.NetworkRequest
	// Refused are the Names of primary networks with an Error.
	Refused  []string
	Problems problem.Problems
}

// Of returns the networks of all NodePools. The first network of a NodePool without the default pod network is
// primary: VMs boot from it. Cluster-wide addresses apply to one of the primary networks (homeNetwork). last is the
// plan in force.
//
// ofNodePools has problems of the HostedCluster's annotations for one NodePool, by the NodePool's name.
func Of(of objects.Objects, base settings.Values, ofNodePools map[string]problem.Problems, last network.Plan) Requested {
	o := index(of)
	var all []merged
	var primary []int
	position := map[network.Attachment]int{}
	problems := unknownNodePools(o)
	for _, np := range oldestFirst(o.NodePools) {
		s, ps := settings.ForNodePool(base, o.HostedCluster.Annotations, np.Name, np.Annotations)
		ps = slices.Concat(ofNodePools[np.Name], ps)
		for i, attachment := range objects.Attachments(o.HostedCluster, np) {
			if !selects(base.Network, attachment) {
				continue
			}
			one := networkRequest(attachment, np, s, base, i == 0)
			one.VMs = maxVMs(o.HostedCluster, np)
			if i == 0 {
				one.problems, ps = ps, nil
			}
			at, known := position[attachment]
			if known {
				all[at] = merge(all[at], one)
			} else {
				at, all = len(all), append(all, one)
				position[attachment] = at
			}
			if one.Primary {
				primary = append(primary, at)
			}
		}
		problems = append(problems, ps.NotBlocking()...)
	}
	for _, name := range slices.Sorted(maps.Keys(ofNodePools)) {
		if o.byName[name] == nil {
			problems = append(problems, ofNodePools[name].NotBlocking()...)
		}
	}
	problems = append(problems, noNetworks(o, base, len(all))...)
	var refused []string
	if len(all) > 0 {
		var ps problem.Problems
		refused, ps = notSelected(o, base.Network)
		problems = append(append(problems, ps...), stoppingVMs(o, base.Network)...)
	}
	for i := range all {
		all[i].ofNAD, all[i].ofNADProblems = nadValues(o, all[i].Attachment)
	}
	home, keepsOwn := homeNetwork(all, primary, o, base, last)
	if keepsOwn {
		all[home].keepOwnCIDR(clusterCIDR(o.HostedCluster, base))
	}
	problems = append(problems, cidrByName(o, all, home, base)...)
	setAddresses(all, home, o, base)
	problems = append(problems, strayAddresses(all, home, o, base)...)
	out := withAttachments(o, all)
	out.Networks, out.Refused = withUnserved(o, out.Networks), append(refused, out.Refused...)
	out.Problems = slices.Concat(problems, out.Problems, withoutResource(o, base.EdgeNodes, out.Networks), placementPatched(o.Objects, base.EdgeNodes), unselectedTwins(o, base.Network, out.Networks), separate(o, out.Networks, last))
	return out
}

// withAttachments returns the networks that edges can join. A network with an Error is left out. Of several NADs of one layer-2 network, Derive serves one.
func withAttachments(o indexed, all []merged) Requested {
	out := Requested{Networks: []network.NetworkRequest{}}
	boots := slices.ContainsFunc(all, func(s merged) bool { return s.Primary })
	for _, s := range all {
		a, ps := attachment(o, s.NetworkRequest)
		ps = slices.Concat(s.problems, ps, s.listedTwice(o, a))
		if ps.Blocking() {
			out.Problems = append(out.Problems, s.refusing(o, ps, boots)...)
			if s.Primary {
				out.Refused = append(out.Refused, s.Attachment.NetworkName())
			}
			continue
		}
		out.Problems = append(out.Problems, ps...)
		if s.Primary && len(s.otherRoute) > 0 {
			out.Problems = append(out.Problems, a.Problem(problem.VMsHaveOtherRoute, problem.Args{"nodePools": s.otherRoute}))
		}
		s.Attachment = a
		for _, x := range out.Networks {
			if x.Attachment.SameNetwork(a) {
				s.OlderTwins = append(s.OlderTwins, x.Attachment.String())
			}
		}
		out.Networks = append(out.Networks, s.NetworkRequest)
	}
	return out
}

func unknownNodePools(o indexed) problem.Problems {
	var problems problem.Problems
	for _, full := range slices.Sorted(maps.Keys(o.HostedCluster.Annotations)) {
		name, ok := settings.NodePoolOf(full)
		if !ok || len(o.NodePools) == 0 || o.byName[name] != nil {
			continue
		}
		problems = append(problems, problem.New(problem.NodePoolNotFound, problem.Subject{Kind: "HostedCluster", Name: o.HostedCluster.Name},
			problem.Args{"nodePool": {name}}, strings.TrimPrefix(full, settings.Prefix)))
	}
	return problems
}

// oldestFirst sorts NodePools by age, so that a new NodePool never takes addresses of an older one.
func oldestFirst(in []hyperv1.NodePool) []hyperv1.NodePool {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b hyperv1.NodePool) int { return objects.CompareAge(&a, &b) })
	return out
}

func attachesDefault(np hyperv1.NodePool) bool {
	k := np.Spec.Platform.Kubevirt
	return k == nil || k.AttachDefaultNetwork == nil || *k.AttachDefaultNetwork
}

// WithoutNetworks reports whether VMs of np would have no network at all. HyperShift refuses such a NodePool.
func WithoutNetworks(np hyperv1.NodePool) bool {
	return !attachesDefault(np) && len(np.Spec.Platform.Kubevirt.AdditionalNetworks) == 0
}

// networkRequest returns the request of one NodePool for one network. The NodePool's values, s, apply only to the network
// that it lists first. base has the values of the HostedCluster.
func networkRequest(a network.Attachment, np hyperv1.NodePool, s, base settings.Values, first bool) merged {
	out := merged{listedFirst: first, NetworkRequest: network.NetworkRequest{
		Attachment: a, NodePools: []string{np.Name}, Primary: first && !attachesDefault(np)}}
	if !out.Primary {
		out.otherRoute = []string{np.Name}
	}
	if !first {
		var all settings.Values
		for _, k := range settings.Keys() {
			if k.For == settings.EachNetwork {
				k.Take(&all, base)
			}
		}
		all.SetNetwork(&out.NetworkRequest)
		return out
	}
	s.SetNetwork(&out.NetworkRequest)
	out.without = map[string][]string{}
	for _, k := range settings.Keys() {
		if k.PerNodePool && !k.IsSet(s) {
			out.without[k.Name] = []string{np.Name}
		}
		if _, own := np.Annotations[settings.Prefix+k.Name]; own {
			out.ofNodePools = append(out.ofNodePools, k.Name)
		}
	}
	return out
}

// noNetworks returns the problem that the cluster has no networks, with the cause. It returns nil if found, the number
// of networks, is above 0.
func noNetworks(o indexed, base settings.Values, found int) problem.Problems {
	if found > 0 {
		return nil
	}
	if len(o.NodePools) == 0 {
		return problem.Problems{problem.New(problem.NodePoolMissing, problem.Subject{}, nil)}
	}
	if base.Network != "auto" && base.Network != "" {
		return problem.Problems{problem.New(problem.NetworkNotNamed, problem.Subject{}, problem.Args{"network": {base.Network}}, network.KeyNetwork, network.FieldAdditionalNetworks)}
	}
	return problem.Problems{problem.New(problem.NoNetworkNamed, problem.Subject{}, nil, network.FieldAdditionalNetworks, network.KeyNetwork)}
}

// Lasting returns o without the NodePools that are being deleted. Such a NodePool remains as long as VMs are on a network
// that no other NodePool names.
func Lasting(o objects.Objects) objects.Objects {
	deleting := func(np hyperv1.NodePool) bool { return np.DeletionTimestamp != nil }
	if !slices.ContainsFunc(o.NodePools, deleting) {
		return o
	}
	alone := map[network.Attachment]bool{}
	for _, a := range vmAttachments(o) {
		alone[a] = true
	}
	for _, np := range o.NodePools {
		for _, a := range objects.Attachments(o.HostedCluster, np) {
			alone[a] = alone[a] && deleting(np)
		}
	}
	o.NodePools = network.Without(o.NodePools, func(np hyperv1.NodePool) bool {
		return deleting(np) && !slices.ContainsFunc(objects.Attachments(o.HostedCluster, np), func(a network.Attachment) bool { return alone[a] })
	})
	return o
}

// Wanted returns the names of the networks that must not be removed. These are the networks that NodePools name, and
// those that VMs still use, even if only the plan in force, last, has them. If annotation network selects a network,
// NodePools count only for this network and for those that they boot from.
func Wanted(o objects.Objects, last network.Plan) []string {
	boots := map[network.Attachment]bool{}
	for _, np := range o.NodePools {
		if from, ok := bootNetwork(o.HostedCluster, np); ok {
			boots[from] = true
		}
	}
	selected := objects.Selected(o.HostedCluster)
	named := slices.DeleteFunc(objects.NamedNADs(o), func(a network.Attachment) bool { return !selects(selected, a) && !boots[a] })
	return networkNames(slices.Concat(named, vmAttachments(o), stillOn(o, last)))
}

// Unselected returns the names of the networks that VMs use although annotation network does not select them.
func Unselected(o objects.Objects) []string {
	return networkNames(slices.DeleteFunc(vmAttachments(o), func(a network.Attachment) bool { return selects(objects.Selected(o.HostedCluster), a) }))
}

// InUse returns the names of the networks that VMs of o are on, sorted and without duplicates. VMs are on the networks
// in their specs, and may still be on others of last, the plan in force. Each network of that plan that is the same
// layer-2 network as one of these also counts. InUse reads only VMs and NetworkAttachmentDefinitions of o.
func InUse(o objects.Objects, last network.Plan) []string {
	return namesOn(o, append(vmAttachments(o), stillOn(o, last)...), last)
}

// BootedFrom returns the names of the networks of InUse that VMs of o boot from. A VM boots from its first network,
// unless that is the pod network.
func BootedFrom(o objects.Objects, last network.Plan) []string {
	booted := vmBoots(o)
	for _, a := range stillOn(o, last) {
		if slices.ContainsFunc(last.Networks, func(n network.Network) bool { return n.Primary && n.Name == a.NetworkName() }) {
			booted = append(booted, a)
		}
	}
	return namesOn(o, booted, last)
}

func namesOn(o objects.Objects, all []network.Attachment, last network.Plan) []string {
	on, x, seen := slices.Clone(all), index(o), map[network.Attachment]bool{}
	for _, used := range all {
		if seen[used] {
			continue // Several VMs use this network.
		}
		seen[used] = true
		if found, ok := x.nad(used); ok {
			used.Layer2 = Layer2(found)
		}
		on = append(on, slices.DeleteFunc(last.Attachments(), func(a network.Attachment) bool { return !used.SameNetwork(a) })...)
	}
	return networkNames(on)
}

func networkNames(all []network.Attachment) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.NetworkName())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
