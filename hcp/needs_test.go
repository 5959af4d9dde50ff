package hcp_test

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A need is an address that a node dials to join, and the Service that must answer.
type need struct {
	what, host string
	port       uint16
	service    string
}

// needsOfNodes checks that VMs of each NodePool that boot from a network get all that a node needs. It reads
// HyperShift's objects and the plan on its own, as a VM would use them.
func (b *broken) needsOfNodes(o hcp.Objects, plan network.Plan) {
	for _, np := range o.NodePools {
		k := np.Spec.Platform.Kubevirt
		if k == nil || len(k.AdditionalNetworks) == 0 || k.AttachDefaultNetwork == nil || *k.AttachDefaultNetwork {
			continue
		}
		name := k.AdditionalNetworks[0].Name
		if !strings.Contains(name, "/") {
			name = hcp.ControlPlaneNamespace(o.HostedCluster) + "/" + name
		}
		i := slices.IndexFunc(plan.Networks, func(n network.Network) bool {
			return n.Attachment.String() == name || sameLayer2(o, n, name)
		})
		if i < 0 {
			b.law("NodePool %s boots from %s, which the plan does not have", np.Name, name)
			continue
		}
		b.lacks(plan.Networks[i], needs(o))
	}
}

// timeOfNodes checks that VMs have a time server, or that a problem says that they have none.
func (b *broken) timeOfNodes(plan network.Plan, problems problem.Problems) {
	for _, n := range plan.Networks {
		edges := slices.Contains(n.Services, network.ServiceNTP)
		said := slices.ContainsFunc(problems, func(p problem.Problem) bool {
			return p.Reason == problem.NTPMissing && slices.Contains(slices.Concat(p.Args["networks"], p.Args["network"]), n.Attachment.String())
		})
		lacks := len(n.TimeServers()) == 0 && n.DHCP.Router == n.NextHopVIP || slices.Contains(n.TimeServers(), n.ServiceVIP) && !edges
		switch {
		case !n.Primary && edges:
			b.law("%s: no VM boots from it, and edges serve the time there", n.Name)
		case n.Primary && lacks && !said:
			b.law("%s: VMs have no time server, and no problem says so", n.Name)
		case slices.Equal(n.TimeServers(), []netip.Addr{n.ServiceVIP}) && edges && said:
			b.law("%s: a problem says that VMs have no time server, and edges are one", n.Name)
		}
	}
}

// sameLayer2 reports whether the NAD of this name is on n, too.
func sameLayer2(o hcp.Objects, n network.Network, name string) bool {
	for _, d := range o.NetworkAttachmentDefinitions {
		if d.Namespace+"/"+d.Name == name {
			return n.Attachment.Layer2 != "" && networks.Layer2(d) == n.Attachment.Layer2
		}
	}
	return false
}

// needs are what nodes of o dial, as HyperShift publishes it.
func needs(o hcp.Objects) []need {
	hc := o.HostedCluster
	out := []need{{"API server", hc.Status.ControlPlaneEndpoint.Host, uint16(hc.Status.ControlPlaneEndpoint.Port), "kube-apiserver"}}
	ignition := need{"Ignition", hc.Status.IgnitionEndpoint, 443, "ignition-server-proxy"}
	if host, port, ok := strings.Cut(ignition.host, ":"); ok {
		n, _ := strconv.ParseUint(port, 10, 16)
		ignition.host, ignition.port = host, uint16(n)
	}
	if ignition.host == "" {
		ignition.host = routeHost(o, "ignition-server")
	}
	out = append(out, ignition)
	konnectivity := need{what: "konnectivity", service: "konnectivity-server"}
	strategy := hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
	for _, s := range hc.Spec.Services {
		if s.Service == hyperv1.Konnectivity {
			strategy = s.ServicePublishingStrategy
			break
		}
	}
	for _, s := range o.Services {
		if s.Name != konnectivity.service || len(s.Spec.Ports) == 0 {
			continue
		}
		switch {
		case strategy.Type == hyperv1.NodePort && strategy.NodePort != nil:
			konnectivity.host, konnectivity.port = strategy.NodePort.Address, uint16(s.Spec.Ports[0].NodePort)
		case strategy.Type == hyperv1.LoadBalancer:
			konnectivity.port = uint16(s.Spec.Ports[0].Port)
			for _, i := range s.Status.LoadBalancer.Ingress { // a name wins, then IPv4
				if a, err := netip.ParseAddr(i.IP); err == nil && (a.Is4() || konnectivity.host == "") {
					konnectivity.host = i.IP
				}
				if i.Hostname != "" {
					konnectivity.host = i.Hostname
					break
				}
			}
			if strategy.LoadBalancer != nil && strategy.LoadBalancer.Hostname != "" {
				konnectivity.host = strategy.LoadBalancer.Hostname
			}
		}
	}
	if strategy.Type == hyperv1.Route {
		konnectivity.host, konnectivity.port = routeHost(o, "konnectivity-server"), 443
	}
	return append(out, konnectivity)
}

func routeHost(o hcp.Objects, name string) string {
	for _, r := range o.Routes {
		if r.Name == name {
			return r.Spec.Host
		}
	}
	return ""
}

// lacks reports what a VM on n does not get or reach. What the user runs instead of oooi is not checked.
func (b *broken) lacks(n network.Network, needs []need) {
	runs := func(s network.Service) bool { return slices.Contains(n.Services, s) }
	if runs(network.ServiceDHCP) && !slices.ContainsFunc(hostsIn(n.DHCP.Range), func(a netip.Addr) bool {
		return !slices.ContainsFunc(n.DHCP.Exclude, func(r network.Range) bool { return r.Contains(a) })
	}) && len(n.DHCP.Reservations) == 0 {
		b.law("%s: the pool %s has no address", n.Name, n.DHCP.Range)
	}
	if !runs(network.ServiceProxy) {
		return
	}
	for _, x := range needs {
		addresses := []netip.Addr{}
		if a, err := netip.ParseAddr(x.host); err == nil {
			addresses = append(addresses, a)
		} else if runs(network.ServiceDNS) {
			addresses = resolved(n, strings.ToLower(x.host))
		} else {
			continue
		}
		if len(addresses) == 0 {
			b.law("%s: %s: %q has no address", n.Name, x.what, x.host)
		}
		for _, a := range addresses {
			if got := answers(n, a, x); got != x.service {
				b.law("%s: %s at %s (%s) port %d leads to %q, not to Service %s", n.Name, x.what, x.host, a, x.port, got, x.service)
			}
		}
	}
}

// hostsIn returns the first 300 addresses of r.
func hostsIn(r network.Range) []netip.Addr {
	var out []netip.Addr
	for a := r.First; a.IsValid() && r.Contains(a) && len(out) < 300; a = a.Next() {
		out = append(out, a)
	}
	return out
}

// resolved returns what n's DNS server answers VMs of n.
func resolved(n network.Network, name string) []netip.Addr {
	for _, v := range n.DNS.Views {
		if !slices.ContainsFunc(v.Clients, func(p netip.Prefix) bool { return p.Overlaps(n.CIDR) }) {
			continue
		}
		_, parent, _ := strings.Cut(name, ".")
		for _, want := range []string{name, "*." + parent} {
			for _, r := range v.Records {
				if r.Name == want {
					return r.Addresses
				}
			}
		}
	}
	return nil
}

// answers returns the Service that answers a VM's connection to a, at x's port and with its name. Empty: none.
func answers(n network.Network, a netip.Addr, x need) string {
	if a != n.ServiceVIP && !slices.Contains(n.PublishedAddresses, a) || !routed(n, a) {
		return ""
	}
	for _, l := range n.Listeners {
		if l.Address != a || l.Port != x.port {
			continue
		}
		backend := l.Default
		for _, f := range l.Forwards {
			if slices.Contains(f.ServerNames, strings.ToLower(x.host)) {
				backend = f.Backend
			}
		}
		for _, b := range n.Backends {
			if b.Name == backend {
				return b.Service
			}
		}
	}
	return ""
}

// routed reports whether VMs of n send packets for a to the edges.
func routed(n network.Network, a netip.Addr) bool {
	if !slices.Contains(n.Services, network.ServiceDHCP) {
		return true // the user's DHCP server sends the routes
	}
	longest := netip.Prefix{}
	via := netip.Addr{}
	for _, r := range n.DHCP.Routes {
		if r.Destination.Contains(a) && r.Destination.Bits() >= longest.Bits() {
			longest, via = r.Destination, r.Via
		}
	}
	return via == n.NextHopVIP || !via.IsValid() && n.CIDR.Contains(a)
}
