// Package reported holds EdgeReport, which an edge writes for the operator, and decides the problems that follow from a
// report. It is pure, and never decides what an edge does.
package reported

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// An EdgeReport is the state that one edge observes on its node.
type EdgeReport struct {
	// Edge is the number of the edge. 0: address conflict detection, before the first edge.
	Edge int `json:"edge"`
	// Node is the name of the node that the edge runs on. It stays in the report after the pod has ended. Empty: unknown.
	Node string `json:"node,omitempty"`
	// Level is LevelNothing, LevelServes or LevelReaches. Empty: unknown.
	Level string `json:"level,omitempty"`
	// Deaf is true if this edge receives nothing from the network, although it should.
	Deaf bool `json:"deaf,omitempty"`
	// Peer is the state of the other edge: PeerServing, PeerImpaired, PeerUnreachable, or another one of the failover
	// agent. Empty: unknown.
	Peer string `json:"peer,omitempty"`
	// PeerSilent is true if no message of the peer arrives on this network, though it may on the cluster network.
	// PeerUnreachable implies it.
	PeerSilent bool `json:"peerSilent,omitempty"`
	// PlansDiffer is true if both edges have served with different plans for more than PlansDifferAfter, without a break.
	PlansDiffer bool `json:"plansDiffer,omitempty"`
	// PeerDuplicated is true if messages arrive from two pods with the peer's number.
	PeerDuplicated bool `json:"peerDuplicated,omitempty"`
	// Connected says whether hosts on the network have connections through the proxy of this edge. Empty: unknown, as
	// without the proxy.
	Connected string `json:"connected,omitempty"`
	// NotServing has the servers that do not serve, in the order of network.AllServices. Empty: all serve, or there is
	// no report yet.
	NotServing []ServerFault `json:"notServing,omitempty"`
	// Yields is true if a younger pod has the number of this edge, so that this pod serves no new VM. The younger pod
	// replaces the report. It is also true if this edge yields to another management cluster: see AddressesInUse.
	Yields bool `json:"yields,omitempty"`
	// Degraded is why failover announcements have no effect. Zero: they take effect.
	Degraded Degradation `json:"degraded,omitzero"`
	// Believes are those of KernelCauses that the edge has: its kernel accepts forged messages, or lacks routes.
	Believes []problem.Cause `json:"believes,omitempty"`
	// ClockUnsynchronized is why clients do not follow the NTP server of this edge, which has the time of its node.
	// Zero: they follow it, or there is no report yet.
	ClockUnsynchronized ClockFault `json:"clockUnsynchronized,omitzero"`
	// EnvoyRefuses is a resource that Envoy refuses. Envoy keeps the previous version. Zero: none, or there is no
	// report yet.
	EnvoyRefuses Refusal `json:"envoyRefuses,omitzero"`
	// AddressesInUse are the addresses that another host uses, by address conflict detection. An edge reports the
	// next-hop VIP while it yields to an edge of another management cluster.
	AddressesInUse []UsedAddress `json:"addressesInUse,omitempty"`
	// PeerHosts are the other hosts that answer for the edge address of the peer.
	PeerHosts []UsedAddress `json:"peerHosts,omitempty"`
	// VIPHosts are the other hosts that answer for the addresses that edges share.
	VIPHosts []UsedAddress `json:"vipHosts,omitempty"`
	// DHCPServers are other DHCP servers that recently answered the edge, or that VMs of the cluster chose. The MAC is
	// empty if it is unknown, as outside the network.
	DHCPServers []UsedAddress `json:"dhcpServers,omitempty"`
	DHCP        DHCPReport    `json:"dhcp,omitzero"`
	// RefusedHosts are the Names of external backends that edges do not dial: inside the management cluster or in a
	// client network.
	RefusedHosts []string `json:"refusedHosts,omitempty"`
	// DarkBackends are the Names of backends without an endpoint that is ready and accepts connections of this edge's Envoy.
	// Envoy still dials them. A backend without any endpoints is listed only if nodes cannot boot without it. VMs that run
	// the ingress are never listed.
	DarkBackends []string `json:"darkBackends,omitempty"`
	// Balanced are the ports of load balancers that this edge has opened on the pod network, sorted.
	Balanced []uint16 `json:"balanced,omitempty"`
	// ClosedPorts are the ports for callers and load balancers that this edge cannot open on the pod network. It keeps trying.
	ClosedPorts []uint16 `json:"closedPorts,omitempty"`
	// Boots are VMs that got their first address while this edge ran: those that are not nodes yet, the oldest first, and
	// then those that are, the newest first. At most MaxBoots.
	Boots []Boot `json:"boots,omitempty"`
	// BootsOmitted is the number of VMs that are not nodes yet and that Boots lacks.
	BootsOmitted int `json:"bootsOmitted,omitempty"`
}

const (
	ConnectedYes = "yes"
	ConnectedNo  = "no"
)

// A UsedAddress is an address for which another host on the network answers.
type UsedAddress struct {
	Address netip.Addr `json:"address"`
	// MAC is in lower case with colons.
	MAC string `json:"mac"`
}

// The limits of a report. VMs influence its content, which is in an annotation and in a condition.
const (
	// MaxBytes is the largest size of a report that Read accepts.
	MaxBytes = 8 << 10

	maxInUse     = 16
	maxRefused   = 8
	maxDark      = 8
	maxClosed    = 8
	maxTextRunes = 400
)

// With returns r after set has changed it, or r itself if the result would be longer than MaxBytes: one part must not
// hide the others.
func (r EdgeReport) With(set func(*EdgeReport)) EdgeReport {
	with := r
	if set(&with); len(with.JSON()) > MaxBytes {
		return r
	}
	return with
}

// JSON returns the report as it is stored. Equal reports have equal JSON. A report that is too long loses the last of its
// Boots.
func (r EdgeReport) JSON() []byte {
	r = r.normalized()
	for {
		b, err := json.Marshal(r)
		if err != nil {
			panic("reported: a report is always JSON: " + err.Error())
		}
		if len(b) <= MaxBytes || len(r.Boots) == 0 {
			return b
		}
		r.Boots = r.Boots[:len(r.Boots)-1]
	}
}

// Read returns the report in b, the output of EdgeReport.JSON. It ignores unknown fields. It returns an error for a
// value that no edge could report.
func Read(b []byte) (EdgeReport, error) {
	if len(b) > MaxBytes {
		return EdgeReport{}, fmt.Errorf("not a report: it is longer than %d bytes", MaxBytes)
	}
	var r EdgeReport
	if err := json.Unmarshal(b, &r); err != nil {
		return EdgeReport{}, fmt.Errorf("not a report: %w", err)
	}
	if r.Edge < 0 || r.Edge > network.MaxEdges {
		return EdgeReport{}, fmt.Errorf("not a report: no edge has the number %d", r.Edge)
	}
	for _, t := range slices.Concat(r.AddressesInUse, r.PeerHosts, r.VIPHosts) {
		if !t.Address.Is4() || !network.IsMAC(t.MAC) {
			return EdgeReport{}, errors.New("not a report: addressesInUse, peerHosts or vipHosts has an invalid IPv4 address or MAC")
		}
	}
	for _, t := range r.DHCPServers {
		if !t.Address.Is4() || t.MAC != "" && !network.IsMAC(t.MAC) {
			return EdgeReport{}, errors.New("not a report: dhcpServers has an invalid IPv4 address or MAC")
		}
	}
	if err := r.DHCP.validate(); err != nil {
		return EdgeReport{}, err
	}
	return r.normalized(), nil
}

// normalized returns r with sorted addresses, texts of one line, and only known values.
func (r EdgeReport) normalized() EdgeReport {
	r.Node, r.Peer, r.NotServing, r.Degraded = oneLine(r.Node), oneLine(r.Peer), normalizedFaults(r.NotServing), r.Degraded.normalized()
	r.ClockUnsynchronized, r.EnvoyRefuses = r.ClockUnsynchronized.normalized(), r.EnvoyRefuses.normalized()
	if !slices.Contains([]string{LevelNothing, LevelServes, LevelReaches}, r.Level) {
		r.Level = "" // From a newer version, or not from an edge.
	}
	if r.Connected != ConnectedYes && r.Connected != ConnectedNo {
		r.Connected = ""
	}
	r.Believes = slices.DeleteFunc(KernelCauses(), func(c problem.Cause) bool { return !slices.Contains(r.Believes, c) })
	if len(r.Believes) == 0 {
		r.Believes = nil
	}
	r.AddressesInUse, r.DHCPServers = sortedInUse(r.AddressesInUse), sortedInUse(r.DHCPServers)
	r.PeerHosts, r.VIPHosts, r.DHCP = sortedInUse(r.PeerHosts), sortedInUse(r.VIPHosts), r.DHCP.normalized()
	r.DHCPServers = r.DHCPServers[:min(len(r.DHCPServers), MaxDHCPServers)]
	r.RefusedHosts = slices.Compact(slices.Sorted(slices.Values(r.RefusedHosts)))
	r.RefusedHosts = r.RefusedHosts[:min(len(r.RefusedHosts), maxRefused)]
	r.DarkBackends = slices.Compact(slices.Sorted(slices.Values(r.DarkBackends)))
	r.DarkBackends = r.DarkBackends[:min(len(r.DarkBackends), maxDark)]
	r.Balanced = slices.Compact(slices.Sorted(slices.Values(r.Balanced)))
	r.Balanced = r.Balanced[:min(len(r.Balanced), network.MaxBalancedPorts)]
	r.ClosedPorts = slices.Compact(slices.Sorted(slices.Values(r.ClosedPorts)))
	r.ClosedPorts = r.ClosedPorts[:min(len(r.ClosedPorts), maxClosed)]
	r.Boots, r.BootsOmitted = normalizedBoots(r.Boots), max(r.BootsOmitted, 0)
	return r
}

// MissesPeer reports whether no message of the peer arrives on this network.
func (r EdgeReport) MissesPeer() bool { return r.PeerSilent || r.Peer == PeerUnreachable }

// A BackendFault is the fault of a backend that an edge reports. Empty: none.
type BackendFault string

const (
	// BackendDark: no endpoint answers and is ready.
	BackendDark BackendFault = "dark"
	// BackendRefused: the edge does not dial its address.
	BackendRefused BackendFault = "refused"
)

// FaultOf returns the fault of a backend. known is false if r does not show it: for VMs, or if the list of names in r
// is full.
func (r EdgeReport) FaultOf(b network.Backend) (fault BackendFault, known bool) {
	switch {
	case slices.Contains(r.DarkBackends, b.Name):
		return BackendDark, true
	case slices.Contains(r.RefusedHosts, b.Name):
		return BackendRefused, true
	}
	full := len(r.DarkBackends) >= maxDark || b.Kind == network.BackendExternal && len(r.RefusedHosts) >= maxRefused
	return "", b.Kind != network.BackendVMs && !full
}

// sortedInUse returns ts sorted, without duplicates, and with at most maxInUse entries.
func sortedInUse(ts []UsedAddress) []UsedAddress {
	out := slices.Clone(ts)
	slices.SortFunc(out, UsedAddress.Compare)
	out = slices.Compact(out)
	return out[:min(len(out), maxInUse)]
}

// Compare compares u and other by address, then by MAC. It returns a negative number if u comes first.
func (u UsedAddress) Compare(other UsedAddress) int {
	return cmp.Or(u.Address.Compare(other.Address), strings.Compare(u.MAC, other.MAC))
}

// oneLine returns s on one line, cut after maxTextRunes.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxTextRunes {
		return string(r[:maxTextRunes]) + "..."
	}
	return s
}

func phrase(s string) string { return strings.TrimSuffix(oneLine(s), ".") }

// InUseByOthers returns a problem for each address of n that another host uses, and for each host with proxy ARP. On a
// primary network, an address in use is an Error: the network is not served. Other addresses are ignored.
func InUseByOthers(n network.Network, ts []UsedAddress) problem.Problems {
	var ps problem.Problems
	for _, t := range ConflictingWith(n, ts) {
		p := n.Problem(problem.AddressUsedByOther, problem.Args{"role": {n.RoleOf(t.Address)}, "address": {t.Address.String()}, "mac": {t.MAC}}, network.KeyEdgeAddresses)
		if !n.Primary {
			p = p.Warning()
		}
		ps = append(ps, p)
	}
	for _, mac := range answersForAll(n, ts) {
		ps = append(ps, n.Problem(problem.ProxyARP, problem.Args{"mac": {mac}}))
	}
	return ps
}
