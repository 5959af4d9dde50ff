package reply_test

import (
	"fmt"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// A probe of servers from the outside has 32 rows. Other tests have most of them:
//
//	offer, ack and their options      TestOptionsOfANode, TestUnrequestedOptions, TestMessageSize
//	the four states and their NAKs    TestDiscover, TestSelecting, TestRebootingAndRenewing
//	DECLINE, RELEASE, INFORM          TestDeclineReleaseInform, TestUnrequestedOptions
//	destinations, relays, option 82   TestDestinationOfAnswers (always broadcast to a client without an address)
//	malformed packets                 TestMalformed, FuzzReply, FuzzReceive
//	the same address again            TestUdhcpc, TestDhclient, TestForeignClients
//
// The tests of this file have the rest.

// TestOfferAndAckCarry: an offer and its ACK name the server, the lease time, T1, T2 and the mask.
func TestOfferAndAckCarry(t *testing.T) {
	g := NewWithT(t)
	for _, m := range []*dhcpv4.DHCPv4{
		message(discover, mac1, parameters(6)), message(request, mac1, parameters(6), server(us), asks(ofMAC1)),
	} {
		v := world{}.says(m)
		g.Expect(v.Answer).NotTo(BeNil())
		for _, code := range []uint8{1, 51, 54, 58, 59} {
			g.Expect(v.Answer.Options).To(HaveKey(code), "%s: option %d", v.Outcome, code)
		}
	}
}

// TestClientIdentifiers: the server identifies a client by its MAC. A client that changes its identifier after the initrd keeps its
// address. Two MACs with one identifier, as cloned disks have, get two addresses.
func TestClientIdentifiers(t *testing.T) {
	g := NewWithT(t)
	id := func(last byte) dhcpv4.Modifier {
		return dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, []byte{255, 0, 0, 0, last})
	}
	w := world{leases: mine}
	for last := range byte(3) {
		v := w.says(message(discover, mac1, id(last)))
		g.Expect(v.Address).To(Equal(at("20")))
		g.Expect(v.Answer.Options.Get(dhcpv4.OptionClientIdentifier)).To(Equal([]byte{255, 0, 0, 0, last}), "echoed (RFC 6842)")
	}
	other := w.says(message(discover, mac2, id(0)))
	g.Expect(other.Outcome).To(Equal(reply.Offered))
	g.Expect(other.Address).NotTo(Equal(at("20")))
}

// TestRapidCommit: a client that permits an immediate DHCPACK (RFC 4039) gets an offer. Otherwise two edges would assign two addresses.
func TestRapidCommit(t *testing.T) {
	g := NewWithT(t)
	v := world{}.says(message(discover, mac1, dhcpv4.WithGeneric(dhcpv4.OptionRapidCommit, nil)))
	g.Expect(v.Answer.MessageType()).To(Equal(offer))
	g.Expect(v.Answer.Options).NotTo(HaveKey(dhcpv4.OptionRapidCommit.Code()))
	g.Expect(v.Next.Address.IsValid()).To(BeFalse(), "an offer writes nothing")
}

// TestReleasedAddress: no other client gets an address after a DHCPRELEASE, because any host can send that message.
func TestReleasedAddress(t *testing.T) {
	g := NewWithT(t)
	v := world{leases: others}.says(message(release, mac2, server(us), has("20")))
	g.Expect(v).To(Equal(reply.Verdict{Outcome: reply.ReleaseIgnored, MAC: mac2}), "a RELEASE changes nothing, and is not answered")
	g.Expect(world{leases: others}.says(message(discover, mac1, asks("20"))).Address).NotTo(Equal(at("20")))
}

// TestBareDiscovers: many clients request offers and accept none, more than the range has addresses. A new client still gets an address.
func TestBareDiscovers(t *testing.T) {
	g := NewWithT(t)
	w := world{offered: map[string]string{}}
	w.n = changed(func(d *network.DHCP) { d.Range = network.Range{First: at("10"), Last: at("99")} })
	for i := range 300 {
		mac := fmt.Sprintf("02:00:00:01:%02x:%02x", i>>8, i&0xff)
		v := w.says(message(discover, mac))
		g.Expect(v.Outcome).To(Equal(reply.Offered), "client %d", i)
		w.offered[v.Address.String()] = mac
	}
	first := w.says(message(discover, mac1))
	g.Expect(first.Outcome).To(Equal(reply.Offered))
	g.Expect(w.says(message(request, mac1, server(us), asks(first.Address.String()))).Outcome).To(Equal(reply.Granted))
}
