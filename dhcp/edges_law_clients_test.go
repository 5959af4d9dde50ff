// This file holds what the clients of a random history do, and which laws they see broken.

package dhcp_test

import (
	"fmt"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// A lawAnswer is the answer of one edge.
type lawAnswer struct {
	reply.Verdict
	by *lawEdge
}

// asks sends m to one edge, or to both where to is negative, and returns the answers as the client
// receives them.
func (s *schedule) asks(m *dhcpv4.DHCPv4, to int) (answers []lawAnswer) {
	dst := netip.MustParseAddr("255.255.255.255")
	if to >= 0 {
		dst = s.n.DHCP.ServerID
	}
	for _, i := range s.r.Perm(2) {
		lost := s.lossy && s.r.IntN(10) == 0
		if lost || !s.edges[i].up || to >= 0 && i != to {
			continue
		}
		v := s.edges[i].server.Process(s.t.Context(), m, dst)
		if v.Answer != nil && !(s.lossy && s.r.IntN(10) == 0) {
			answers = append(answers, lawAnswer{v, s.edges[i]})
		}
	}
	s.r.Shuffle(len(answers), func(i, k int) { answers[i], answers[k] = answers[k], answers[i] })
	return answers
}

// takes has the client act on the first answer to a REQUEST. It reports whether it has an address.
func (s *schedule) takes(c *lawClient, answers []lawAnswer, bound bool) bool {
	for _, v := range answers {
		if v.Outcome == reply.Refused && bound && c.bound(s.clock) {
			s.fails("%s uses %s until %s and is refused: %s", c.mac, c.has, c.end, v.Why)
		}
	}
	if len(answers) == 0 {
		return false
	}
	v := answers[0]
	if v.Outcome != reply.Granted {
		delete(s.uses, c.has)
		c.has = netip.Addr{}
		return false
	}
	if other, ok := s.uses[v.Address]; ok && other.MAC != c.mac && s.clock.Before(other.Expires) {
		s.fails("%s is given to %s while %s uses it until %s", v.Address, c.mac, other.MAC, other.Expires)
	}
	if c.has != v.Address {
		delete(s.uses, c.has)
	}
	c.has, c.remembered, c.end = v.Address, v.Address, s.clock.Add(v.Answer.IPAddressLeaseTime(0))
	s.uses[c.has] = network.Lease{Address: c.has, MAC: c.mac, Expires: c.end}
	s.granted++
	return true
}

func (s *schedule) fails(format string, a ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("seed %d step %d (%s): "+format, append([]any{s.seed, s.step, s.clock}, a...)...)
	}
}

// acts is one step of a client.
func (s *schedule) acts(c *lawClient) {
	if s.r.IntN(40) == 0 {
		c.via = s.r.IntN(2)
	}
	ciaddr := dhcpv4.WithClientIP(c.has.AsSlice())
	switch kind := s.r.IntN(20); {
	case c.bound(s.clock) && kind < 12:
		s.renews(c)
	case c.bound(s.clock) && kind < 14:
		s.insists(c, message(request, c.mac, asks(c.has.String())), true)
	case c.bound(s.clock) && kind < 15:
		m := message(release, c.mac, server(us), ciaddr)
		c.leaves(s)
		s.asks(m, c.via)
	case c.bound(s.clock) && kind < 16:
		m := message(decline, c.mac, server(us), asks(c.has.String()))
		c.leaves(s)
		s.asks(m, -1)
	case c.has.IsValid() && kind < 17:
		s.takes(c, s.asks(message(request, c.mac, asks(c.has.String())), -1), true)
	case !c.has.IsValid() && c.remembered.IsValid() && kind < 12:
		s.returns(c)
	default:
		s.boots(c)
	}
}

// leaves is a client that uses its address no longer.
func (c *lawClient) leaves(s *schedule) {
	delete(s.uses, c.has)
	c.has = netip.Addr{}
}

// returns is a client that asks for the address that it gave back. It gets it only if no other client can have it.
// An edge that is cut off and knows no peer that serves cannot know that. It has the client's lease in its memory.
func (s *schedule) returns(c *lawClient) {
	answers := s.asks(message(request, c.mac, asks(c.remembered.String())), -1)
	if len(answers) == 0 {
		return
	}
	v := answers[0]
	if v.Outcome == reply.Granted && s.api.objects[v.Address].lease.MAC != c.mac {
		if v.by.store.Fresh() == nil || v.by.peer {
			s.fails("%s is granted %s again, which it gave back", c.mac, v.Address)
		}
		return
	}
	s.takes(c, answers, false)
}

// renews asks the edge that the kernel of c sends to, and then both.
func (s *schedule) renews(c *lawClient) {
	m := message(request, c.mac, dhcpv4.WithClientIP(c.has.AsSlice()))
	if !s.takes(c, s.asks(m, c.via), true) && c.bound(s.clock) {
		s.insists(c, m, true)
	}
}

// insists broadcasts m until there is an answer. A client is not left without one while an edge
// could answer.
func (s *schedule) insists(c *lawClient, m *dhcpv4.DHCPv4, bound bool) bool {
	must := s.mustServe()
	for range 3 {
		if s.takes(c, s.asks(m, -1), bound) {
			return true
		}
		if !c.has.IsValid() {
			return false
		}
	}
	if must && s.mustServe() {
		s.fails("%s gets no answer about %s", c.mac, c.has)
	}
	return false
}

// mustServe reports whether an edge is fresh, and no message gets lost.
func (s *schedule) mustServe() bool {
	return !s.lossy && s.err == nil && (s.fresh(0) && !s.edges[0].store.cut || s.fresh(1) && !s.edges[1].store.cut)
}

// boots is a client without a memory. It tries eight times at most.
func (s *schedule) boots(c *lawClient) {
	c.leaves(s)
	must := s.mustServe()
	for range 8 {
		m := message(discover, c.mac)
		answers := s.asks(m, -1)
		for again := 0; again < 2 && len(answers) == 0; again++ {
			answers = s.asks(m, -1)
		}
		if len(answers) == 0 {
			continue
		}
		m = message(request, c.mac, server(us), asks(answers[0].Address.String()), dhcpv4.WithTransactionID(m.TransactionID))
		for range 3 {
			answers = s.asks(m, -1)
			if s.takes(c, answers, false) {
				return
			}
			if len(answers) > 0 {
				break
			}
		}
	}
	if must && s.mustServe() && s.hasRoom() {
		s.fails("%s gets no address", c.mac)
	}
}

// hasRoom reports whether there are more addresses than clients and what is left behind.
func (s *schedule) hasRoom() bool {
	size := 0
	for a := s.n.DHCP.Range.First; a.Compare(s.n.DHCP.Range.Last) <= 0; a = a.Next() {
		size++
	}
	return len(s.api.objects) < size-2 && s.edges[0].store.Len() < size-2 && s.edges[1].store.Len() < size-2
}
