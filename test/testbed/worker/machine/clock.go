// This file decides how a machine asks for the time: with ntpdig, a client of another
// project. It never sets the clock, which the machine shares with its host.

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

// A Time is what an NTP server told the machine.
type Time struct {
	Server  netip.Addr
	Stratum int
	// Offset of the machine's clock.
	Offset time.Duration
}

// String says it in one line.
func (t Time) String() string {
	return fmt.Sprintf("%s, stratum %d, tells a time %s from that of its host", t.Server, t.Stratum, t.Offset.Round(time.Microsecond))
}

// AskTime asks an NTP server for the time, and waits for the answer for so long. A server
// that says that its own clock is not right is an error.
func (m *Machine) AskTime(ctx context.Context, server netip.Addr, patience time.Duration) (Time, error) {
	seconds := strconv.Itoa(int(math.Ceil(patience.Seconds())))
	out, err := m.Output(ctx, "ntpdig", "--json", "--timeout", seconds, server.String())
	if err != nil {
		return Time{}, fmt.Errorf("NTP server %s: %w", server, err)
	}
	return parseTime(out)
}

// parseTime reads ntpdig's line.
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
