package main

import (
	"os"
	"testing"
)

// asCommand in the environment makes the test binary the command itself, so that
// tests can run it where and as often as they like without building it again.
const asCommand = "OOOI_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}
