// This file answers packets without CoreDNS: well-formed queries that the plan answers (Decide), and malformed packets.
// Everything else is left to CoreDNS: other opcodes, upstreams, truncation, names with escapes.

package answers

import (
	"encoding/binary"
	"strings"

	"github.com/miekg/dns"
)

const (
	// BufferSize in octets fits into a packet on every network (DNS flag day 2020).
	BufferSize   = 1232
	headerOctets = 12
	longestName  = 255
	longestLabel = 63
	// The flags of a header that matter here (RFC 1035 section 4.1.1, RFC 4035 section 3.1.6).
	flagResponse      = 1 << 15
	maskOpcode        = 0xf << 11
	FlagAuthoritative = 1 << 10
	flagRecursion     = 1 << 8
	FlagAvailable     = 1 << 7
	flagNoCheck       = 1 << 4
	// flagDO is in the TTL of an OPT record (RFC 3225).
	flagDO = 1 << 15
	// pointer marks a compressed name.
	pointer = 0xc0
)

// A Packet is one message, parsed as far as this file needs it.
type Packet struct {
	flags uint16
	// question is the question section as sent.
	question []byte
	// Name is the name in the question, in lower case with trailing dot.
	Name        string
	Kind, Class uint16
	opt         bool
	size        uint16
	Version     byte
	do          bool
}

// A Shape is whether this file can answer a packet.
type Shape int

const (
	NotOurs Shape = iota
	Malformed
	WellFormed
)

// Parse reads the whole packet: all records, to the last octet (RFC 1035 section 4.1, RFC 6891 section 6.1).
func Parse(b []byte) (p Packet, s Shape) {
	if len(b) < headerOctets {
		return p, NotOurs
	}
	p.flags = binary.BigEndian.Uint16(b[2:])
	if p.flags&(flagResponse|maskOpcode) != 0 {
		return p, NotOurs
	}
	if binary.BigEndian.Uint16(b[4:]) != 1 {
		return p, Malformed
	}
	name, plain, at := readName(b)
	if at == 0 || len(b) < at+4 {
		return p, Malformed
	}
	p.Name, p.Kind, p.Class = name, binary.BigEndian.Uint16(b[at:]), binary.BigEndian.Uint16(b[at+2:])
	at += 4
	p.question = b[headerOctets:at]
	before := int(binary.BigEndian.Uint16(b[6:])) + int(binary.BigEndian.Uint16(b[8:]))
	others := false
	for i := range before + int(binary.BigEndian.Uint16(b[10:])) {
		body := skipName(b, at)
		if body == 0 || len(b) < body+10 {
			return p, Malformed
		}
		next := body + 10 + int(binary.BigEndian.Uint16(b[body+8:]))
		switch {
		case next > len(b):
			return p, Malformed
		case binary.BigEndian.Uint16(b[body:]) != dns.TypeOPT:
			others = true
		case p.opt || i < before || body != at+1 || !options(b[body+10:next]):
			return p, Malformed
		default:
			p.opt, p.size, p.Version = true, binary.BigEndian.Uint16(b[body+2:]), b[body+5]
			p.do = binary.BigEndian.Uint16(b[body+6:])&flagDO != 0
		}
		at = next
	}
	switch {
	case at != len(b):
		return p, Malformed
	case others || !plain:
		return p, NotOurs
	}
	return p, WellFormed
}

// readName returns the name of the question in lower case, and the offset after it. The offset is 0 if the name is
// malformed. A pointer is malformed here, since no name precedes it. plain reports whether the name needs no
// escapes.
func readName(b []byte) (name string, plain bool, end int) {
	var text [longestName]byte
	out, at := text[:0], headerOctets
	for plain = true; ; {
		if at >= len(b) {
			return "", false, 0
		}
		n := int(b[at])
		at++
		if n == 0 {
			break
		}
		if n > longestLabel || at+n > len(b) || at+n+1-headerOctets > longestName {
			return "", false, 0
		}
		for _, c := range b[at : at+n] {
			switch {
			case c >= 'A' && c <= 'Z':
				c += 'a' - 'A'
			case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '*':
			default:
				plain = false
			}
			out = append(out, c)
		}
		out = append(out, '.')
		at += n
	}
	if len(out) == 0 {
		return ".", plain, at
	}
	return string(out), plain, at
}

// skipName returns the offset after the name at an offset. 0: the name is malformed.
func skipName(b []byte, at int) int {
	for start := at; at < len(b); {
		switch n := int(b[at]); {
		case n == 0:
			return at + 1
		case n <= longestLabel && at+1+n-start < longestName:
			at += 1 + n
		case n&pointer == pointer && at+1 < len(b) && int(binary.BigEndian.Uint16(b[at:])&^(pointer<<8)) < start:
			return at + 2
		default:
			return 0
		}
	}
	return 0
}

// options reports whether the options of an OPT record are well-formed.
func options(b []byte) bool {
	for len(b) >= 4 {
		n := 4 + int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b) {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

// Limit returns how many octets an answer over UDP may have.
func (p Packet) Limit() int {
	if !p.opt {
		return dns.MinMsgSize
	}
	return int(min(max(p.size, dns.MinMsgSize), BufferSize))
}

// AppendReply appends to parameter out the answer to p, which was parsed from the packet b. False: the answer exceeds
// limit, or has other record types.
func (p Packet) AppendReply(out, b []byte, reply Reply, flags uint16, limit int) ([]byte, bool) {
	start := len(out)
	flags |= flagResponse | p.flags&(flagRecursion|flagNoCheck) | uint16(reply.Rcode&0xf)
	additional := byte(0)
	if p.opt {
		additional = 1
	}
	out = append(out, b[0], b[1], byte(flags>>8), byte(flags), 0, 1, 0, byte(len(reply.Answer)), 0, byte(len(reply.Authority)), 0, additional)
	out = append(out, p.question...)
	ok := len(reply.Answer) < 256 && len(reply.Authority) < 256
	for _, rr := range reply.Answer {
		if ok {
			out, ok = p.appendRR(append(out, pointer, headerOctets), rr)
		}
	}
	for _, rr := range reply.Authority {
		if ok {
			out, ok = p.appendRR(p.appendName(out, rr.Header().Name), rr)
		}
	}
	if p.opt {
		do := byte(0)
		if p.do {
			do = flagDO >> 8
		}
		out = append(out, 0, 0, byte(dns.TypeOPT), BufferSize>>8, BufferSize&0xff, byte(reply.Rcode>>4), 0, do, 0, 0, 0)
	}
	return out, ok && len(out)-start <= limit
}

// appendRR appends a record without its name. False: this file cannot write records of this type.
func (p Packet) appendRR(out []byte, rr dns.RR) ([]byte, bool) {
	h := rr.Header()
	out = binary.BigEndian.AppendUint16(out, h.Rrtype)
	out = binary.BigEndian.AppendUint16(out, h.Class)
	out = binary.BigEndian.AppendUint32(out, h.Ttl)
	length := len(out)
	out = append(out, 0, 0)
	switch rr := rr.(type) {
	case *dns.A:
		out = append(out, rr.A.To4()...)
	case *dns.AAAA:
		out = append(out, rr.AAAA.To16()...)
	case *dns.PTR:
		out = p.appendName(out, rr.Ptr)
	case *dns.SOA:
		out = p.appendName(p.appendName(out, rr.Ns), rr.Mbox)
		for _, v := range []uint32{rr.Serial, rr.Refresh, rr.Retry, rr.Expire, rr.Minttl} {
			out = binary.BigEndian.AppendUint32(out, v)
		}
	default:
		return out, false
	}
	binary.BigEndian.PutUint16(out[length:], uint16(len(out)-length-2))
	return out, true
}

// appendName appends a name of the plan, with a trailing dot and no escapes. A common end with the question's name
// becomes a pointer.
func (p Packet) appendName(out []byte, name string) []byte {
	for name != "." && name != "" {
		if below, ok := strings.CutSuffix(p.Name, name); ok && (below == "" || below[len(below)-1] == '.') {
			at := headerOctets + len(below)
			return append(out, pointer|byte(at>>8), byte(at))
		}
		label, rest, _ := strings.Cut(name, ".")
		out = append(append(out, byte(len(label))), label...)
		name = rest
	}
	return append(out, 0)
}

// AppendMalformed appends FORMERR for the packet b, with a header only. This answer must be well-formed: two servers
// that answer each other's malformed packets would never stop.
func AppendMalformed(out, b []byte) []byte {
	flags := binary.BigEndian.Uint16(b[2:])&flagRecursion | flagResponse | dns.RcodeFormatError
	return append(out, b[0], b[1], byte(flags>>8), byte(flags), 0, 0, 0, 0, 0, 0, 0, 0)
}
