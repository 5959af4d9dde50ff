package main

import (
	"os"
	"testing"
	"time"

	"github.com/cldmnky/oooi/ntp"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

func TestMain(m *testing.M) {
	programs.SideBySide(6)
	programs.Main(m, func() { run(playedClock, patience.Limit) })
}

// clockFile in the environment names a file: while it exists, the clock is not synchronized.
const clockFile = "OOOI_TEST_CLOCK"

// playedClock is the clock of the programs that tests start, since machines for tests have often
// none that is synchronized. Without clockFile it always is.
func playedClock() (ntp.State, error) {
	if _, err := os.Stat(os.Getenv(clockFile)); err == nil {
		return ntp.State{}, nil
	}
	return ntp.State{Synchronized: true, MaxError: 10 * time.Millisecond}, nil
}
