package progress

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestStatusOverwritesItselfOnATerminal(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	c := &clock{at: time.Unix(0, 0)}
	l := newLog(Indent(&out, "| "), true, c.now)
	l.Say("one")
	l.Status("half")
	c.at = c.at.Add(time.Second)
	l.Status(strings.Repeat("x", 200))
	l.Say("two")
	g.Expect(out.String()).To(Equal("|    0.0s one\n" +
		erase + "|    0.0s half" +
		erase + "|    1.0s " + strings.Repeat("x", 97) + "..." +
		erase + "|    1.0s two\n"))
}

func TestStatusIsALineEvery15SecondsInALog(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	c := &clock{at: time.Unix(0, 0)}
	l := newLog(&out, false, c.now)
	l.Say("one")
	for range 31 {
		l.Status("half")
		c.at = c.at.Add(time.Second)
	}
	g.Expect(out.String()).To(Equal("   0.0s one\n  15.0s half\n  30.0s half\n"))
	New(nil).Say("nowhere")
	New(nil).Status("nowhere")
}

func TestAboutIsRough(t *testing.T) {
	g := NewWithT(t)
	for d, want := range map[time.Duration]string{
		time.Second: "about 10 s", 44 * time.Second: "about 40 s", 100 * time.Second: "about 2 min", 11*time.Minute + 40*time.Second: "about 12 min",
	} {
		g.Expect(About(d)).To(Equal(want))
	}
}
