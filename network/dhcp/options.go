// This file decides the options of a reply (RFC 2132, 3397, 3442), and which are left
// out if the client's packet is too small.

package dhcp

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/rfc1035label"

	"github.com/cldmnky/oooi/network"
)

const (
	// ipHeaders of IP and UDP, which option 57 includes.
	ipHeaders = 28
	// fixedPart of a message before its options, including the magic cookie.
	fixedPart = 240
	// Every client accepts 576 bytes (RFC 2131 section 2). A message never exceeds an
	// Ethernet frame.
	leastMessage, mostMessage = 576, 1500
)

// needed options come first, so that they are left out last: without one of them a VM
// reaches nothing.
var needed = [...]uint8{
	dhcpv4.OptionSubnetMask.Code(), dhcpv4.OptionClasslessStaticRoute.Code(), dhcpv4.OptionRouter.Code(), dhcpv4.OptionDomainNameServer.Code(),
}

// offers returns the options of the plan for a client.
func offers(n network.Network, vm string) dhcpv4.Options {
	d := n.DHCP
	out := dhcpv4.Options{}
	put := func(code dhcpv4.OptionCode, value []byte) {
		if len(value) > 0 {
			out[code.Code()] = value
		}
	}
	put(dhcpv4.OptionSubnetMask, mask(n.CIDR))
	put(dhcpv4.OptionBroadcastAddress, broadcast(n.CIDR).AsSlice())
	put(dhcpv4.OptionDomainNameServer, addresses(d.DNSServers...))
	put(dhcpv4.OptionNTPServers, addresses(d.NTPServers...))
	put(dhcpv4.OptionHostName, []byte(vm))
	put(dhcpv4.OptionDomainName, []byte(d.DomainName))
	put(dhcpv4.OptionClasslessStaticRoute, routes(d.Routes))
	if d.Router.IsValid() {
		put(dhcpv4.OptionRouter, d.Router.AsSlice())
	}
	if d.MTU > 0 && d.MTU <= 0xffff {
		put(dhcpv4.OptionInterfaceMTU, binary.BigEndian.AppendUint16(nil, uint16(d.MTU)))
	}
	if len(d.SearchDomains) > 0 {
		put(dhcpv4.OptionDNSDomainSearchList, (&rfc1035label.Labels{Labels: d.SearchDomains}).ToBytes())
	}
	return out
}

// timed returns the lease time (51), T1 (58) and T2 (59). T1 varies around half of the
// lease time, so that VMs that started together do not renew together for ever.
func timed(lease time.Duration, mac string) dhcpv4.Options {
	spread := time.Duration(place(mac)%1000) * lease / 10 / 1000
	return dhcpv4.Options{
		dhcpv4.OptionIPAddressLeaseTime.Code(): seconds(lease),
		dhcpv4.OptionRenewTimeValue.Code():     seconds(lease*45/100 + spread),
		dhcpv4.OptionRebindingTimeValue.Code(): seconds(lease * 875 / 1000),
	}
}

// fill adds to m the options of may that the client requests (option 55; without it,
// all). The needed ones come first, the others in the client's order, as long as they
// fit (option 57). It returns those that do not fit.
func fill(m, request *dhcpv4.DHCPv4, may dhcpv4.Options) (left []uint8) {
	room := leastMessage
	if size, err := request.MaxMessageSize(); err == nil {
		room = min(max(int(size), leastMessage), mostMessage)
	}
	room -= ipHeaders + fixedPart + len(m.Options.ToBytes()) + 1
	for _, code := range wanted(request, may) {
		value, ok := may[code]
		if _, there := m.Options[code]; !ok || there {
			continue
		}
		// Each 255 bytes have their own header (RFC 3396).
		size := len(value) + 2*((len(value)+254)/255)
		if size > room {
			left = append(left, code)
			continue
		}
		room -= size
		m.Options[code] = value
	}
	return left
}

// wanted returns the codes that the client requests, the needed ones first.
func wanted(request *dhcpv4.DHCPv4, may dhcpv4.Options) []uint8 {
	asked := request.Options.Get(dhcpv4.OptionParameterRequestList)
	if len(asked) == 0 {
		asked = slices.Sorted(maps.Keys(may))
	}
	var out []uint8
	for _, code := range needed {
		if slices.Contains(asked, code) {
			out = append(out, code)
		}
	}
	return append(out, asked...)
}

func seconds(d time.Duration) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(min(d/time.Second, 0xffffffff)))
}

func mask(p netip.Prefix) []byte {
	return binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-p.Bits()))
}

func broadcast(p netip.Prefix) netip.Addr {
	return address(number(p.Masked().Addr()) | uint32(1<<(32-p.Bits())-1))
}

func addresses(in ...netip.Addr) []byte {
	var out []byte
	for _, a := range in {
		out = append(out, a.AsSlice()...)
	}
	return out
}

// routes encodes option 121 (RFC 3442): for each route the prefix length, the
// significant bytes of the destination, and the router.
func routes(in []network.Route) []byte {
	var out []byte
	for _, r := range in {
		p := r.Destination.Masked()
		out = append(out, byte(p.Bits()))
		out = append(out, p.Addr().AsSlice()[:(p.Bits()+7)/8]...)
		out = append(out, r.Via.AsSlice()...)
	}
	return out
}
