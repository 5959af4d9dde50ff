// This file asks for the time (RFC 5905).

package trial

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/facebook/time/ntp/protocol"

	"github.com/cldmnky/oooi/network/problem"
)

const (
	// client is leap 0, version 4, mode 3: a question.
	client = 4<<3 | 3
	// unsynchronized is the first stratum that gives no time.
	unsynchronized = 16
	// worthSaying is the least difference to the clock of this node that is reported.
	worthSaying = time.Second
)

// time returns a problem if the server at an address gives no time, or a time that differs from
// this node's clock.
func (w tool) time(ctx context.Context, at netip.AddrPort) problem.Problems {
	c, err := w.dialer.DialContext(ctx, "udp4", at.String())
	if err != nil {
		return ended(err)
	}
	defer func() { _ = c.Close() }()
	var a protocol.Packet
	for range questions {
		if a, err = askTime(c.Write, c.Read, c.SetDeadline); err == nil {
			break
		}
	}
	switch {
	case err != nil:
		return ended(err)
	case a.Stratum == 0 || a.Stratum >= unsynchronized || a.Settings>>6 == 3:
		return found(problem.TimeUnsynchronized, nil)
	}
	if d := time.Until(protocol.Unix(a.TxTimeSec, a.TxTimeFrac)).Abs(); d > worthSaying {
		return found(problem.TimeDiffers, problem.Args{"difference": {d.Round(time.Second).String()}})
	}
	return nil
}

func askTime(write, read func([]byte) (int, error), deadline func(time.Time) error) (a protocol.Packet, err error) {
	q, err := (&protocol.Packet{Settings: client}).Bytes()
	if err != nil {
		return a, err
	}
	if err := deadline(time.Now().Add(answersWithin / questions)); err != nil {
		return a, err
	}
	if _, err := write(q); err != nil {
		return a, err
	}
	b := make([]byte, 256)
	n, err := read(b)
	if err != nil {
		return a, err
	}
	if n < protocol.PacketSizeBytes {
		return a, errors.New("the answer is too short")
	}
	return a, a.UnmarshalBinary(b[:protocol.PacketSizeBytes])
}
