// This file holds Report: what an edge tells the operator, and which problems
// follow from it. It never decides what an edge does.

package network

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Report is what one edge sees where it runs.
type Report struct {
	// Edge is its number. 0: the address conflict detection, before there is an edge.
	Edge int `json:"edge"`
	// Peer is the state in which it sees the other edge, as the failover agent names it.
	// Empty: unknown.
	Peer string `json:"peer,omitempty"`
	// FailoverDegraded says why a failover announcement has no effect. Empty: announcements
	// work.
	FailoverDegraded string `json:"failoverDegraded,omitempty"`
	// AddressesInUse are the answers to address conflict detection: another host on the
	// network has these addresses.
	AddressesInUse []UsedAddress `json:"addressesInUse,omitempty"`
}

// formerReport holds the fields and words of reports before version 1 of the plan. An
// edge that was not replaced yet writes them.
type formerReport struct {
	Sibling      string        `json:"sibling"`
	SlowTakeover string        `json:"slowTakeover"`
	Taken        []UsedAddress `json:"taken"`
}

// former says what a state of the peer is called now.
func former(state string) string {
	switch state {
	case "lost":
		return PeerUnreachable
	case "serves":
		return PeerServing
	}
	return state
}

// A UsedAddress is an address that somebody else on the network answers for.
type UsedAddress struct {
	Address netip.Addr `json:"address"`
	// MAC in lower case with colons.
	MAC string `json:"mac"`
}

// The most that a report may hold: it stands in an annotation and is shown in a
// condition, and machines have a word in what an edge sees.
const (
	longestReport = 8 << 10
	mostTaken     = 16
	longestWords  = 400
)

// JSON is the report as it is stored: equal for reports that say the same.
func (r Report) JSON() []byte {
	b, err := json.Marshal(r.plain())
	if err != nil {
		panic("network: a report is always JSON: " + err.Error())
	}
	return b
}

// ReadReport reads what Report.JSON wrote; fields that it does not know are ignored,
// and those of reports before version 1 of the plan are understood. What no edge could
// have seen is an error.
func ReadReport(b []byte) (Report, error) {
	if len(b) > longestReport {
		return Report{}, fmt.Errorf("not a report: it is longer than %d bytes", longestReport)
	}
	var r Report
	var was formerReport
	if err := errors.Join(json.Unmarshal(b, &r), json.Unmarshal(b, &was)); err != nil {
		return Report{}, fmt.Errorf("not a report: %w", err)
	}
	r.Peer = cmp.Or(r.Peer, former(was.Sibling))
	r.FailoverDegraded = cmp.Or(r.FailoverDegraded, was.SlowTakeover)
	r.AddressesInUse = slices.Concat(r.AddressesInUse, was.Taken)
	if r.Edge < 0 || r.Edge > maxEdges {
		return Report{}, fmt.Errorf("not a report: no edge has the number %d", r.Edge)
	}
	for _, t := range r.AddressesInUse {
		if !t.Address.Is4() || !isMAC(t.MAC) {
			return Report{}, errors.New("not a report: an address is taken that is no IPv4 address, or by whom is no MAC")
		}
	}
	return r.plain(), nil
}

// plain is r in an order and in words that a reader can use.
func (r Report) plain() Report {
	r.Peer, r.FailoverDegraded = plainWords(r.Peer), plainWords(r.FailoverDegraded)
	r.AddressesInUse = sortedTaken(r.AddressesInUse)
	return r
}

// sortedTaken is ts in order, each once, and no more than a reader can use.
func sortedTaken(ts []UsedAddress) []UsedAddress {
	out := slices.Clone(ts)
	slices.SortFunc(out, func(a, b UsedAddress) int {
		return cmp.Or(a.Address.Compare(b.Address), strings.Compare(a.MAC, b.MAC))
	})
	out = slices.Compact(out)
	return out[:min(len(out), mostTaken)]
}

// plainWords is s in one line of a length that a condition bears.
func plainWords(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > longestWords {
		return string(r[:longestWords]) + "..."
	}
	return s
}

// isMAC says whether s is a MAC of six bytes in lower case with colons.
func isMAC(s string) bool {
	if len(s) != len("02:00:00:00:00:01") {
		return false
	}
	for i := range len(s) {
		hex := s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'f'
		if i%3 == 2 && s[i] != ':' || i%3 < 2 && !hex {
			return false
		}
	}
	return true
}

// InUseByOthers says which addresses of n somebody else on the network has. A network
// that machines boot by is not served until that is mended; of any other it is
// said. Addresses that are not, or no longer, asked for are passed over, and of who
// answers for every address it is only said that he does.
func (n Network) InUseByOthers(ts []UsedAddress) Problems {
	var ps Problems
	for _, t := range n.ConflictingWith(ts) {
		p := n.problem(AddressUsedByOther, Args{"role": n.roleOf(t.Address), "address": t.Address.String(), "mac": t.MAC}, keyEdgeAddresses)
		if !n.Primary {
			p = p.warning()
		}
		ps = append(ps, p)
	}
	for _, mac := range n.answersForAll(ts) {
		ps = append(ps, n.problem(ProxyARP, Args{"mac": mac}))
	}
	return ps
}

// roleOf is what n has an address for that is asked for.
func (n Network) roleOf(a netip.Addr) string {
	if i := slices.Index(n.byRole(), a); i >= 0 && i < len(roles()) {
		return roles()[i]
	}
	return "edge address"
}

// Slow says that the loss of an edge of n is noticed late, and why. It never
// blocks: all is served, and only a take-over takes longer.
func (n Network) Slow(edge int, why string) Problem {
	args := Args{"edge": strconv.Itoa(edge), "nextHop": n.NextHopVIP.String(), "finding": strings.TrimSuffix(plainWords(why), ".")}
	return n.problem(FailoverAnnouncementIgnored, args).of(n.edge(edge))
}
