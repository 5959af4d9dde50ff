package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/edge/guard"
)

// TestOneWordForLost: what the guard reports is what the operator looks for.
func TestOneWordForLost(t *testing.T) {
	NewWithT(t).Expect(string(guard.Lost)).To(Equal(network.SiblingLost))
}
