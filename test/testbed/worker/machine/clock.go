// This file requests the time with ntpdig, an NTP client of another project. It does not set the clock, which a machine shares with
// the host.

package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"
)

// A Time is the answer of an NTP server.
type Time struct {
	Server  netip.Addr
	Stratum int
	// Offset is the difference from the machine's clock.
	Offset time.Duration
}

// String returns t as one line.
func (t Time) String() string {
	return fmt.Sprintf("%s, stratum %d, tells a time %s from that of its host", t.Server, t.Stratum, t.Offset.Round(time.Microsecond))
}

// AskTime requests the time from an NTP server, and waits for the answer for at most patience. It returns an error if the server
// reports that its clock is not synchronized.
func (m *Machine) AskTime(ctx context.Context, server netip.Addr, patience time.Duration) (Time, error) {
	seconds := strconv.Itoa(int(math.Ceil(patience.Seconds())))
	out, err := m.Output(ctx, "ntpdig", "--json", "--timeout", seconds, server.String())
	if err != nil {
		return Time{}, fmt.Errorf("NTP server %s: %w", server, err)
	}
	return parseTime(out)
}

// parseTime parses the output of ntpdig, one line of JSON.
func parseTime(line []byte) (Time, error) {
	var told struct {
		IP      netip.Addr
		Offset  float64 // seconds
		Stratum int
	}
	if err := json.Unmarshal(line, &told); err != nil {
		return Time{}, fmt.Errorf("ntpdig: %w: %s", err, line)
	}
	return Time{Server: told.IP, Stratum: told.Stratum, Offset: time.Duration(told.Offset * float64(time.Second))}, nil
}
