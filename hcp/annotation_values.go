// This file reads the values of annotations. Every error says what is wanted and
// shows one; what a value then does is not decided here.

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

// A hostPort is a DNS name and a TCP port that machines dial.
type hostPort struct {
	host string
	port uint16
}

// registries are what a user says of hosts outside: none, or those that are
// derived and further ones.
type registries struct {
	none  bool
	hosts []hostPort
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

// longestList is how many entries a list may have that becomes names and
// connections: each costs every edge.
const longestList = 64

// few reads a list of at most longestList entries.
func few[T any](v string, read func(string) (T, error)) ([]T, error) {
	if n := strings.Count(v, ",") + 1; n > longestList {
		return nil, fmt.Errorf("has %d entries; want at most %d", n, longestList)
	}
	return each(v, read)
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

// services reads the servers that run, in their order and each once.
func services(v string) ([]network.Service, error) {
	all := []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}
	said, err := each(v, func(s string) (network.Service, error) {
		if !slices.Contains(all, network.Service(s)) {
			return "", fmt.Errorf("want one or more of dhcp, dns, proxy, such as dns,proxy")
		}
		return network.Service(s), nil
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s network.Service) bool { return !slices.Contains(said, s) }), nil
}

func registriesValue(v string) (*registries, error) {
	if v == "none" {
		return &registries{none: true}, nil
	}
	first, more, further := strings.Cut(v, ",")
	if strings.TrimSpace(first) != "auto" {
		return nil, fmt.Errorf("want none, auto, or auto and further hosts such as auto,registry.example.com")
	}
	if !further {
		return &registries{}, nil
	}
	hosts, err := few(more, outsideHost)
	return &registries{hosts: hosts}, err
}

// outsideHost is a name outside of the management cluster, on port 443 where
// none is said.
func outsideHost(v string) (hostPort, error) {
	h, err := readHostPort(v, 443)
	if err != nil {
		return hostPort{}, err
	}
	if inCluster(h.host) {
		return hostPort{}, fmt.Errorf("%s is inside the management cluster; want a host outside of it (a Service of the control plane namespace is reached by the annotation %s%s on it)", h.host, Prefix, keyPublish)
	}
	return h, nil
}

// publishedAt is a name and a port, which must be said. Names inside a cluster
// are the hosted cluster's own: clients of its API server send them.
func publishedAt(v string) (hostPort, error) {
	h, err := readHostPort(v, 0)
	if err == nil && inCluster(h.host) {
		return hostPort{}, fmt.Errorf("%s is a name inside the hosted cluster, and clients of its API server send such names; want another one such as git.example.com:443", h.host)
	}
	return h, err
}

// inCluster says whether host is the name of a Service inside a cluster.
func inCluster(host string) bool {
	for _, suffix := range []string{".svc", ".cluster.local"} {
		if strings.HasSuffix("."+host, suffix) {
			return true
		}
	}
	return slices.Contains([]string{"kubernetes", "kubernetes.default", "openshift", "openshift.default"}, host)
}

// readHostPort reads host:port, or a host alone where there is a port to fall
// back on. The host is a name of two labels or more: an address is sent by no
// client as TLS server name, and one label is looked up below search domains.
func readHostPort(v string, fallback uint16) (hostPort, error) {
	host, port := v, fallback
	if h, p, ok := strings.Cut(v, ":"); ok {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return hostPort{}, fmt.Errorf("%q: want a port from 1 to 65535", v)
		}
		host, port = h, uint16(n)
	}
	if port == 0 {
		return hostPort{}, fmt.Errorf("%q: want host:port such as git.example.com:443", v)
	}
	if _, err := netip.ParseAddr(strings.Trim(v, "[]")); err == nil {
		return hostPort{}, fmt.Errorf("%q is an address; want a DNS name such as registry.example.com", v)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return hostPort{}, fmt.Errorf("%q is an address; want a DNS name such as registry.example.com", v)
	}
	name, err := domainName(host)
	if err != nil {
		return hostPort{}, err
	}
	if !strings.Contains(name, ".") {
		return hostPort{}, fmt.Errorf("%q has one label; want a DNS name such as registry.example.com", v)
	}
	return hostPort{host: name, port: port}, nil
}
