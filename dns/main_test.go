// This file says how many tests run side by side.

package dns

import (
	"os"
	"testing"

	"github.com/cldmnky/oooi/test/programs"
)

func TestMain(m *testing.M) {
	programs.SideBySide(8)
	os.Exit(m.Run())
}
