// This file decides what a segment's addresses are: its CIDR, and what was said
// of addresses for the whole cluster. Which address is for what is decided in
// network.

package hcp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// fieldMachineNetwork is where HyperShift has the CIDR of VMs.
const fieldMachineNetwork = "spec.networking.machineNetwork"

// giveAddresses gives each segment its CIDR and gateway, the strongest word
// first: what NodePools said stays; the cluster's CIDR is for home alone, since
// a second network never takes the first one's; then what definitions say. What
// else the HostedCluster says of addresses is for the segment that they lie in.
func giveAddresses(all []joined, home int, o Objects, base settings.Values) network.Problems {
	if home >= 0 && !all[home].CIDR.IsValid() {
		all[home].CIDR = base.CIDR
		if !base.CIDR.IsValid() {
			all[home].CIDR = machineNetwork(o.HostedCluster)
		}
		all[home].CIDRField = "annotation " + settings.KeyCIDR + " or " + fieldMachineNetwork
		all[home].CIDRKeys = []string{settings.KeyCIDR, fieldMachineNetwork}
	}
	var problems network.Problems
	gateways := make([]netip.Addr, len(all))
	for i := range all {
		s := &all[i]
		found, _ := definition(o, s.Attachment)
		said, ps := settings.Overlay(settings.Values{}, settings.OnNetworkAttachmentDefinition, s.Attachment.String(), found.Annotations)
		for _, p := range ps {
			problems = append(problems, leftOut(s.NetworkRequest, p))
		}
		gateways[i] = said.Gateway
		switch {
		case s.CIDR.IsValid():
		case said.CIDR.IsValid():
			s.CIDR, s.CIDRField, s.CIDRKeys = said.CIDR, said.CIDRField, []string{said.CIDRKey}
		case i != home:
			s.CIDRField, s.CIDRKeys = cidrWanted(s.NetworkRequest, s.said)
		}
		if !s.CIDR.IsValid() {
			s.CIDRUnused, s.CIDRFound = unusedMachineNetwork(o.HostedCluster, i == home, home >= 0)
		}
	}
	giveWithin(all, home, base)
	for i := range all {
		if !all[i].Gateway.IsValid() {
			all[i].Gateway = gateways[i]
		}
	}
	return problems
}

// cidrWanted is where the CIDR of a further network may be set, for people and as
// keys.
func cidrWanted(s network.NetworkRequest, first bool) (field string, keys []string) {
	own := fmt.Sprintf("%s on NetworkAttachmentDefinition %s", settings.KeyCIDR, s.Attachment)
	if !first {
		return "annotation " + own, []string{settings.KeyCIDR}
	}
	ofPool := settings.KeyCIDR + "." + s.NodePools[0]
	return fmt.Sprintf("annotation %s on the HostedCluster or %s", ofPool, own), []string{ofPool, settings.KeyCIDR}
}

// giveWithin gives what base says of addresses to the segments in whose CIDR they
// lie, and to home what lies in none, where it is refused. What a NodePool says
// itself stays.
func giveWithin(all []joined, home int, base settings.Values) {
	for i := range all {
		s := &all[i]
		mine := func(addresses ...netip.Addr) bool {
			return slices.ContainsFunc(addresses, s.CIDR.Contains) || i == home && !within(all, addresses)
		}
		own, set := base.Settings, &s.Settings
		if !s.Gateway.IsValid() && mine(base.Gateway) {
			s.Gateway = base.Gateway
		}
		if len(set.EdgeAddresses) == 0 && mine(own.EdgeAddresses...) {
			set.EdgeAddresses = own.EdgeAddresses
		}
		if !set.DHCPRange.First.IsValid() && mine(own.DHCPRange.First, own.DHCPRange.Last) {
			set.DHCPRange = own.DHCPRange
		}
		if len(set.DHCPExclude) == 0 {
			set.DHCPExclude = slices.DeleteFunc(slices.Clone(own.DHCPExclude), func(r network.Range) bool {
				return !mine(r.First, r.Last) && !r.Contains(s.CIDR.Addr())
			})
		}
		if len(set.Reservations) == 0 {
			set.Reservations = slices.DeleteFunc(slices.Clone(own.Reservations), func(r network.Reservation) bool { return !mine(r.Address) })
		}
	}
}

// within says whether one of addresses lies in a CIDR of all.
func within(all []joined, addresses []netip.Addr) bool {
	return slices.ContainsFunc(all, func(s joined) bool { return slices.ContainsFunc(addresses, s.CIDR.Contains) })
}

// machineNetwork is the IPv4 entry of spec.networking.machineNetwork, which
// HyperShift validates and, on KubeVirt, otherwise leaves alone.
func machineNetwork(hc *hyperv1.HostedCluster) netip.Prefix {
	for _, m := range hc.Spec.Networking.MachineNetwork {
		if p, err := netip.ParsePrefix(m.CIDR.String()); err == nil && p.Addr().Is4() {
			return p.Masked()
		}
	}
	return netip.Prefix{}
}

// unusedMachineNetwork is why what spec.networking.machineNetwork has is not the
// CIDR of a segment that has none, and what it has. Empty: it has nothing.
func unusedMachineNetwork(hc *hyperv1.HostedCluster, isHome, hasHome bool) (why network.Cause, found string) {
	var four, all []string
	for _, m := range hc.Spec.Networking.MachineNetwork {
		all = append(all, m.CIDR.String())
		if p, err := netip.ParsePrefix(m.CIDR.String()); err == nil && p.Addr().Is4() {
			four = append(four, p.String())
		}
	}
	switch {
	case len(all) == 0:
		return "", ""
	case len(four) == 0:
		return network.NetworkCIDROnlyIPv6, strings.Join(all, ", ")
	case !hasHome:
		return network.NetworkCIDRForBootOnly, four[0]
	case !isHome && len(four) > 1:
		return network.NetworkCIDRAmbiguous, four[1]
	}
	return "", ""
}
