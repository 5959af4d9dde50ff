// This file says what machines will miss: the parts of a cluster that work on a
// routed network and not on this one. It never blocks.

package hcp

import (
	"fmt"
	"net/netip"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/network"
)

// notServed completes in with the name of the applications' ingress where the
// user gave its address, and says what stays unreachable.
func notServed(o Objects, in network.Intent, s settings) network.Problems {
	var problems network.Problems
	problems = append(problems, apps(o.HostedCluster, in, s)...)
	problems = append(problems, images(o.HostedCluster, in)...)
	for _, m := range o.HostedCluster.Spec.Networking.MachineNetwork {
		if p, err := netip.ParsePrefix(m.CIDR.String()); err == nil && p.Addr().Is6() {
			problems = append(problems, network.Problem{Reason: network.IPv6NotServed, Field: "spec.networking.machineNetwork",
				Detail: fmt.Sprintf("%s is not served: machines get IPv4 only.", p)})
		}
	}
	return problems
}

// apps needs the guest's ingress to answer on the network, or the console and
// ingress operators of the hosted cluster stay degraded.
func apps(hc *hyperv1.HostedCluster, in network.Intent, s settings) network.Problems {
	d := appsDomain(hc)
	if d == "" || !hasPrimary(in) {
		return nil
	}
	name := "*." + d
	if s.apps.IsValid() {
		for i := range in.Segments {
			if in.Segments[i].Primary {
				set := &in.Segments[i].Settings
				set.Records = append(append([]network.Record{}, set.Records...), network.Record{Name: name, Addresses: []netip.Addr{s.apps}})
			}
		}
		return nil
	}
	for _, r := range s.Records {
		if r.Name == name {
			return nil
		}
	}
	return network.Problems{{Reason: network.AppsUnreachable, Field: Prefix + keyAppsAddress, Detail: fmt.Sprintf(
		"%s is not answered, so the hosted cluster's console and ingress operators stay degraded. Set %s to an address that serves it on port 443.", name, Prefix+keyAppsAddress)}}
}

// images names the registry that nodes must reach before they are Ready and, on
// a network without a gateway, can't.
func images(hc *hyperv1.HostedCluster, in network.Intent) network.Problems {
	for _, s := range in.Segments {
		if s.Primary && !s.Gateway.IsValid() {
			host, _, _ := strings.Cut(hc.Spec.Release.Image, "/")
			return network.Problems{{Reason: network.ImagesUnreachable, Field: Prefix + keyGateway, Detail: fmt.Sprintf(
				"network %s has no gateway, so its machines can't pull the release image from %s, nor from the hosts it redirects to. Give them a mirror on the network (and %sdns-records for its name), or set %s.",
				s.Attachment, host, Prefix, Prefix+keyGateway)}}
		}
	}
	return nil
}

func hasPrimary(in network.Intent) bool {
	for _, s := range in.Segments {
		if s.Primary {
			return true
		}
	}
	return false
}
