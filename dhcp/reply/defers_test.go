package reply_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

func identified(id string) dhcpv4.Modifier {
	b, err := hex.DecodeString(id)
	if err != nil {
		panic(err)
	}
	return dhcpv4.WithOption(dhcpv4.OptClientIdentifier(b))
}

// TestBucket: RFC 3074's hash selects the edge of a client. If it changed, two versions of
// an edge would answer twice, or not at first.
func TestBucket(t *testing.T) {
	g := NewWithT(t)
	n := blue()
	n.Edges = nil
	for i := range 256 {
		n.Edges = append(n.Edges, network.Edge{Number: i + 1})
	}
	// As many edges as there are buckets: the edge that replies shows the bucket.
	bucket := func(m *dhcpv4.DHCPv4) int {
		found := -1
		for _, e := range n.Edges {
			if !reply.Defers(n, e.Number, m, reply.Sent{PeerServes: true}) {
				g.Expect(found).To(Equal(-1), "one edge answers")
				found = e.Number - 1
			}
		}
		return found
	}
	for mac, want := range map[string]int{mac1: 133, mac2: 45, "02:00:00:00:00:ff": 27, "52:54:00:12:34:56": 156} {
		g.Expect(bucket(message(discover, mac))).To(Equal(want), mac)
		g.Expect(bucket(message(discover, mac, dhcpv4.WithOption(dhcpv4.OptClientIdentifier(nil))))).To(Equal(want), "an empty identifier says nothing")
	}
	for id, want := range map[string]int{"01020000000001": 14, "01525400123456": 253, "ff00000001000102030405060708090a0b0c": 83} {
		g.Expect(bucket(message(request, mac1, identified(id)))).To(Equal(want), id)
	}
	seen := map[int]bool{}
	for b := range 256 {
		seen[bucket(message(discover, mac1, identified(fmt.Sprintf("%02x", b))))] = true
	}
	g.Expect(seen).To(HaveLen(256), "each bucket is somebody's")
}

// TestDefers: an edge leaves a message to its peer only if the peer will answer it.
func TestDefers(t *testing.T) {
	serves := reply.Sent{PeerServes: true}
	relayed := dhcpv4.WithRelay([]byte{192, 168, 100, 1})
	for name, x := range map[string]struct {
		n      network.Network
		edge   int
		m      *dhcpv4.DHCPv4
		sent   reply.Sent
		leaves bool
	}{
		"the other's DISCOVER":                   {twice(), 1, message(discover, mac1), serves, true},
		"its own DISCOVER":                       {twice(), 2, message(discover, mac1), serves, false},
		"the other's REQUEST":                    {twice(), 1, message(request, mac1, server(us), asks("20")), serves, true},
		"its own REQUEST":                        {twice(), 2, message(request, mac1, server(us), asks("20")), serves, false},
		"REBINDING":                              {twice(), 1, message(request, mac1, has("20")), serves, true},
		"INFORM":                                 {twice(), 1, message(inform, mac1, has("20")), serves, true},
		"broadcast by a relay":                   {twice(), 1, message(discover, mac1, relayed), serves, true},
		"the identifier goes before the MAC":     {twice(), 1, message(discover, mac1, identified("01020000000001")), serves, false},
		"no edge answers a DECLINE":              {twice(), 1, message(decline, mac1, server(us), asks("20")), serves, false},
		"no edge answers a RELEASE":              {twice(), 1, message(release, mac1, has("20")), serves, false},
		"no message of DHCP":                     {twice(), 1, message(none, mac1), serves, false},
		"sent to the service address":            {twice(), 1, message(request, mac1, has("20")), reply.Sent{Direct: true, PeerServes: true}, false},
		"a younger pod replies":                  {twice(), 2, message(discover, mac1), reply.Sent{Yields: true, PeerServes: true}, true},
		"a younger pod replies to all tries":     {twice(), 2, message(discover, mac1, secs(9)), reply.Sent{Yields: true, Again: true}, true},
		"a renewal with the elder pod":           {twice(), 2, message(request, mac1, has("20")), reply.Sent{Yields: true, Direct: true}, false},
		"the other does not serve":               {twice(), 1, message(discover, mac1), reply.Sent{}, false},
		"a reboot, cut off":                      {twice(), 2, message(request, mac1, asks("20"), secs(9)), reply.Sent{Again: true, Stale: true, PeerServes: true}, true},
		"a reboot, cut off without a peer":       {twice(), 2, message(request, mac1, asks("20")), reply.Sent{Stale: true}, false},
		"a reboot that is asked again":           {twice(), 1, message(request, mac1, asks("20")), reply.Sent{Again: true, PeerServes: true}, false},
		"a renewal that is asked again, cut off": {twice(), 1, message(request, mac1, has("20")), reply.Sent{Again: true, Stale: true, PeerServes: true}, false},
		"asked again":                            {twice(), 1, message(discover, mac1), reply.Sent{Again: true, PeerServes: true}, false},
		"two seconds after the first try":        {twice(), 1, message(discover, mac1, secs(2)), serves, true},
		"three seconds after the first try":      {twice(), 1, message(discover, mac1, secs(3)), serves, false},
		"one edge":                               {blue(), 1, message(discover, mac1), serves, false},
		"an edge that the plan does not have":    {blue(), 2, message(discover, mac1), serves, false},
		"an edge that the plan has no more":      {twice(), 3, message(discover, mac1), serves, false},
		"a client without an address of its own": {twice(), 1, &dhcpv4.DHCPv4{Options: dhcpv4.Options{53: {1}}}, serves, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(reply.Defers(x.n, x.edge, x.m, x.sent)).To(Equal(x.leaves))
		})
	}
}

// TestOneEdgeAlwaysAnswers, whatever the two edges know about each other. They share the
// clients about evenly.
func TestOneEdgeAlwaysAnswers(t *testing.T) {
	g := NewWithT(t)
	n, mine := twice(), 0
	for i := range 256 {
		for _, kind := range []dhcpv4.MessageType{discover, request, inform, decline, release} {
			m := message(kind, fmt.Sprintf("02:00:00:00:03:%02x", i))
			one, two := reply.Defers(n, 1, m, reply.Sent{PeerServes: true}), reply.Defers(n, 2, m, reply.Sent{PeerServes: true})
			g.Expect(one && two).To(BeFalse())
			g.Expect(one || two).To(Equal(kind != decline && kind != release), "one leaves it")
			if kind == discover && !one {
				mine++
			}
		}
	}
	g.Expect(mine).To(BeNumerically("~", 128, 40))
}
