// This file translates the annotations about management access, with the addresses that other annotations give to names.
// Package derive decides what is opened.

package hcp

import (
	"net/netip"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// access returns what the annotations of hc, in s, open to the management cluster.
func access(hc *hyperv1.HostedCluster, s settings.Values) network.AccessRequest {
	out := s.Access
	out.Entries = slices.Clone(s.Access.Entries)
	for i, e := range out.Entries {
		switch {
		case e.Destination == network.AccessApps:
			out.Apps = appsNamed(hc, s)
		case !slices.Contains([]string{network.AccessNodes, network.AccessLoadBalancers}, e.Destination) && len(e.Addresses) == 0:
			out.Entries[i].Addresses = recorded(s.Records, e.Destination)
		}
	}
	return out
}

// appsNamed returns the name of the ingress of hc, with the addresses that s sets for the ingress. It returns the zero
// Record if hc has no ingress, or if the domain of the ingress is not known yet.
func appsNamed(hc *hyperv1.HostedCluster, s settings.Values) network.Record {
	r := network.Record{Name: ingress.Name(hc)}
	if r.Name == "" {
		return r
	}
	if r.Addresses = recorded(s.Records, r.Name); s.AppsAddress.IsValid() {
		r.Addresses = []netip.Addr{s.AppsAddress}
	}
	return r
}

// recorded returns the addresses that records give to name, which must be in lower case.
func recorded(records []network.Record, name string) []netip.Addr {
	var out []netip.Addr
	for _, r := range records {
		if r.Name == name {
			out = append(out, r.Addresses...)
		}
	}
	return out
}
