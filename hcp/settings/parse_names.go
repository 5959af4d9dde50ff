// This file reads names out of annotation values: NetworkAttachmentDefinitions,
// DNS names and records, and hosts with their ports.

package settings

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// A HostPort is a DNS name and a TCP port that VMs dial.
type HostPort struct {
	Host string
	Port uint16
}

// AllowedHosts are the external hosts that a user allows.
type AllowedHosts struct {
	// None allows no host, not even those that the release image needs.
	None bool
	// Hosts are allowed beside those that the release image needs.
	Hosts []HostPort
}

// networkName is v, or auto where v can't be read, so that whatever else is
// wrong is found too.
func networkName(v string) (string, error) {
	if v == "auto" || v == "none" {
		return v, nil
	}
	ns, name, ok := strings.Cut(v, "/")
	if !ok || ns == "" || name == "" || strings.Contains(name, "/") {
		return "auto", want("auto, none, or <namespace>/<name> of a NetworkAttachmentDefinition")
	}
	return v, nil
}

// DomainName is a host name of RFC 1123, lower-cased, without trailing dot.
func DomainName(v string) (string, error) {
	v = strings.ToLower(strings.TrimSuffix(v, "."))
	notName := want("a DNS name such as blue.example.com")
	if v == "" || len(v) > 253 {
		return "", notName
	}
	for label := range strings.SplitSeq(v, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return "", notName
		}
		if strings.ContainsFunc(label, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
			return "", notName
		}
	}
	return v, nil
}

func record(v string) (network.Record, error) {
	name, addr, ok := strings.Cut(v, "=")
	if !ok {
		return network.Record{}, want("name=address such as registry.example.com=192.168.100.1")
	}
	n, err := DomainName(strings.TrimPrefix(strings.TrimSpace(name), "*."))
	if err != nil {
		return network.Record{}, err
	}
	if strings.HasPrefix(strings.TrimSpace(name), "*.") {
		n = "*." + n
	}
	a, err := ipv4(strings.TrimSpace(addr))
	return network.Record{Name: n, Addresses: []netip.Addr{a}}, err
}

func allowedHosts(v string) (*AllowedHosts, error) {
	if v == "none" {
		return &AllowedHosts{None: true}, nil
	}
	first, more, further := strings.Cut(v, ",")
	if strings.TrimSpace(first) != "auto" {
		return nil, want("none, auto, or auto and further hosts such as auto,registry.example.com")
	}
	if !further {
		return &AllowedHosts{}, nil
	}
	hosts, err := few(more, ExternalHost)
	return &AllowedHosts{Hosts: hosts}, err
}

// ExternalHost reads a host outside of the management cluster, with or without a
// port; the default is 443.
func ExternalHost(v string) (HostPort, error) {
	h, err := readHostPort(v, 443)
	if err != nil {
		return HostPort{}, err
	}
	if inCluster(h.Host) {
		return HostPort{}, bad(network.HostInManagementCluster, h.Host)
	}
	return h, nil
}

// publishedAt is a name and a port, which must be said. Names inside a cluster
// are the hosted cluster's own: clients of its API server send them.
func publishedAt(v string) (HostPort, error) {
	h, err := readHostPort(v, 0)
	if err == nil && inCluster(h.Host) {
		return HostPort{}, bad(network.HostInHostedCluster, h.Host)
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
func readHostPort(v string, fallback uint16) (HostPort, error) {
	host, port := v, fallback
	if h, p, ok := strings.Cut(v, ":"); ok {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return HostPort{}, want("a host with a port from 1 to 65535, such as git.example.com:443")
		}
		host, port = h, uint16(n)
	}
	if port == 0 {
		return HostPort{}, want("host:port such as git.example.com:443")
	}
	if _, err := netip.ParseAddr(strings.Trim(v, "[]")); err == nil {
		return HostPort{}, bad(network.HostIsAddress, v)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return HostPort{}, bad(network.HostIsAddress, v)
	}
	name, err := DomainName(host)
	if err != nil {
		return HostPort{}, err
	}
	if !strings.Contains(name, ".") {
		return HostPort{}, bad(network.HostHasOneLabel, v)
	}
	return HostPort{Host: name, Port: port}, nil
}
