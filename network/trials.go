// This file decides the trials on a network. A trial tests what must work for a VM there, or what must not answer.
// Package edge/trial runs it.

package network

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network/problem"
)

// A TrialKind says what a trial does.
type TrialKind string

const (
	// TrialDHCP asks for an offer of an address, and does not accept it.
	TrialDHCP TrialKind = "dhcp"
	// TrialName resolves Name at the server At, and expects the addresses Want. If Want is empty, no address may be
	// answered.
	TrialName TrialKind = "name"
	// TrialTime asks the server At for the time.
	TrialTime TrialKind = "time"
	// TrialEndpoint connects to At over TLS with server name Name, and expects Backend to answer.
	TrialEndpoint TrialKind = "endpoint"
	// TrialRefused connects to At over TLS with server name Name, and expects that no backend answers.
	TrialRefused TrialKind = "refused"
)

// A Trial is one thing that is tried on a network. Fields that its kind does not use are zero.
type Trial struct {
	Kind    TrialKind
	Name    string
	At      netip.AddrPort
	Want    []netip.Addr
	Backend string
	// Optional is true if nodes do not need what is tried.
	Optional bool
}

// A TrialResult is the result of a Trial.
type TrialResult struct {
	// Name says what was tried.
	Name string `json:"name"`
	// Problems were found. Info is not a fault, and Unknown says that it was not tried.
	Problems problem.Problems `json:"problems,omitempty"`
	// Aside is true if nodes do not need what was tried, or if settings prevent the trial. A check is complete without
	// it.
	Aside bool `json:"aside,omitempty"`
}

// A TrialStart is the first output of a failover trial, before its results.
type TrialStart struct {
	// Uses is the MAC of the host to which connections go, in lower case with colons.
	Uses string `json:"uses"`
}

const (
	// triedLabel replaces the "*" of a wildcard.
	triedLabel = "oooi-check"
	// refusedName does not exist in any plan. Its zone never exists (RFC 6761, section 6.4).
	refusedName = triedLabel + ".invalid"
	ntpPort     = 123
)

// Trials returns the trials of a host. Parameter from is its address. On a network without servers, there is only
// TrialDHCP.
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

// nameTrials returns trials that resolve the names of the view for a client. Parameter from is the address of the
// client. One more trial is for a name that does not exist.
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

// listenerTrials returns trials that connect to each backend of l with each of its names. If l has no default, one
// trial uses a name that is not in the plan.
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

// NeededBackends returns the backends that nodes need to become a working part of their cluster.
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

// NextHop returns the router that VMs on n use for packets to a. If VMs get no route from DHCP, it is the next-hop VIP,
// through which they reach the edges. It returns the zero Addr if a is in n's CIDR.
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
