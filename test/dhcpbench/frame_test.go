package dhcpbench

import (
	"net"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
)

// TestFrames: another implementation reads what clients send, and clients read what it sends.
func TestFrames(t *testing.T) {
	g := NewWithT(t)
	address, server := netip.MustParseAddr("10.77.1.9"), netip.MustParseAddr(serverAddress)
	sent := datagram{mac: MAC(258), to: everyone, xid: 7, kind: request, dst: netip.MustParseAddr("255.255.255.255"), asked: address, chose: server, secs: 4}.frame()
	m, err := dhcpv4.FromBytes(sent[bootp:])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.MessageType()).To(Equal(dhcpv4.MessageTypeRequest))
	g.Expect(m.ClientHWAddr).To(Equal(net.HardwareAddr{2, 0, 0, 0, 1, 2}))
	g.Expect(m.RequestedIPAddress().String()).To(Equal(address.String()))
	g.Expect(m.ServerIdentifier().String()).To(Equal(server.String()))
	g.Expect(m.NumSeconds).To(Equal(uint16(4)))
	g.Expect(checksum(sent[etherHeader:etherHeader+ipHeader])).To(BeZero(), "the IP header is valid")

	answer, err := dhcpv4.NewReplyFromRequest(m, dhcpv4.WithMessageType(dhcpv4.MessageTypeAck), dhcpv4.WithYourIP(address.AsSlice()),
		dhcpv4.WithServerIP(server.AsSlice()), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(server.AsSlice())))
	g.Expect(err).NotTo(HaveOccurred())
	frame := append(append([]byte{}, sent[:bootp]...), answer.ToBytes()...)
	frame[etherHeader+ipHeader+3] = 68 // The destination port.
	r, ok := readReply(frame)
	g.Expect(ok).To(BeTrue())
	g.Expect(r).To(Equal(reply{mac: MAC(258), server: MAC(258), xid: 7, kind: ack, yours: address, choseID: server}))
	for i := range frame {
		_, _ = readReply(frame[:i]) // No frame stops a run.
	}
}
