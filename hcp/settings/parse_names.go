// This file has the formats of names: NetworkAttachmentDefinitions, DNS names and records, and hosts with ports.

package settings

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A HostPort is a lower-case DNS name and a TCP port that VMs connect to.
type HostPort struct {
	Host string
	Port uint16
}

// String returns "host:port".
func (h HostPort) String() string { return fmt.Sprintf("%s:%d", h.Host, h.Port) }

// AllowedHosts is the parsed value of the annotation allowed-hosts.
type AllowedHosts struct {
	// None is true if no external host is allowed, not even the registries that
	// nodes pull the release image from.
	None bool
	// Hosts are allowed in addition to the registries of the release image.
	Hosts []HostPort
}

const (
	wantNetwork    = "auto, none, or <namespace>/<name> of a NetworkAttachmentDefinition"
	wantNamespaces = "namespaces such as clusters-blue,clusters-green"
	wantDomain     = "a DNS name such as blue.example.com"
	wantRecord     = "name=address such as registry.example.com=192.168.100.1"
	wantAuto       = "none, auto, or auto and further hosts such as auto,registry.example.com:443"
	wantHostPort   = "host:port such as git.example.com:443, with a DNS name and a port from 1 to 65535"
)

// isDomain returns the CEL expression that v is a DNS name. A trailing dot is allowed.
func isDomain(v string) string {
	const label = "[[:alnum:]]([-[:alnum:]]{0,61}[[:alnum:]])?"
	return fmt.Sprintf("%s.matches(r'^%s([.]%[2]s)*[.]?$') && %[1]s.size() <= (%[1]s.endsWith('.') ? 254 : 253)", v, label)
}

func networkNames() format[string] {
	return format[string]{networkName, []Requirement{wanted(wantNetwork, "v.matches('^(auto|none|[^/]+/[^/]+)$')")}}
}

// networkName validates annotation network. With an error, it also returns "auto", so that the other problems of the
// cluster are found, too.
func networkName(v string) (string, error) {
	if v == "auto" || v == "none" {
		return v, nil
	}
	ns, name, ok := strings.Cut(v, "/")
	if !ok || ns == "" || name == "" || strings.Contains(name, "/") {
		return "auto", want(wantNetwork)
	}
	return v, nil
}

func namespaces() format[string] {
	return format[string]{namespace, []Requirement{wanted(wantNamespaces, "v.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')")}}
}

func namespace(v string) (string, error) {
	if len(validation.IsDNS1123Label(v)) > 0 {
		return "", want(wantNamespaces)
	}
	return v, nil
}

// Grants reports whether annotation namespaces of a NAD, in annotations, has the entry own. It does not validate
// entries, because Overlay does.
func Grants(annotations map[string]string, own string) bool {
	for part := range strings.SplitSeq(annotations[Prefix+network.KeyNamespaces], ",") {
		if strings.TrimSpace(part) == own {
			return true
		}
	}
	return false
}

func domainNames() format[string] {
	return format[string]{DomainName, []Requirement{wanted(wantDomain, isDomain("v"))}}
}

// DomainName validates a host name (RFC 1123, section 2.1), and returns it in lower case without a trailing dot.
func DomainName(v string) (string, error) {
	v = strings.TrimSuffix(v, ".")
	if v == "" || len(v) > 253 {
		return "", want(wantDomain)
	}
	for label := range strings.SplitSeq(v, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return "", want(wantDomain)
		}
		if strings.ContainsFunc(label, func(r rune) bool { return r != '-' && !isAlphanumeric(r) }) {
			return "", want(wantDomain)
		}
	}
	return strings.ToLower(v), nil
}

func isAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

func records() format[network.Record] {
	const name = "[v.split('=', 2)[0].trim()].map(n, n.startsWith('*.') ? n.substring(2) : n)"
	return format[network.Record]{record, []Requirement{
		wanted(wantRecord, "v.contains('=')"),
		wanted(wantDomain, name+".all(n, "+isDomain("n")+")"),
		wanted(wantAddress, isIPv4("v.split('=', 2)[1].trim()")),
	}}.wanting(wantRecord)
}

func record(v string) (network.Record, error) {
	name, addr, ok := strings.Cut(v, "=")
	if !ok {
		return network.Record{}, want(wantRecord)
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

func allowedHostLists() format[*AllowedHosts] {
	const further = "v.contains(',') ? v.substring(v.indexOf(',') + 1).split(',') : []"
	requirements := []Requirement{wanted(wantAuto, "v == 'none' || v.split(',')[0].trim() == 'auto'"), tooLong(further)}
	return format[*AllowedHosts]{allowedHosts, append(requirements, forEach(further, hostPort(problem.HostInManagementCluster))...)}.wanting(wantAuto)
}

func allowedHosts(v string) (*AllowedHosts, error) {
	if v == "none" {
		return &AllowedHosts{None: true}, nil
	}
	first, more, further := strings.Cut(v, ",")
	if strings.TrimSpace(first) != "auto" {
		return nil, want(wantAuto)
	}
	if !further {
		return &AllowedHosts{}, nil
	}
	hosts, err := limitedList(more, ExternalHost)
	return &AllowedHosts{Hosts: hosts}, err
}

// ExternalHost parses "host" or "host:port" outside the management cluster. The default port is 443.
func ExternalHost(v string) (HostPort, error) {
	h, err := readHostPort(v, 443)
	if err != nil {
		return HostPort{}, err
	}
	if InCluster(h.Host) {
		return HostPort{}, bad(problem.HostInManagementCluster, h.Host)
	}
	return h, nil
}

func publishedHosts() format[HostPort] {
	port := wanted(wantHostPort, "v.contains(':')")
	return format[HostPort]{publishedAt, append([]Requirement{port}, hostPort(problem.HostInHostedCluster)...)}.wanting(wantHostPort)
}

// hostPort returns the requirements for "host" and "host:port". inside is the cause for names inside a cluster.
func hostPort(inside problem.Cause) []Requirement {
	const host, port = "v.split(':', 2)[0]", "v.split(':', 2)[1]"
	name := map[string]string{"value": "v.split(':', 2)[0].lowerAscii()"}
	return []Requirement{
		wanted(wantHostPort, "!v.contains(':') || "+port+".matches('^0*[1-9][0-9]{0,4}$') && int("+port+") <= 65535"),
		{Valid: "!isIP(" + host + ".replace('[', '').replace(']', ''))", Cause: problem.HostIsAddress},
		wanted(wantDomain, isDomain(host)),
		{Valid: host + ".matches('[.][^.]')", Cause: problem.HostHasOneLabel},
		{Valid: "!" + host + ".lowerAscii().matches('[.](svc|cluster[.]local)[.]?$|^(kubernetes|openshift)[.]default[.]?$')",
			Cause: inside, Computed: name},
	}
}

// publishedAt parses "host:port". It refuses in-cluster names, which clients of the hosted API server use.
func publishedAt(v string) (HostPort, error) {
	h, err := readHostPort(v, 0)
	if err == nil && InCluster(h.Host) {
		return HostPort{}, bad(problem.HostInHostedCluster, h.Host)
	}
	return h, err
}

// InCluster reports whether the DNS server of a cluster answers for host: the name of a Service, or below cluster.local.
func InCluster(host string) bool {
	for _, suffix := range []string{".svc", ".cluster.local"} {
		if strings.HasSuffix("."+host, suffix) {
			return true
		}
	}
	return slices.Contains([]string{"kubernetes", "kubernetes.default", "openshift", "openshift.default"}, host)
}

// readHostPort parses "host:port". The port may be missing if fallback is not 0. The host needs two labels, because
// resolvers append search domains to a single one. The host cannot be an address: clients do not send addresses as TLS
// server names (RFC 6066, section 3).
func readHostPort(v string, fallback uint16) (HostPort, error) {
	host, port := v, fallback
	if h, p, ok := strings.Cut(v, ":"); ok {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return HostPort{}, want(wantHostPort)
		}
		host, port = h, uint16(n)
	}
	if port == 0 {
		return HostPort{}, want(wantHostPort)
	}
	if _, err := netip.ParseAddr(strings.Trim(v, "[]")); err == nil {
		return HostPort{}, bad(problem.HostIsAddress, v)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return HostPort{}, bad(problem.HostIsAddress, v)
	}
	name, err := DomainName(host)
	if err != nil {
		return HostPort{}, err
	}
	if !strings.Contains(name, ".") {
		return HostPort{}, bad(problem.HostHasOneLabel, v)
	}
	return HostPort{Host: name, Port: port}, nil
}
