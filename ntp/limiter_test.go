package ntp

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

var (
	vm    = netip.MustParseAddr("192.168.100.20")
	other = netip.MustParseAddr("192.168.100.21")
	start = time.Unix(1_800_000_000, 0)
)

// permitted is how many of n questions are answered.
func permitted(l *Limiter, client netip.Addr, now time.Time, n int) (answers int) {
	for range n {
		if l.Permits(client, now) {
			answers++
		}
	}
	return answers
}

// leaked is about the share of n questions above the limit that is answered.
func leaked(n int) types.GomegaMatcher { return BeNumerically("~", n/leak, n/leak/2) }

func TestAFloodTakesNoAnswersOfOthers(t *testing.T) {
	g, l := NewWithT(t), NewLimiter()
	g.Expect(permitted(l, vm, start, limit)).To(Equal(limit))
	g.Expect(permitted(l, vm, start, 100_000)).To(leaked(100_000))
	// The two share a counter once in 65536 windows.
	g.Expect([]int{permitted(l, other, start, limit), permitted(l, other, start.Add(window), limit)}).To(ContainElement(limit))
	g.Expect(permitted(l, vm, start.Add(window), limit)).To(Equal(limit), "the next window")
}

// TestAClockThatIsSetBack does not leave clients without an answer.
func TestAClockThatIsSetBack(t *testing.T) {
	g, l := NewWithT(t), NewLimiter()
	permitted(l, vm, start, 2*limit)
	g.Expect(permitted(l, vm, start.Add(-time.Hour), limit)).To(Equal(limit))
}

// TestForgedSource: a VM that asks with the address of another VM does not silence that one, at
// whatever rate.
func TestForgedSource(t *testing.T) {
	for _, rate := range []int{limit, limit + 1, 10_000} {
		l, answers, questions := NewLimiter(), 0, 400
		for second := range questions {
			now := start.Add(time.Duration(second) * time.Second)
			permitted(l, vm, now, rate)
			answers += permitted(l, vm, now.Add(time.Second/2), 1)
		}
		NewWithT(t).Expect(answers).To(leaked(questions), "%d forged questions a second", rate)
	}
}

// TestForgedSources: more sources than counters use up the limits of all. A client is limited,
// and is answered.
func TestForgedSources(t *testing.T) {
	g, l := NewWithT(t), NewLimiter()
	forged := netip.MustParseAddr("10.0.0.0")
	for range limit * 2 * counters {
		forged = forged.Next()
		l.Permits(forged, start)
	}
	g.Expect(permitted(l, vm, start, 100_000)).To(leaked(100_000))
	g.Expect(permitted(l, vm, start.Add(window), limit)).To(Equal(limit), "the next window")
	g.Expect(testing.AllocsPerRun(1000, func() { l.Permits(vm, start) })).To(BeZero())
}
