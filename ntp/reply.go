// This file decides the packet that answers one question. It is pure.

package ntp

import (
	"time"

	"github.com/facebook/time/ntp/protocol"
)

const (
	modeClient, modeServer = 3, 4
	// newest is the version of RFC 5905. Questions of versions 1 to 4 have the same format.
	newest = 4

	// stratum is the distance from a reference clock that the server announces. The real one is unknown.
	// Most servers have 1 to 4, so a client that compares strata prefers them. Clients refuse 16.
	stratum = 8
	// reference is the conventional identifier of a server that serves its own host's clock, 127.127.1.1. So
	// a node that takes its time from a VM cannot detect the loop.
	reference = 0x7f7f0101
	// precision is the precision of the clock as log2 seconds: a microsecond.
	precision = -20
	// notSynchronized is the kiss code "INIT" (RFC 5905, section 7.4): the node's clock is not synchronized
	// yet.
	notSynchronized = 0x494e4954
	// longestError is the largest root dispersion: 16 s (RFC 5905, MAXDISP).
	longestError = 16 * time.Second
)

// Client returns the question in a datagram. It returns false for a datagram that must not be
// answered. Examples are a message of a peer or a server, a broadcast, and a control or private
// message. It ignores extension fields and MACs, as RFC 5905 permits: the server has no keys.
func Client(datagram []byte) (protocol.Packet, bool) {
	var q protocol.Packet
	if len(datagram) < protocol.PacketSizeBytes || len(datagram)%4 != 0 {
		return q, false
	}
	if err := q.UnmarshalBinary(datagram[:protocol.PacketSizeBytes]); err != nil {
		return q, false
	}
	version := versionOf(q)
	return q, q.Settings&7 == modeClient && version >= 1 && version <= newest
}

// Reply returns the packet that gives the time of a synchronized clock in state s, for a question that
// arrived at received.
func Reply(q protocol.Packet, s State, received, sent time.Time) protocol.Packet {
	p := header(q, s.Leap)
	p.Stratum, p.ReferenceID = stratum, reference
	p.RootDispersion = short(s.MaxError)
	// The kernel does not report the last correction. The maximum error includes the drift since then, so
	// the time of receipt is as good.
	p.RefTimeSec, p.RefTimeFrac = protocol.Time(received.Truncate(time.Second))
	p.RxTimeSec, p.RxTimeFrac = protocol.Time(received)
	p.TxTimeSec, p.TxTimeFrac = protocol.Time(sent)
	return p
}

// Kiss returns the packet that gives no time, since the clock of the node is not synchronized.
func Kiss(q protocol.Packet) protocol.Packet {
	p := header(q, Unknown)
	p.ReferenceID = notSynchronized
	// Clients match the answer to the question by its origin time, and expect times that are not zero.
	p.RxTimeSec, p.RxTimeFrac = q.TxTimeSec, q.TxTimeFrac
	p.TxTimeSec, p.TxTimeFrac = q.TxTimeSec, q.TxTimeFrac
	return p
}

// header returns the fields that all answers to q have in common.
func header(q protocol.Packet, l Leap) protocol.Packet {
	return protocol.Packet{
		Settings: uint8(l)<<6 | versionOf(q)<<3 | modeServer,
		Poll:     q.Poll, Precision: precision,
		OrigTimeSec: q.TxTimeSec, OrigTimeFrac: q.TxTimeFrac,
	}
}

func versionOf(q protocol.Packet) uint8 { return q.Settings >> 3 & 7 }

// short returns d in NTP's short format: 16 bits of seconds and 16 bits of fraction, rounded up.
func short(d time.Duration) uint32 {
	d = min(max(d, 0), longestError)
	return uint32((int64(d)<<16 + int64(time.Second) - 1) / int64(time.Second))
}
