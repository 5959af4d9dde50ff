// This file is a VM that uses a plan: what names resolve to, where packets go, and which backend a TLS connection ends at.

package oracle

import (
	"net/netip"
	"slices"
	"strings"
)

// A plan has what the oracle reads of the output of `oooi plan -o json`.
type plan struct {
	Networks []network `json:"networks"`
}

type network struct {
	Name               string       `json:"name"`
	CIDR               netip.Prefix `json:"cidr"`
	Primary            bool         `json:"primary"`
	NextHopVIP         netip.Addr   `json:"nextHopVIP"`
	ServiceVIP         netip.Addr   `json:"serviceVIP"`
	PublishedAddresses []netip.Addr `json:"publishedAddresses"`
	Edges              []struct {
		Address netip.Addr `json:"address"`
	} `json:"edges"`
	DHCP struct {
		Range         span         `json:"range"`
		Exclude       []span       `json:"exclude"`
		Named         []netip.Addr `json:"named"`
		DNSServers    []netip.Addr `json:"dnsServers"`
		DomainName    string       `json:"domainName"`
		SearchDomains []string     `json:"searchDomains"`
		Routes        []struct {
			Destination netip.Prefix `json:"destination"`
			Via         netip.Addr   `json:"via"`
		} `json:"routes"`
	} `json:"dhcp"`
	DNS struct {
		Views []struct {
			Clients []netip.Prefix `json:"clients"`
			Zones   []string       `json:"zones"`
			Records []struct {
				Name      string       `json:"name"`
				Addresses []netip.Addr `json:"addresses"`
			} `json:"records"`
		} `json:"views"`
		Upstreams struct {
			Mode string `json:"mode"`
		} `json:"upstreams"`
	} `json:"dns"`
	Listeners []struct {
		Address  netip.Addr `json:"address"`
		Port     int        `json:"port"`
		Default  string     `json:"default"`
		Forwards []struct {
			ServerNames []string `json:"serverNames"`
			Backend     string   `json:"backend"`
		} `json:"forwards"`
	} `json:"listeners"`
	Backends []backend `json:"backends"`
}

type span struct{ First, Last netip.Addr }

func (s span) contains(a netip.Addr) bool {
	return s.First.IsValid() && s.First.Compare(a) <= 0 && a.Compare(s.Last) <= 0
}

// A backend is where a connection ends. The zero value: nowhere.
type backend struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Service string `json:"service"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
}

// vm returns an address that DHCP assigns.
func (n network) vm() netip.Addr { return n.DHCP.Range.First }

// resolve returns the addresses of a host, as the DNS server answers the VM. refused: it answers REFUSED.
func (n network) resolve(host string) (all []netip.Addr, refused bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, v := range n.DNS.Views {
		if !slices.ContainsFunc(v.Clients, func(c netip.Prefix) bool { return c.Contains(n.vm()) }) {
			continue
		}
		records := map[string][]netip.Addr{}
		for _, r := range v.Records {
			records[r.Name] = r.Addresses
		}
		if a, ok := records[host]; ok {
			return a, false
		}
		// RFC 4592: the wildcard of the closest encloser.
		for above, rest, ok := strings.Cut(host, "."); ok; above, rest, ok = strings.Cut(rest, ".") {
			_ = above
			if a, found := records["*."+rest]; found {
				return a, false
			}
			if _, exists := records[rest]; exists {
				break
			}
		}
		for _, z := range v.Zones {
			if z == "." || host == z || strings.HasSuffix(host, "."+z) {
				return nil, false
			}
		}
		return nil, n.DNS.Upstreams.Mode == "none"
	}
	return nil, true
}

// arrives reports whether packets of a VM to an address reach an edge: the edges hold the address, and it is on the
// network or routed to the next-hop VIP (RFC 3442, the longest prefix).
func (n network) arrives(a netip.Addr) bool {
	if a == n.ServiceVIP {
		return true
	}
	if !slices.Contains(n.PublishedAddresses, a) || n.CIDR.Contains(a) {
		return false
	}
	longest, via := -1, netip.Addr{}
	for _, r := range n.DHCP.Routes {
		if r.Destination.Contains(a) && r.Destination.Bits() > longest {
			longest, via = r.Destination.Bits(), r.Via
		}
	}
	return via == n.NextHopVIP
}

// dial returns where a TLS connection of a VM to host and port ends, with host as the server name. An address as host sends none (RFC 6066).
func (n network) dial(host string, port int) backend {
	all, _ := n.resolve(host)
	for _, a := range all {
		if !n.arrives(a) {
			return backend{}
		}
		for _, l := range n.Listeners {
			if l.Address != a || l.Port != port {
				continue
			}
			name, best := l.Default, -1
			for _, f := range l.Forwards {
				for _, s := range f.ServerNames {
					if matches(s, host) && len(s) > best {
						name, best = f.Backend, len(s)
					}
				}
			}
			for _, b := range n.Backends {
				if b.Name == name {
					return b
				}
			}
		}
	}
	return backend{}
}

// matches reports whether the name of a forward has the server name host.
func matches(name, host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.ToLower(host)
	parent, wild := strings.CutPrefix(name, "*")
	return name == host || wild && strings.HasSuffix(host, parent) && len(host) > len(parent)
}

// assigns reports whether DHCP can give an address to a new VM.
func (n network) assigns(a netip.Addr) bool {
	excluded := slices.ContainsFunc(n.DHCP.Exclude, func(s span) bool { return s.contains(a) })
	return n.DHCP.Range.contains(a) && !excluded && !slices.Contains(n.DHCP.Named, a)
}
