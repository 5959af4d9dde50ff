// This file parses names in annotation values: NetworkAttachmentDefinitions, DNS
// names and records, and hosts with ports.

package settings

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
)

// A HostPort is a lower-case DNS name and a TCP port that VMs connect to.
type HostPort struct {
	Host string
	Port uint16
}

// AllowedHosts is the parsed value of the annotation allowed-hosts.
type AllowedHosts struct {
	// None is true if no external host is allowed, not even the registries that
	// nodes pull the release image from.
	None bool
	// Hosts are allowed in addition to the registries of the release image.
	Hosts []HostPort
}

// networkName validates the value of the annotation network. It returns "auto"
// with an error, so that the other problems of the cluster are found too.
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

// namespace validates the name of a namespace.
func namespace(v string) (string, error) {
	if len(validation.IsDNS1123Label(v)) > 0 {
		return "", want("namespaces such as clusters-blue,clusters-green")
	}
	return v, nil
}

// DomainName validates a host name (RFC 1123, section 2.1). It returns the name in
// lower case without a trailing dot.
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
	hosts, err := limitedList(more, ExternalHost)
	return &AllowedHosts{Hosts: hosts}, err
}

// ExternalHost parses "host" or "host:port" of a host outside the management
// cluster. The default port is 443.
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

// publishedAt parses "host:port". It rejects in-cluster names, because clients of
// the hosted cluster's API server send them.
func publishedAt(v string) (HostPort, error) {
	h, err := readHostPort(v, 0)
	if err == nil && inCluster(h.Host) {
		return HostPort{}, bad(network.HostInHostedCluster, h.Host)
	}
	return h, err
}

// inCluster reports whether host is the name of a Service inside a cluster.
func inCluster(host string) bool {
	for _, suffix := range []string{".svc", ".cluster.local"} {
		if strings.HasSuffix("."+host, suffix) {
			return true
		}
	}
	return slices.Contains([]string{"kubernetes", "kubernetes.default", "openshift", "openshift.default"}, host)
}

// readHostPort parses "host:port". If fallback is not 0, the port may be missing.
// The host needs at least two labels, because resolvers append search domains to
// a single label. It is not an address: clients do not send addresses as TLS server
// names (RFC 6066, section 3).
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
