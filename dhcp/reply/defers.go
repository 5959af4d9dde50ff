// This file decides which edge replies to a message that both edges receive (RFC 3074). It
// affects only the number of replies: the write before an ACK keeps two clients from getting
// the same address.

package reply

import (
	"slices"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/network"
)

// delayed is the least value of secs, in seconds, with which both edges reply (the service delay of
// RFC 3074).
const delayed = 3

// Sent is what Defers needs to know about a message besides its content.
type Sent struct {
	// Direct: the message was sent to the service VIP, so the peer has not received it.
	Direct bool
	// Again: the client retries this message, or retried the DISCOVER before it. So the
	// selected edge did not reply.
	Again bool
	// PeerServes: the peer serves now.
	PeerServes bool
	// Yields: a younger pod has this edge's number, and replies in its place.
	Yields bool
	// Stale: the store does not answer this edge. A peer that serves reaches the store.
	Stale bool
}

// Defers reports whether edge leaves request to its peer, or to a younger pod with the same number.
//
// The edges share DISCOVER, REQUEST and INFORM, which clients retry. Both edges process a DECLINE: a
// client does not repeat it, so it would be lost if only a failed edge processed it.
func Defers(n network.Network, edge int, request *dhcpv4.DHCPv4, s Sent) bool {
	switch request.MessageType() {
	case dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeRequest, dhcpv4.MessageTypeInform:
	default:
		return false
	}
	if s.Yields && !s.Direct {
		return true
	}
	isOne := slices.ContainsFunc(n.Edges, func(e network.Edge) bool { return e.Number == edge })
	if isOne && len(n.Edges) > 1 && s.PeerServes && s.Stale && !s.Direct && Remembers(request) {
		return true // The peer may know that the client no longer has the address.
	}
	return isOne && len(n.Edges) > 1 && s.PeerServes && !s.Direct && !s.Again &&
		request.NumSeconds < delayed && selected(n, request) != edge
}

// Uses reports whether the client of a REQUEST already uses its address, that is, renews or rebinds.
func Uses(m *dhcpv4.DHCPv4) bool {
	return !m.Options.Has(dhcpv4.OptionServerIdentifier) && set(m.ClientIPAddr)
}

// Remembers reports whether m is a REQUEST of a client that remembers an address (INIT-REBOOT).
func Remembers(m *dhcpv4.DHCPv4) bool {
	return m.MessageType() == dhcpv4.MessageTypeRequest && !m.Options.Has(dhcpv4.OptionServerIdentifier) && !set(m.ClientIPAddr)
}

// selected returns the number of the edge for a client, by its identifier or else by its MAC (RFC
// 3074). A node's initrd and its installed system send different identifiers, and may get different
// edges.
func selected(n network.Network, request *dhcpv4.DHCPv4) int {
	key := request.Options.Get(dhcpv4.OptionClientIdentifier)
	if len(key) == 0 {
		key = request.ClientHWAddr
	}
	return n.Edges[int(bucket(key))%len(n.Edges)].Number
}

// bucket returns Pearson's hash of key (RFC 3074 section 6).
func bucket(key []byte) uint8 {
	hash := uint8(len(key))
	for _, b := range slices.Backward(key) {
		hash = mixing[hash^b]
	}
	return hash
}

// mixing is the table of RFC 3074 section 6.
var mixing = [256]uint8{
	251, 175, 119, 215, 81, 14, 79, 191, 103, 49, 181, 143, 186, 157, 0, 232,
	31, 32, 55, 60, 152, 58, 17, 237, 174, 70, 160, 144, 220, 90, 57, 223,
	59, 3, 18, 140, 111, 166, 203, 196, 134, 243, 124, 95, 222, 179, 197, 65,
	180, 48, 36, 15, 107, 46, 233, 130, 165, 30, 123, 161, 209, 23, 97, 16,
	40, 91, 219, 61, 100, 10, 210, 109, 250, 127, 22, 138, 29, 108, 244, 67,
	207, 9, 178, 204, 74, 98, 126, 249, 167, 116, 34, 77, 193, 200, 121, 5,
	20, 113, 71, 35, 128, 13, 182, 94, 25, 226, 227, 199, 75, 27, 41, 245,
	230, 224, 43, 225, 177, 26, 155, 150, 212, 142, 218, 115, 241, 73, 88, 105,
	39, 114, 62, 255, 192, 201, 145, 214, 168, 158, 221, 148, 154, 122, 12, 84,
	82, 163, 44, 139, 228, 236, 205, 242, 217, 11, 187, 146, 159, 64, 86, 239,
	195, 42, 106, 198, 118, 112, 184, 172, 87, 2, 173, 117, 176, 229, 247, 253,
	137, 185, 99, 164, 102, 147, 45, 66, 231, 52, 141, 211, 194, 206, 246, 238,
	56, 110, 78, 248, 63, 240, 189, 93, 92, 51, 53, 183, 19, 171, 72, 50,
	33, 104, 101, 69, 8, 252, 83, 120, 76, 135, 85, 54, 202, 125, 188, 213,
	96, 235, 136, 208, 162, 129, 190, 132, 156, 38, 47, 1, 7, 254, 24, 4,
	216, 131, 89, 21, 28, 133, 37, 153, 149, 80, 170, 68, 6, 169, 234, 151,
}
