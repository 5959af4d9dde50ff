// This file writes replies as bytes (RFC 2131 section 2), in one buffer.

package reply

import (
	"encoding/binary"
	"net"
	"slices"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

const (
	// bootpLength is the length in bytes below which some relays drop a message (RFC 1542 section 2.1).
	bootpLength             = 300
	snameLength, fileLength = 64, 128
	// cookie is the magic cookie before the options.
	cookie = 0x63825363
	// usual is a length in bytes that most replies do not exceed.
	usual = 576
)

// Encode returns the bytes of m. Options are sorted by code, with the relay's option last (RFC 3046 section
// 2.1). An option of more than 255 bytes is split (RFC 3396). Empty fields are zero.
func Encode(m *dhcpv4.DHCPv4) []byte {
	out := make([]byte, 0, usual)
	out = append(out, byte(m.OpCode), byte(m.HWType), byte(len(m.ClientHWAddr)), m.HopCount)
	out = append(out, m.TransactionID[:]...)
	out = binary.BigEndian.AppendUint16(out, m.NumSeconds)
	out = binary.BigEndian.AppendUint16(out, m.Flags)
	for _, ip := range []net.IP{m.ClientIPAddr, m.YourIPAddr, m.ServerIPAddr, m.GatewayIPAddr} {
		out = appendField(out, 4, string(ip.To4()))
	}
	out = appendField(out, 16, string(m.ClientHWAddr))
	out = appendField(out, snameLength, m.ServerHostName)
	out = appendField(out, fileLength, m.BootFileName)
	out = binary.BigEndian.AppendUint32(out, cookie)
	for _, code := range codes(m.Options) {
		out = appendOption(out, option{code, m.Options[code]})
	}
	out = append(out, dhcpv4.OptionEnd.Code())
	if short := bootpLength - len(out); short > 0 {
		out = append(out, make([]byte, short)...)
	}
	return out
}

// appendField appends a field of size bytes: content, cut to the size or followed by zeros.
func appendField(out []byte, size int, content string) []byte {
	var zero [fileLength]byte
	content = content[:min(len(content), size)]
	return append(append(out, content...), zero[:size-len(content)]...)
}

// codes returns the codes of options in the order in which they are written.
func codes(all dhcpv4.Options) []uint8 {
	out := make([]uint8, 0, 32)
	relay, end := dhcpv4.OptionRelayAgentInformation.Code(), dhcpv4.OptionEnd.Code()
	for code := range all {
		if code != relay && code != 0 && code != end {
			out = append(out, code)
		}
	}
	slices.Sort(out)
	if all.Has(dhcpv4.OptionRelayAgentInformation) {
		out = append(out, relay)
	}
	return out
}

// An option is one option of a message.
type option struct {
	code  uint8
	value []byte
}

// length returns the encoded length in bytes. Each 255 bytes of the value have their own header (RFC 3396).
func (o option) length() int { return len(o.value) + 2*max(1, (len(o.value)+254)/255) }

func appendOption(out []byte, o option) []byte {
	if len(o.value) == 0 {
		return append(out, o.code, 0)
	}
	for part := range slices.Chunk(o.value, 255) {
		out = append(append(out, o.code, byte(len(part))), part...)
	}
	return out
}

// optionsLength returns the encoded length of parameter all in bytes, without the end option.
func optionsLength(all dhcpv4.Options) int {
	sum := 0
	for code, value := range all {
		sum += option{code, value}.length()
	}
	return sum
}
