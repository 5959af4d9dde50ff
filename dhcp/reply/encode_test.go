package reply_test

import (
	"bytes"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/reply"
)

// TestEncode: for any fields and options, a client reads from a reply what it would read from that of another encoder.
func TestEncode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(most int) []byte {
		out := make([]byte, r.IntN(most+1))
		for i := range out {
			out[i] = byte(r.Uint32())
		}
		return out
	}
	for range 2000 {
		m := &dhcpv4.DHCPv4{
			OpCode: dhcpv4.OpcodeBootReply, HWType: 1, HopCount: byte(r.IntN(4)), NumSeconds: uint16(r.Uint32()), Flags: uint16(r.IntN(2)) << 15,
			ClientIPAddr: net.IPv4(10, 0, 0, byte(r.IntN(9))), YourIPAddr: net.IP{10, 0, 0, 1}, ClientHWAddr: append(random(5), 1),
			ServerHostName: string(random(63)), BootFileName: string(random(127)), Options: dhcpv4.Options{},
		}
		copy(m.TransactionID[:], random(4))
		for range r.IntN(12) {
			m.Options[byte(1+r.IntN(254))] = random([]int{0, 4, 255, 600}[r.IntN(4)])
		}
		if r.IntN(2) == 0 {
			m.Options[dhcpv4.OptionRelayAgentInformation.Code()] = random(20)
		}
		if got, want := reply.Encode(m), m.ToBytes(); !bytes.Equal(got, want) {
			t.Fatalf("%s\n got %x\nwant %x", m.Summary(), got, want)
		}
	}
}
