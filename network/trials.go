// This file decides what to try on a network as a VM does, and what must not answer there. Package edge/trial runs
// them.

package network

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network/problem"
)

// A TrialKind is what a trial does.
type TrialKind string

const (
	// TrialDHCP asks for an address, and takes none.
	TrialDHCP TrialKind = "dhcp"
	// TrialName resolves Name at At. Want are the addresses. Without Want, no address may be answered.
	TrialName TrialKind = "name"
	// TrialTime asks for the time at At.
	TrialTime TrialKind = "time"
	// TrialEndpoint speaks TLS with server name Name at At, where Backend answers.
	TrialEndpoint TrialKind = "endpoint"
	// TrialRefused speaks TLS with server name Name at At, where no backend may answer.
	TrialRefused TrialKind = "refused"
)

// A Trial is one thing that is tried on a network. Fields that its kind does not use are zero.
type Trial struct {
	Kind    TrialKind
	Name    string
	At      netip.AddrPort
	Want    []netip.Addr
	Backend string
	// Optional: nodes do not need it.
	Optional bool
}

// A TrialResult is the result of a Trial.
type TrialResult struct {
	// Name is what was tried.
	Name string `json:"name"`
	// Problems were found. Info is not a fault, and Unknown says that it was not tried.
	Problems problem.Problems `json:"problems,omitempty"`
	// Aside: nodes do not need it, or settings do not let it be tried. If it is unknown, nothing is missing.
	Aside bool `json:"aside,omitempty"`
}

// A TrialStart is what a trial of failover prints first, before its results.
type TrialStart struct {
	// Uses is the MAC of the host to which connections go, in lower case with colons.
	Uses string `json:"uses"`
}

const (
	// triedLabel is in place of "*" of a wildcard.
	triedLabel = "oooi-check"
	// refusedName is in no plan: its zone does not exist (RFC 6761, section 6.4).
	refusedName = triedLabel + ".invalid"
	ntpPort     = 123
)

// Trials returns what a host with address from tries. It is empty for a network without servers.
func (n Network) Trials(from netip.Addr) []Trial {
	out := []Trial{{Kind: TrialDHCP, Optional: n.DHCP.IgnoreUnknownClients || !n.Runs(ServiceDHCP)}}
	if n.Runs(ServiceDNS) {
		out = append(out, n.nameTrials(from)...)
	}
	if n.Runs(ServiceNTP) {
		out = append(out, Trial{Kind: TrialTime, At: netip.AddrPortFrom(n.ServiceVIP, ntpPort), Optional: true})
	}
	for _, l := range n.Listeners {
		out = append(out, n.listenerTrials(l)...)
	}
	return out
}

// nameTrials resolve the names of the view that from is in, and one that exists nowhere.
func (n Network) nameTrials(from netip.Addr) (out []Trial) {
	at := netip.AddrPortFrom(n.ServiceVIP, PortDNS)
	in := func(p netip.Prefix) bool { return p.Contains(from) }
	i := slices.IndexFunc(n.DNS.Views, func(v View) bool { return slices.ContainsFunc(v.Clients, in) })
	if i >= 0 {
		for _, r := range n.DNS.Views[i].Records {
			out = append(out, Trial{Kind: TrialName, Name: triedName(r.Name), At: at, Want: r.Addresses})
		}
	}
	return append(out, Trial{Kind: TrialName, Name: refusedName, At: at})
}

// listenerTrials reach each backend by each of its names, and none by a name that is not in the plan.
func (n Network) listenerTrials(l Listener) (out []Trial) {
	at := netip.AddrPortFrom(l.Address, l.Port)
	for _, f := range l.Forwards {
		for _, name := range f.ServerNames {
			out = append(out, Trial{Kind: TrialEndpoint, Name: triedName(name), At: at, Backend: f.Backend, Optional: !n.needs(f.Backend)})
		}
	}
	if l.Default == "" {
		return append(out, Trial{Kind: TrialRefused, Name: refusedName, At: at})
	}
	return append(out, Trial{Kind: TrialEndpoint, At: at, Backend: l.Default, Optional: !n.needs(l.Default)})
}

func (n Network) needs(name string) bool {
	return slices.ContainsFunc(n.NeededBackends(), func(b Backend) bool { return b.Name == name })
}

// NeededBackends are those without which no node becomes a working part of its cluster.
func (n Network) NeededBackends() (out []Backend) {
	for _, b := range n.Backends {
		if b.Kind == BackendPods && PublishedBy(b.Service).Need != NeedNone {
			out = append(out, b)
		}
	}
	return out
}

func triedName(name string) string {
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		return triedLabel + "." + rest
	}
	return name
}

// NextHop returns the router to which VMs on n send what is for a. On a network that gives VMs no route, it is the
// next-hop VIP: a VM that looks for another way finds the edges. Zero: a is on the link.
func (n Network) NextHop(a netip.Addr) netip.Addr {
	if n.CIDR.Contains(a) {
		return netip.Addr{}
	}
	via, bits := n.NextHopVIP, -1
	if n.DHCP.Router.IsValid() {
		via = n.DHCP.Router
	}
	for _, r := range n.DHCP.Routes {
		if r.Destination.Contains(a) && r.Destination.Bits() > bits {
			via, bits = r.Via, r.Destination.Bits()
		}
	}
	return via
}
