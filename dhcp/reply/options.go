// This file decides the options of a reply (RFC 2132, 3397, 3442, 4702).

package reply

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/network"
)

// offers are the options of the plan for one client, sorted by code. Each has a value.
type offers []option

// mostOffers is how many options a client may get.
const mostOffers = 16

// offersTo returns the options of the plan for the client of request. An empty vm: an unknown
// client.
func offersTo(n network.Network, vm string, request *dhcpv4.DHCPv4) offers {
	d := n.DHCP
	out := make(offers, 0, mostOffers)
	put := func(code dhcpv4.OptionCode, value []byte) {
		if len(value) > 0 {
			out = append(out, option{code.Code(), value})
		}
	}
	put(dhcpv4.OptionSubnetMask, mask(n.CIDR))
	if d.Router.IsValid() {
		put(dhcpv4.OptionRouter, d.Router.AsSlice())
	}
	put(dhcpv4.OptionDomainNameServer, addresses(d.DNSServers...))
	put(dhcpv4.OptionHostName, []byte(vm))
	if len(d.SearchDomains) > 0 {
		put(dhcpv4.OptionDomainName, []byte(d.DomainName))
	}
	if d.MTU > 0 && d.MTU <= 0xffff {
		put(dhcpv4.OptionInterfaceMTU, binary.BigEndian.AppendUint16(nil, uint16(d.MTU)))
	}
	put(dhcpv4.OptionBroadcastAddress, Broadcast(n.CIDR).AsSlice())
	put(dhcpv4.OptionNTPServers, addresses(n.TimeServers()...))
	if sent, ok := request.Options[dhcpv4.OptionFQDN.Code()]; ok {
		put(dhcpv4.OptionFQDN, clientName(sent, vm, d.DomainName != "" && slices.Contains(n.Services, network.ServiceDNS)))
	}
	put(dhcpv4.OptionDNSDomainSearchList, searchList(d.SearchDomains))
	put(dhcpv4.OptionClasslessStaticRoute, routes(d.Routes))
	return out
}

// of returns the option with a code. False: it is not among the offers.
func (o offers) of(code uint8) (option, bool) {
	for _, x := range o {
		if x.code == code {
			return x, true
		}
	}
	return option{}, false
}

// PutTimes sets the lease time (51), T1 (58) and T2 (59). T1 varies by MAC around half of the
// lease time: VMs that started together do not always renew together.
func PutTimes(out dhcpv4.Options, lease time.Duration, mac string) {
	spread := time.Duration(place(mac)%1000) * lease / 10 / 1000
	out[dhcpv4.OptionIPAddressLeaseTime.Code()] = seconds(lease)
	out[dhcpv4.OptionRenewTimeValue.Code()] = seconds(lease*45/100 + spread)
	out[dhcpv4.OptionRebindingTimeValue.Code()] = seconds(lease * 875 / 1000)
}

func seconds(d time.Duration) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(min(d/time.Second, 0xffffffff)))
}

func mask(p netip.Prefix) []byte {
	return binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-p.Bits()))
}

// Broadcast returns the broadcast address of p.
func Broadcast(p netip.Prefix) netip.Addr {
	return network.AddressOf(network.Number(p.Masked().Addr()) | uint32(1<<(32-p.Bits())-1))
}

func addresses(in ...netip.Addr) []byte {
	out := make([]byte, 0, 4*len(in))
	for _, a := range in {
		out = append(out, a.AsSlice()...)
	}
	return out
}

// routes encodes option 121 (RFC 3442).
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
