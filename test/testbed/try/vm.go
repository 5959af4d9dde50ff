// This file is the VM, and prints what it does. It gets an address, resolves names, requests the time, and connects to the services
// of the control plane.

package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// most is the largest number of services that are tried, so that the output fits on one screen.
const most = 6

// otherName is a name that is in no plan.
const otherName = "www.example.net"

// boot does what the VM does, and prints the answers. It returns an error at the first missing answer.
func (s *stage) boot(ctx context.Context) error {
	n := s.network()
	fmt.Fprintf(s.out, "\nNetwork %s: edge %d serves a VM\n", n.Attachment, n.Edges[0].Number)
	lease, err := s.vm.AskDHCP(ctx, await.Patience)
	if err != nil {
		return err
	}
	s.row("DHCP", lines(lease)...)
	for _, ask := range []func(context.Context) error{s.resolve, s.askTime, s.dial} {
		if err := ask(ctx); err != nil {
			return err
		}
	}
	return nil
}

// row prints the lines about one protocol.
func (s *stage) row(protocol string, lines ...string) {
	for _, line := range lines {
		fmt.Fprintf(s.out, "  %-5s %s\n", protocol, line)
		protocol = ""
	}
}

func lines(l machine.Lease) []string {
	out := []string{fmt.Sprintf("%s for %s from %s", l.Address, network.Duration(l.Duration), l.Server)}
	for _, r := range l.Routes {
		out = append(out, fmt.Sprintf("route %s via %s", r.Destination, r.Via))
	}
	for _, option := range []struct {
		name   string
		values []string
	}{{"DNS server", network.Texts(l.DNS)}, {"search domain", l.Search}, {"NTP server", network.Texts(l.NTP)}} {
		if len(option.values) > 0 {
			out = append(out, option.name+" "+strings.Join(option.values, ", "))
		}
	}
	return out
}

// places returns the names and addresses of an endpoint that VMs dial, without wildcards.
func places(e network.Endpoint) []string {
	names := slices.DeleteFunc(slices.Clone(e.Hosts), func(h string) bool { return strings.HasPrefix(h, "*") })
	return append(names, network.Texts(e.Addresses)...)
}

// runs reports whether the edge runs a server.
func (s *stage) runs(server network.Service) bool {
	return slices.Contains(s.network().Services, server)
}

// isName reports whether a place is a DNS name, not an address.
func isName(place string) bool {
	_, err := netip.ParseAddr(place)
	return err != nil
}

// dialed returns the endpoints whose backend is a stand-in, the API server first. If the edge serves no DNS, they have no names.
func (s *stage) dialed() (out []network.Endpoint) {
	for _, e := range s.plan.Endpoints {
		served := slices.ContainsFunc(s.standIns(), func(b network.Backend) bool { return b.Name == e.Backend.Name })
		all := places(e)
		switch {
		case e.Former || !served || len(all) == 0 || isName(all[0]) && !s.runs(network.ServiceDNS):
		case e.Backend.IsAPI():
			out = append([]network.Endpoint{e}, out...)
		default:
			out = append(out, e)
		}
	}
	return out[:min(most, len(out))]
}

// resolve resolves the names of the control plane on the VM, and one that is not in the plan.
func (s *stage) resolve(ctx context.Context) error {
	if !s.runs(network.ServiceDNS) {
		return nil
	}
	var all []string
	for _, e := range s.dialed() {
		host := places(e)[0]
		if !isName(host) {
			continue
		}
		out, err := s.vm.Output(ctx, "getent", "ahostsv4", host)
		if err != nil {
			return fmt.Errorf("%s has no address: %w", host, err)
		}
		address, _, _ := strings.Cut(string(out), " ")
		all = append(all, host+" is "+address)
	}
	if s.network().DNS.Upstreams.Mode == network.UpstreamNone { // Upstream servers do not exist here.
		if out, err := s.vm.Output(ctx, "getent", "ahostsv4", otherName); err == nil {
			return fmt.Errorf("%s has an address that is not in the plan: %s", otherName, out)
		}
		all = append(all, otherName+" has no address: other names do not exist here")
	}
	s.row("DNS", all...)
	return ctx.Err()
}

// askTime requests the time from the edge.
func (s *stage) askTime(ctx context.Context) error {
	if !s.runs(network.ServiceNTP) {
		return nil
	}
	told, err := s.vm.AskTime(ctx, s.network().ServiceVIP, time.Minute)
	if err != nil {
		return err
	}
	s.row("NTP", fmt.Sprintf("%s, stratum %d, differs by %s", told.Server, told.Stratum, told.Offset.Round(time.Microsecond)))
	if build.PlaysClock() {
		s.row("", "(no program synchronizes the clock here; the edge acts as if one did)")
	}
	return nil
}

// dial connects to each endpoint, through Envoy. The VM verifies the certificate for the name or address that it dials.
func (s *stage) dial(ctx context.Context) error {
	if !s.runs(network.ServiceProxy) {
		return nil
	}
	var all []string
	for _, e := range s.dialed() {
		at := places(e)[0] + ":" + strconv.Itoa(int(e.Port))
		answer, err := s.vm.Ask(ctx, "https://"+at+"/", nil, s.ca)
		if err != nil {
			return err
		}
		if answer.Body != e.Backend.Service {
			return fmt.Errorf("%s is answered by %q, and the plan has Service %s", at, answer.Body, e.Backend.Service)
		}
		all = append(all, at, "  certificate verified; stand-in for Service "+answer.Body)
	}
	if len(all) == 0 {
		all = []string{"not tried: the plan has no Service of the control plane yet"}
	}
	if slices.ContainsFunc(s.network().Backends, func(b network.Backend) bool { return b.Kind != network.BackendPods }) {
		all = append(all, "not tried: *.apps and external hosts")
	}
	s.row("TLS", all...)
	return nil
}
