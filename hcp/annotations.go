// This file holds the one table of annotations, from which validation, defaults
// and documentation come. It never reads an object's spec.

package hcp

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cldmnky/oooi/network"
)

// Prefix of every annotation of ours.
const Prefix = "hostedcluster.densityops.com/"

// The keys that code outside of the table asks for.
const (
	keyNetwork     = "network"
	keyCIDR        = "cidr"
	keyGateway     = "gateway"
	keyAppsAddress = "apps-address"
)

// A Place says which objects an annotation may stand on.
type Place string

// The places of annotations.
const (
	OnHostedCluster Place = "HostedCluster"
	OnBoth          Place = "HostedCluster, NodePool"
)

// A Key is one row of the table.
type Key struct {
	Name string
	On   Place
	// PerNodePool keys may be written on the HostedCluster as "<name>.<nodepool>".
	PerNodePool bool
	Default     string
	Meaning     string
	Example     string
	set         func(*settings, string) error
}

// settings are parsed annotations. Zero values mean: not said.
type settings struct {
	network string
	cidr    netip.Prefix
	gateway netip.Addr
	apps    netip.Addr
	paused  string
	network.Settings
}

// Keys is the table, in the order in which it is documented.
func Keys() []Key {
	return []Key{
		{Name: keyNetwork, On: OnHostedCluster, Default: "required", Example: "auto",
			Meaning: "Opts in. `auto`: every network that the NodePools name; `<namespace>/<name>`: that NetworkAttachmentDefinition only; `none`: opt out, everything of ours is removed.",
			set:     func(s *settings, v string) (err error) { s.network, err = networkValue(v); return err }},
		{Name: keyCIDR, On: OnBoth, PerNodePool: true, Default: "spec.networking.machineNetwork", Example: "192.168.100.0/24",
			Meaning: "The IPv4 network of the VLAN.",
			set:     func(s *settings, v string) (err error) { s.cidr, err = cidr(v); return err }},
		{Name: keyGateway, On: OnBoth, PerNodePool: true, Default: "none: the VLAN stays isolated", Example: "192.168.100.1",
			Meaning: "A router on the VLAN, handed out as default route.",
			set:     func(s *settings, v string) (err error) { s.gateway, err = ipv4(v); return err }},
		{Name: "edge-addresses", On: OnBoth, Default: "the second to fifth usable address", Example: "192.168.100.2-192.168.100.5",
			Meaning: "Four addresses of ours: next hop, service address, and one for each of two edges.",
			set:     func(s *settings, v string) (err error) { s.EdgeAddresses, err = addressList(v); return err }},
		{Name: "dhcp-range", On: OnBoth, Default: "the tenth to the last usable address but one", Example: "192.168.100.10-192.168.100.253",
			Meaning: "Addresses for machines.",
			set:     func(s *settings, v string) (err error) { s.DHCPRange, err = addressRange(v); return err }},
		{Name: "dhcp-exclude", On: OnBoth, Default: "none", Example: "192.168.100.50-192.168.100.59",
			Meaning: "Addresses never given out.",
			set:     func(s *settings, v string) (err error) { s.DHCPExclude, err = each(v, addressRange); return err }},
		{Name: "reservations", On: OnBoth, Default: "none", Example: "02:00:00:00:00:01=192.168.100.20",
			Meaning: "Addresses for particular MACs.",
			set:     func(s *settings, v string) (err error) { s.Reservations, err = each(v, reservation); return err }},
		{Name: "lease-time", On: OnBoth, Default: "1h", Example: "30m",
			Meaning: "How long an address is given for; one minute to a week.",
			set:     func(s *settings, v string) (err error) { s.LeaseTime, err = leaseTime(v); return err }},
		{Name: "mtu", On: OnBoth, Default: "the NetworkAttachmentDefinition's", Example: "9000",
			Meaning: "DHCP option 26, in bytes; 576 to 65535.",
			set:     func(s *settings, v string) (err error) { s.MTU, err = mtu(v); return err }},
		{Name: "ntp-servers", On: OnBoth, Default: "none", Example: "192.168.100.1",
			Meaning: "DHCP option 42.",
			set:     func(s *settings, v string) (err error) { s.NTPServers, err = each(v, ipv4); return err }},
		{Name: "dhcp-relays", On: OnBoth, Default: "none", Example: "192.168.100.1",
			Meaning: "Relays whose DHCP packets are answered, by the address they give as their own; what others relay is dropped.",
			set:     func(s *settings, v string) (err error) { s.DHCPRelays, err = each(v, ipv4); return err }},
		{Name: "search-domains", On: OnBoth, Default: "the hosted cluster's domain", Example: "blue.example.com",
			Meaning: "DHCP option 119.",
			set:     func(s *settings, v string) (err error) { s.SearchDomains, err = each(v, domainName); return err }},
		{Name: "dns-upstreams", On: OnBoth, Default: "`none` without a gateway, else `management`", Example: "192.168.100.1:53",
			Meaning: "Who answers what the plan does not know: `none` (refused), `management` (the management cluster's resolver), or addresses.",
			set:     func(s *settings, v string) (err error) { s.Upstreams, err = upstreams(v); return err }},
		{Name: "dns-records", On: OnHostedCluster, Default: "none", Example: "registry.example.com=192.168.100.1",
			Meaning: "Further names to answer; a first label `*` is a wildcard.",
			set:     func(s *settings, v string) (err error) { s.Records, err = each(v, record); return err }},
		{Name: keyAppsAddress, On: OnHostedCluster, Default: "none", Example: "192.168.100.6",
			Meaning: "The address that answers for `*.apps` of the hosted cluster.",
			set:     func(s *settings, v string) (err error) { s.apps, err = ipv4(v); return err }},
		{Name: "unknown-clients", On: OnHostedCluster, Default: "serve", Example: "ignore",
			Meaning: "Whether DHCP serves MACs that no machine of the cluster has: `serve` or `ignore`.",
			set: func(s *settings, v string) (err error) {
				s.IgnoreUnknownClients, err = oneOf(v, "serve", "ignore")
				return err
			}},
		{Name: "paused", On: OnHostedCluster, Default: "spec.pausedUntil", Example: "true",
			Meaning: "Nothing is changed while it holds: `true`, or until an RFC 3339 time.",
			set:     func(s *settings, v string) error { s.paused = v; return pausedValue(v) }},
	}
}

// networkValue is v, or auto where v can't be read, so that whatever else is
// wrong is found too.
func networkValue(v string) (string, error) {
	if v == "auto" || v == "none" {
		return v, nil
	}
	ns, name, ok := strings.Cut(v, "/")
	if !ok || ns == "" || name == "" || strings.Contains(name, "/") {
		return "auto", fmt.Errorf("want auto, none, or <namespace>/<name> of a NetworkAttachmentDefinition")
	}
	return v, nil
}

func cidr(v string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(v)
	if err != nil || !p.Addr().Is4() {
		return netip.Prefix{}, fmt.Errorf("want an IPv4 network such as 192.168.100.0/24")
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("has host bits set; did you mean %s?", p.Masked())
	}
	return p, nil
}

func ipv4(v string) (netip.Addr, error) {
	a, err := netip.ParseAddr(v)
	if err != nil || !a.Is4() {
		return netip.Addr{}, fmt.Errorf("want an IPv4 address such as 192.168.100.1")
	}
	return a, nil
}

// addressRange reads first-last; one address alone is a range of one.
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
		return network.Range{}, fmt.Errorf("range %s ends before it begins", v)
	}
	return network.Range{First: f, Last: l}, nil
}

// addressList reads a list, or a range of at most 16 addresses.
func addressList(v string) ([]netip.Addr, error) {
	if !strings.Contains(v, "-") {
		return each(v, ipv4)
	}
	r, err := addressRange(v)
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for a := r.First; r.Contains(a); a = a.Next() {
		if out = append(out, a); len(out) > 16 {
			return nil, fmt.Errorf("range %s is longer than 16 addresses", v)
		}
	}
	return out, nil
}

func reservation(v string) (network.Reservation, error) {
	mac, addr, ok := strings.Cut(v, "=")
	hw, err := net.ParseMAC(strings.TrimSpace(mac))
	if !ok || err != nil || len(hw) != 6 {
		return network.Reservation{}, fmt.Errorf("want MAC=address such as 02:00:00:00:00:01=192.168.100.20")
	}
	a, err := ipv4(strings.TrimSpace(addr))
	return network.Reservation{MAC: hw.String(), Address: a}, err
}

func leaseTime(v string) (network.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d < time.Minute || d > 7*24*time.Hour {
		return 0, fmt.Errorf("want a duration from 1m to 168h such as 1h")
	}
	return network.Duration(d), nil
}

func mtu(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 576 || n > 65535 {
		return 0, fmt.Errorf("want a number of bytes from 576 to 65535")
	}
	return n, nil
}

func upstreams(v string) (*network.Upstreams, error) {
	switch v {
	case string(network.UpstreamNone), string(network.UpstreamManagement):
		return &network.Upstreams{Mode: network.UpstreamMode(v)}, nil
	}
	servers, err := each(v, func(s string) (netip.AddrPort, error) {
		if ap, err := netip.ParseAddrPort(s); err == nil && ap.Addr().Is4() && ap.Port() != 0 {
			return ap, nil
		}
		a, err := ipv4(s)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("want none, management, or IPv4 addresses with or without a port")
		}
		return netip.AddrPortFrom(a, 53), nil
	})
	if err != nil {
		return nil, err
	}
	return &network.Upstreams{Mode: network.UpstreamServers, Servers: servers}, nil
}

func record(v string) (network.Record, error) {
	name, addr, ok := strings.Cut(v, "=")
	if !ok {
		return network.Record{}, fmt.Errorf("want name=address such as registry.example.com=192.168.100.1")
	}
	n, err := domainName(strings.TrimPrefix(strings.TrimSpace(name), "*."))
	if err != nil {
		return network.Record{}, err
	}
	if strings.HasPrefix(strings.TrimSpace(name), "*.") {
		n = "*." + n
	}
	a, err := ipv4(strings.TrimSpace(addr))
	return network.Record{Name: n, Addresses: []netip.Addr{a}}, err
}

// domainName is a host name of RFC 1123, lower-cased, without trailing dot.
func domainName(v string) (string, error) {
	v = strings.ToLower(strings.TrimSuffix(v, "."))
	bad := fmt.Errorf("want a DNS name such as blue.example.com")
	if v == "" || len(v) > 253 {
		return "", bad
	}
	for label := range strings.SplitSeq(v, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return "", bad
		}
		if strings.ContainsFunc(label, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
			return "", bad
		}
	}
	return v, nil
}

// oneOf says whether v is the second of two words.
func oneOf(v, first, second string) (bool, error) {
	if v != first && v != second {
		return false, fmt.Errorf("want %s or %s", first, second)
	}
	return v == second, nil
}

func pausedValue(v string) error {
	if slices.Contains([]string{"true", "false"}, v) {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, v); err != nil {
		return fmt.Errorf("want true, false, or a time such as 2026-01-02T15:04:05Z")
	}
	return nil
}

// each reads a list with commas.
func each[T any](v string, read func(string) (T, error)) ([]T, error) {
	var out []T
	for part := range strings.SplitSeq(v, ",") {
		x, err := read(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
