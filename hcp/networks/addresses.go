// This file decides the CIDR, the gateway and the other requested addresses of each network. Package derive decides the
// purpose of each address.

package networks

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/hcp/objects"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// fieldMachineNetwork is the field of the HostedCluster that has the VMs' CIDR.
const fieldMachineNetwork = "spec.networking.machineNetwork"

// setAddresses sets the CIDR and the gateway of each network. The precedence is:
//
//  1. NodePools
//  2. the HostedCluster: its CIDR applies to the network at index home only
//  3. the NetworkAttachmentDefinition
//
// Other addresses of the HostedCluster apply to the network whose CIDR contains them. home is -1 if the
// HostedCluster's CIDR applies to no network.
func setAddresses(all []merged, home int, o indexed, base settings.Values) {
	if home >= 0 && !all[home].CIDR.IsValid() {
		all[home].CIDR = clusterCIDR(o.HostedCluster, base)
		all[home].CIDRField = "annotation " + network.KeyCIDR + " or " + fieldMachineNetwork
		all[home].CIDRKeys = []string{network.KeyCIDR, fieldMachineNetwork}
	} else if home >= 0 && base.CIDR.IsValid() {
		h := &all[home]
		h.problems = append(h.problems, h.overriding(network.KeyCIDR, h.CIDR.String(), base.CIDR.String())...)
	}
	for i := range all {
		s := &all[i]
		own := s.ofNAD
		s.problems = append(slices.Clone(s.problems), s.ofNADProblems...)
		switch {
		case s.CIDR.IsValid():
		case own.CIDR.IsValid():
			s.CIDR, s.CIDRField, s.CIDRKeys = own.CIDR, own.CIDRField, own.CIDRKeys
		case i != home:
			s.CIDRField, s.CIDRKeys = cidrOptions(s.NetworkRequest, s.listedFirst)
		}
	}
	setContained(all, home, base)
	setClientNetworks(all, home, base)
	for i := range all {
		s := &all[i]
		s.takeOfNAD()
		s.problems = append(s.problems, unusedOfNAD(o, s.NetworkRequest, s.ofNAD)...)
	}
}

// takeOfNAD sets in s the values of its NAD that no other object overrides.
func (s *merged) takeOfNAD() {
	all := settings.OfNetwork(s.NetworkRequest)
	for _, k := range ofNetworkAttachmentDefinitions() {
		overrides := k.NADFirst && !slices.Contains(s.ofNodePools, k.Name)
		if k.IsSet(s.ofNAD) && (overrides || !k.IsSet(all)) {
			k.Take(&all, s.ofNAD)
		}
	}
	all.SetNetwork(&s.NetworkRequest)
}

func ofNetworkAttachmentDefinitions() []settings.Key {
	return slices.DeleteFunc(settings.Keys(), func(k settings.Key) bool {
		return k.For == settings.WholeCluster || !slices.Contains(k.On, settings.OnNetworkAttachmentDefinition)
	})
}

// setClientNetworks sets the client networks of each network for which NodePools set none. If VMs boot from networks
// with a gateway, the HostedCluster's values apply to these. Otherwise they apply to the network at index home, and
// Derive reports that they need a gateway.
func setClientNetworks(all []merged, home int, base settings.Values) {
	answers := func(s merged) bool { return s.Primary && (s.Gateway.IsValid() || s.ofNAD.Gateway.IsValid()) }
	gateway, k := slices.ContainsFunc(all, answers), settings.Named(network.KeyClientNetworks)
	for i := range all {
		s := &all[i]
		switch {
		case len(base.ClientNetworks) == 0 || !answers(*s) && (gateway || i != home):
		case len(s.Settings.ClientNetworks) == 0:
			s.Settings.ClientNetworks = base.ClientNetworks
		default:
			s.problems = append(s.problems, s.overriding(k.Name, k.Text(settings.OfNetwork(s.NetworkRequest)), k.Text(base))...)
		}
	}
}

func clusterCIDR(hc *hyperv1.HostedCluster, base settings.Values) netip.Prefix {
	if base.CIDR.IsValid() {
		return base.CIDR
	}
	return machineNetwork(hc)
}

// cidrOptions returns where a user can set the CIDR of a network other than home, as text and as annotation keys.
func cidrOptions(s network.NetworkRequest, first bool) (field string, keys []string) {
	own := fmt.Sprintf("%s on NetworkAttachmentDefinition %s", network.KeyCIDR, s.Attachment)
	if !first {
		return "annotation " + own, []string{network.KeyCIDR}
	}
	ofPool := network.KeyCIDR + "." + s.NodePools[0]
	return fmt.Sprintf("annotation %s on the HostedCluster or %s", ofPool, own), []string{ofPool, network.KeyCIDR}
}

// setContained sets the addresses of base in the network whose CIDR contains them, else in the network at index home,
// where Derive refuses them. Values of a NodePool have precedence.
func setContained(all []merged, home int, base settings.Values) {
	for i := range all {
		s := &all[i]
		others := func(p settings.Part) bool {
			return !p.Within(s.CIDR) && (i != home || within(all, p.Addresses))
		}
		own := settings.OfNetwork(s.NetworkRequest)
		for _, k := range settings.Keys() {
			parts := slices.DeleteFunc(k.Parts(base), others)
			switch {
			case len(parts) == 0:
			case !k.IsSet(own):
				k.SetParts(&own, parts)
			default:
				s.problems = append(s.problems, s.overriding(k.Name, k.Text(own), k.Text(base))...)
			}
		}
		own.SetNetwork(&s.NetworkRequest)
	}
}

func within(all []merged, addresses []netip.Addr) bool {
	return slices.ContainsFunc(all, func(s merged) bool { return slices.ContainsFunc(addresses, s.CIDR.Contains) })
}

// machineNetwork returns the first IPv4 entry of spec.networking.machineNetwork, or the zero Prefix.
func machineNetwork(hc *hyperv1.HostedCluster) netip.Prefix {
	for _, p := range objects.MachineNetworks(hc) {
		if p.Addr().Is4() {
			return p
		}
	}
	return netip.Prefix{}
}
