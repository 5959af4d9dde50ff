// This file asks for an address (RFC 2131) with a DHCPDISCOVER. It accepts no offer.

package trial

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// discoverInterval is how often a DHCPDISCOVER is sent. The second edge answers from the second
	// one on.
	discoverInterval = 3 * time.Second
	// othersWithin is how long another server may take after the first offer.
	othersWithin = 2 * time.Second
)

// address asks for an address, and returns the problems of the offers.
func (w tool) address(ctx context.Context, n network.Network) problem.Problems {
	offers, err := w.offers(ctx)
	if err != nil {
		return unread(err)
	}
	return judgeOffers(n, offers)
}

// offers returns the first offer of each server.
func (w tool) offers(ctx context.Context) (out []*dhcpv4.DHCPv4, err error) {
	c, err := socket.ListenPacket(ctx, w.device, netip.AddrPortFrom(netip.IPv4Unspecified(), dhcpv4.ClientPort))
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	discover, err := dhcpv4.NewDiscovery(w.mac, dhcpv4.WithBroadcast(true), dhcpv4.WithRequestedOptions(
		dhcpv4.OptionRouter, dhcpv4.OptionDomainNameServer, dhcpv4.OptionClasslessStaticRoute, dhcpv4.OptionInterfaceMTU))
	if err != nil {
		return nil, err
	}
	end, _ := ctx.Deadline()
	began, seen, b := time.Now(), map[string]bool{}, make([]byte, 1500)
	for next := began; time.Now().Before(end); {
		if !time.Now().Before(next) {
			discover.NumSeconds = uint16(time.Since(began) / time.Second)
			if _, err := c.WriteToUDPAddrPort(discover.ToBytes(), netip.AddrPortFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), dhcpv4.ServerPort)); err != nil {
				return nil, err
			}
			next = next.Add(discoverInterval)
		}
		until := end
		if next.Before(until) {
			until = next
		}
		if err := c.SetReadDeadline(until); err != nil {
			return nil, err
		}
		size, _, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			continue // No answer yet.
		}
		offer, err := dhcpv4.FromBytes(b[:size])
		if err != nil || offer.TransactionID != discover.TransactionID || offer.MessageType() != dhcpv4.MessageTypeOffer {
			continue
		}
		if len(out) == 0 {
			end = time.Now().Add(othersWithin)
		}
		if id := offer.ServerIdentifier().String(); !seen[id] {
			seen[id] = true
			out = append(out, offer)
		}
	}
	return out, nil
}

// judgeOffers compares offers with the plan.
func judgeOffers(n network.Network, offers []*dhcpv4.DHCPv4) problem.Problems {
	runs := n.DHCP.Range.First.IsValid()
	var ours *dhcpv4.DHCPv4
	for _, o := range offers {
		if runs && o.ServerIdentifier().String() != n.DHCP.ServerID.String() {
			return found(problem.DHCPServerBesidesOurs, offered(o))
		}
		ours = o
	}
	within := problem.Args{"within": {answersWithin.String()}}
	switch {
	case ours == nil && runs && n.DHCP.IgnoreUnknownClients:
		return found(problem.DHCPForVMsOnly, nil)
	case ours == nil && runs:
		return found(problem.DHCPSilent, within)
	case ours == nil:
		return found(problem.DHCPOfOthersSilent, within)
	}
	address, _ := netip.AddrFromSlice(ours.YourIPAddr.To4())
	switch {
	case !n.CIDR.Contains(address):
		return differs("address "+address.String(), "an address in "+n.CIDR.String())
	case len(n.DHCP.DNSServers) > 0 && servers(ours.DNS()) != network.List(n.DHCP.DNSServers):
		return differs("DNS servers "+orNone(servers(ours.DNS())), network.List(n.DHCP.DNSServers))
	case len(n.DHCP.Routes) > 0 && routes(ours) != network.RouteList(n.DHCP.Routes):
		return differs("routes "+orNone(routes(ours)), network.RouteList(n.DHCP.Routes))
	}
	return found(problem.DHCPOffered, offered(ours))
}

func differs(got, planned string) problem.Problems {
	return found(problem.DHCPOfferDiffers, problem.Args{"got": {got}, "planned": {planned}})
}

func offered(o *dhcpv4.DHCPv4) problem.Args {
	return problem.Args{"server": {o.ServerIdentifier().String()}, "address": {o.YourIPAddr.String()}}
}

func servers(all []net.IP) string {
	var out []netip.Addr
	for _, ip := range all {
		if a, ok := netip.AddrFromSlice(ip.To4()); ok {
			out = append(out, a)
		}
	}
	return network.List(out)
}

// routes returns the routes of option 121, as network.RouteList writes them.
func routes(o *dhcpv4.DHCPv4) string {
	var out []string
	for _, r := range o.ClasslessStaticRoute() {
		out = append(out, r.Dest.String()+" via "+r.Router.String())
	}
	return strings.Join(out, ", ")
}
