// This file has the formats of addresses, address ranges and MACs in annotation values.

package settings

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	wantCIDR          = "an IPv4 network such as 192.168.100.0/24"
	wantClientNetwork = "an IPv4 network of 8 to 32 bits such as 10.9.0.0/16"
	wantAddress       = "an IPv4 address such as 192.168.100.1"
	wantRange         = "first-last such as 192.168.100.10-192.168.100.253, or one IPv4 address"
	wantAddressList   = "IPv4 addresses separated by commas, or first-last such as 192.168.100.2-192.168.100.5"
	wantReservation   = "MAC=address such as 02:00:00:00:00:01=192.168.100.20"
)

// longestAddressList limits an address list that is written as a range.
const longestAddressList = 16

func cidrs() format[netip.Prefix] {
	masked := Requirement{Valid: "cidr(v) == cidr(v).masked()", Cause: problem.CIDRHasHostBits,
		Computed: map[string]string{"want": "string(cidr(v).masked())"}}
	return format[netip.Prefix]{cidr, []Requirement{wanted(wantCIDR, "isCIDR(v) && cidr(v).ip().family() == 4"), masked}}
}

func cidr(v string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(v)
	if err != nil || !p.Addr().Is4() {
		return netip.Prefix{}, want(wantCIDR)
	}
	if p != p.Masked() {
		return netip.Prefix{}, ValueError{problem.CIDRHasHostBits, problem.Args{"value": {v}, "want": {p.Masked().String()}}}
	}
	return p, nil
}

// clientNetworks is the format of a client network. Short prefixes are refused, because a default route would cut edges
// off from the pod network.
func clientNetworks() format[netip.Prefix] {
	long := wanted(wantClientNetwork, fmt.Sprintf("cidr(v).prefixLength() >= %d", network.MinClientBits))
	return format[netip.Prefix]{clientNetwork, append(cidrs().requirements, long)}
}

func clientNetwork(v string) (netip.Prefix, error) {
	p, err := cidr(v)
	if err == nil && p.Bits() < network.MinClientBits {
		return netip.Prefix{}, want(wantClientNetwork)
	}
	return p, err
}

func addresses() format[netip.Addr] {
	return format[netip.Addr]{ipv4, []Requirement{wanted(wantAddress, isIPv4("v"))}}
}

// isIPv4 returns the CEL expression that v is an IPv4 address. v is itself a CEL expression, which is evaluated twice.
func isIPv4(v string) string { return fmt.Sprintf("isIP(%s) && ip(%[1]s).family() == 4", v) }

func ipv4(v string) (netip.Addr, error) {
	a, err := netip.ParseAddr(v)
	if err != nil || !a.Is4() {
		return netip.Addr{}, want(wantAddress)
	}
	return a, nil
}

// isRange and numbers are CEL expressions about a range v, which has one or two addresses. numbers is the list of these
// addresses as integers.
const (
	isRange = "v.split('-').size() <= 2 && v.split('-').all(a, isIP(a.trim()) && ip(a.trim()).family() == 4)"
	numbers = "v.split('-').map(a, a.trim().split('.'))" +
		".map(n, ((int(n[0]) * 256 + int(n[1])) * 256 + int(n[2])) * 256 + int(n[3]))"
)

func addressRanges() format[network.Range] {
	return format[network.Range]{addressRange, []Requirement{wanted(wantAddress, isRange), forward("true")}}.wanting(wantRange)
}

// forward returns the requirement that a range does not end before it begins. It applies where the CEL expression when
// is true.
func forward(when string) Requirement {
	return Requirement{Valid: fmt.Sprintf("!(%s) || [%s].all(n, n[0] <= n[n.size() - 1])", when, numbers), Cause: problem.RangeReversed}
}

// addressRange parses "first-last", or a single address.
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
		return network.Range{}, bad(problem.RangeReversed, v)
	}
	return network.Range{First: f, Last: l}, nil
}

func addressLists() format[[]netip.Addr] {
	const oneRange = "v.contains('-')"
	short := fmt.Sprintf("!%s || [%s].all(n, n[1] - n[0] < %d)", oneRange, numbers, longestAddressList)
	return format[[]netip.Addr]{addressList, []Requirement{
		tooLong(commaSeparated),
		wanted(wantAddress, fmt.Sprintf("%s ? %s : v.split(',').all(a, %s)", oneRange, isRange, isIPv4("a.trim()"))),
		forward(oneRange),
		{Valid: short, Cause: problem.RangeTooLong, Args: problem.Args{"most": {fmt.Sprint(longestAddressList)}}},
	}}.wanting(wantAddressList)
}

// addressList parses a list of addresses, or a range of at most longestAddressList addresses.
func addressList(v string) ([]netip.Addr, error) {
	if err := limited(v); err != nil || !strings.Contains(v, "-") {
		return limitedList(v, ipv4)
	}
	r, err := addressRange(v)
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for a := r.First; r.Contains(a); a = a.Next() {
		if out = append(out, a); len(out) > longestAddressList {
			return nil, ValueError{problem.RangeTooLong, problem.Args{"value": {v}, "most": {fmt.Sprint(longestAddressList)}}}
		}
	}
	return out, nil
}

func reservations() format[network.Reservation] {
	const mac = `v.contains('=') && v.split('=', 2)[0].trim().matches(r'^([[:xdigit:]]{2}(:[[:xdigit:]]{2}){5}|` +
		`[[:xdigit:]]{2}(-[[:xdigit:]]{2}){5}|[[:xdigit:]]{4}([.][[:xdigit:]]{4}){2})$')`
	return format[network.Reservation]{reservation, []Requirement{
		wanted(wantReservation, mac), wanted(wantAddress, isIPv4("v.split('=', 2)[1].trim()")),
	}}.wanting(wantReservation)
}

func reservation(v string) (network.Reservation, error) {
	mac, addr, ok := strings.Cut(v, "=")
	hw, err := net.ParseMAC(strings.TrimSpace(mac))
	if !ok || err != nil || len(hw) != 6 {
		return network.Reservation{}, want(wantReservation)
	}
	a, err := ipv4(strings.TrimSpace(addr))
	return network.Reservation{MAC: hw.String(), Address: a}, err
}
