// This file has the message with which an edge finds other DHCP servers: a
// DISCOVER of a client that does not exist. Edges of oooi never answer it.

package dhcp

import (
	"bytes"
	"net"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// probeMAC returns the client MAC of probes, a locally administered address.
func probeMAC() net.HardwareAddr { return net.HardwareAddr{0x02, 'o', 'o', 'o', 'i', 0} }

// Probe returns a DISCOVER with the broadcast flag.
func Probe(id dhcpv4.TransactionID) ([]byte, error) {
	m, err := dhcpv4.NewDiscovery(probeMAC(), dhcpv4.WithTransactionID(id), dhcpv4.WithBroadcast(true))
	if err != nil {
		return nil, err
	}
	return m.ToBytes(), nil
}

// AnswersProbe reports whether a packet answers the Probe with this ID.
func AnswersProbe(packet []byte, id dhcpv4.TransactionID) bool {
	m, err := dhcpv4.FromBytes(packet)
	return err == nil && m.OpCode == dhcpv4.OpcodeBootReply && m.TransactionID == id && bytes.Equal(m.ClientHWAddr, probeMAC())
}
