// This file decides which network is the home network: the one that gets the CIDR of the HostedCluster. A network in
// use keeps its CIDR, even if NodePools are created, deleted or recreated.

package networks

import (
	"net/netip"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// homeNetwork returns the index of the network that the HostedCluster's addresses apply to, or -1. primary are the
// indexes of the networks that VMs boot from, by the age of the NodePools. last is the plan in force. keepsOwn is
// true if the network keeps the CIDR of its NetworkAttachmentDefinition instead of the HostedCluster's. The result is
// the first of these that exists:
//
//  1. the network that runs with the CIDR of the HostedCluster
//  2. the network of the oldest NodePool, of those without a CIDR of their own
//  3. the network of the oldest NodePool, of those that do not run with the CIDR of their
//     NetworkAttachmentDefinition
//  4. the network of the oldest NodePool, which keeps its own
//
// Ages decide late, because a restore gives all NodePools one age.
func homeNetwork(all []merged, primary []int, o indexed, base settings.Values, last network.Plan) (home int, keepsOwn bool) {
	cidr := clusterCIDR(o.HostedCluster, base)
	if len(primary) == 0 {
		return -1, false
	}
	if !cidr.IsValid() {
		return primary[0], false
	}
	running := func(i int, cidr netip.Prefix) bool {
		return cidr.IsValid() && slices.ContainsFunc(last.Networks, func(n network.Network) bool {
			return n.Primary && n.Name == all[i].Attachment.NetworkName() && n.CIDR == cidr.Masked()
		})
	}
	runsWithOwn := func(i int) bool {
		own := all[i].ofNAD.CIDR
		return !all[i].CIDR.IsValid() && own != cidr && running(i, own)
	}
	for _, i := range primary {
		if !all[i].CIDR.IsValid() && running(i, cidr) && all[i].ofNAD.CIDR != cidr {
			return i, false
		}
	}
	for _, i := range slices.Concat(network.Without(primary, func(i int) bool { return all[i].hasCIDR() }), primary) {
		if !runsWithOwn(i) {
			return i, false
		}
	}
	return primary[0], true
}

// hasCIDR reports whether s has a CIDR without the one of the HostedCluster.
func (s merged) hasCIDR() bool { return s.CIDR.IsValid() || s.ofNAD.CIDR.IsValid() }

// nadValues returns the values of a's NAD and their problems, if o has the NAD.
func nadValues(o indexed, a network.Attachment) (settings.Values, problem.Problems) {
	found, _ := o.nad(a)
	return settings.Overlay(settings.Values{}, settings.OnNetworkAttachmentDefinition, a.String(), found.Annotations)
}

// keepOwnCIDR sets the CIDR of s, a network in use, to the CIDR of its NAD. A problem says that cidr, of the HostedCluster,
// has no effect while the plan in force is known.
func (s *merged) keepOwnCIDR(cidr netip.Prefix) {
	own := s.ofNAD
	s.CIDR, s.CIDRField, s.CIDRKeys = own.CIDR, own.CIDRField, own.CIDRKeys
	delete(s.without, network.KeyCIDR)
	s.problems = append(slices.Clone(s.problems), s.Attachment.Problem(problem.ClusterCIDRNotTaken,
		problem.Args{"value": {cidr.String()}, "cidr": {own.CIDR.String()}}, network.KeyCIDR))
}

// cidrByName returns a hint if two NodePools have the same age, so that only their names decide which network gets the
// HostedCluster's CIDR.
func cidrByName(o indexed, all []merged, home int, base settings.Values) problem.Problems {
	cidr := clusterCIDR(o.HostedCluster, base)
	if home < 0 || all[home].CIDR.IsValid() || !cidr.IsValid() {
		return nil
	}
	candidates := map[network.Attachment]bool{}
	for _, x := range all {
		candidates[x.Attachment] = x.hasCIDR() == all[home].hasCIDR()
	}
	bootsFrom := func(np hyperv1.NodePool) network.Attachment {
		from, _ := bootNetwork(o.HostedCluster, np)
		return from
	}
	pools := slices.DeleteFunc(oldestFirst(o.NodePools), func(np hyperv1.NodePool) bool { return !candidates[bootsFrom(np)] })
	if bootsFrom(pools[0]) != all[home].Attachment {
		return nil // the plan in force decided, not the names
	}
	for _, np := range pools[1:] {
		if objects.SameAge(&pools[0], &np) && bootsFrom(np) != all[home].Attachment {
			return problem.Problems{all[home].Attachment.Problem(problem.NetworkCIDRByName,
				problem.Args{"cidr": {cidr.String()}, "nodePool": {pools[0].Name}, "otherNodePool": {np.Name}},
				network.KeyCIDR+"."+pools[0].Name, network.KeyCIDR+"."+np.Name)}
		}
	}
	return nil
}
