package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/build"
)

// TestTakes: the first line of the demo says what other work on the machine means.
func TestTakes(t *testing.T) {
	g := NewWithT(t)
	g.Expect(takes(build.Forecast{Time: 20 * time.Minute}, 2)).To(Equal("about 22 min on an idle machine, and longer next to other work: " +
		"114 min instead of 12 to 30 were measured next to eight busy processes"))
	g.Expect(takes(build.Forecast{Time: 20 * time.Minute, Load: 8.2}, 2)).To(Equal("about 22 min on an idle machine, and about 112 min next to the other work here (load 8 on 2 processors)"))
}
