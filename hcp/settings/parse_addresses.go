// This file parses addresses, address ranges and MACs in annotation values.

package settings

import (
	"net"
	"net/netip"
	"strings"

	"github.com/cldmnky/oooi/network"
)

func cidr(v string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(v)
	if err != nil || !p.Addr().Is4() {
		return netip.Prefix{}, want("an IPv4 network such as 192.168.100.0/24")
	}
	if p != p.Masked() {
		return netip.Prefix{}, ValueError{network.CIDRHasHostBits, network.Args{"value": v, "want": p.Masked().String()}}
	}
	return p, nil
}

func ipv4(v string) (netip.Addr, error) {
	a, err := netip.ParseAddr(v)
	if err != nil || !a.Is4() {
		return netip.Addr{}, want("an IPv4 address such as 192.168.100.1")
	}
	return a, nil
}

// addressRange parses "first-last". A single address is a range of one.
func addressRange(v string) (network.Range, error) {
	first, last, ok := strings.Cut(v, "-")
	if !ok {
		last = first
	}
	f, err := ipv4(strings.TrimSpace(first))
	if err != nil {
		return network.Range{}, err
	}
	l, err := ipv4(strings.TrimSpace(last))
	if err != nil {
		return network.Range{}, err
	}
	if l.Less(f) {
		return network.Range{}, bad(network.RangeReversed, v)
	}
	return network.Range{First: f, Last: l}, nil
}

// addressList parses a list of addresses, or a range of at most 16 addresses.
func addressList(v string) ([]netip.Addr, error) {
	if !strings.Contains(v, "-") {
		return list(v, ipv4)
	}
	r, err := addressRange(v)
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for a := r.First; r.Contains(a); a = a.Next() {
		if out = append(out, a); len(out) > 16 {
			return nil, ValueError{network.RangeTooLong, network.Args{"value": v, "most": "16"}}
		}
	}
	return out, nil
}

func reservation(v string) (network.Reservation, error) {
	mac, addr, ok := strings.Cut(v, "=")
	hw, err := net.ParseMAC(strings.TrimSpace(mac))
	if !ok || err != nil || len(hw) != 6 {
		return network.Reservation{}, want("MAC=address such as 02:00:00:00:00:01=192.168.100.20")
	}
	a, err := ipv4(strings.TrimSpace(addr))
	return network.Reservation{MAC: hw.String(), Address: a}, err
}
