// This file says how many tests run side by side.

package dhcp_test

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	// The tests that run side by side wait more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
