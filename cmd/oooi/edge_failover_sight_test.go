package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/network"
)

// TestOneWordForLost: what the guard reports is what the operator looks for.
func TestOneWordForLost(t *testing.T) {
	NewWithT(t).Expect(string(failover.Lost)).To(Equal(network.SiblingLost))
}
