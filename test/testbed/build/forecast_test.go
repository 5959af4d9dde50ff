package build

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestWhatIsLeftFollowsThePace(t *testing.T) {
	g := NewWithT(t)
	w := work{missing: []program{{cold: 300}, {cold: 60}, {}}, cores: 2}
	left := func(elapsed time.Duration, index int, fraction float64, current time.Duration) time.Duration {
		return w.remaining(w.at(w.start(), elapsed, index, fraction), fraction, current)
	}
	g.Expect(w.forecast()).To(Equal(362 * time.Second))
	g.Expect(work{missing: w.missing, cores: 4}.forecast()).To(Equal(181 * time.Second))
	g.Expect(left(300*time.Second, 1, 0, 0)).To(Equal(62*time.Second), "as fast as the table says")
	g.Expect(left(660*time.Second, 1, 0, 0)).To(Equal(124*time.Second), "half as fast")
	g.Expect(left(10*time.Second, 0, 0.5, 10*time.Second)).To(BeNumerically("<", 80*time.Second), "most was in Go's cache")
	g.Expect(left(time.Minute, 2, 0.25, 10*time.Second)).To(Equal(30*time.Second), "a small program, with what others compile first elsewhere")
	g.Expect(left(time.Minute, 2, 1, time.Second)).To(BeZero())
}

// TestPaceIsThatOfTheLastMinutes: other work that begins or ends in the middle is soon in the estimate.
func TestPaceIsThatOfTheLastMinutes(t *testing.T) {
	g := NewWithT(t)
	w := work{missing: []program{{cold: 1000}, {cold: 1000}}, cores: 2}
	m := w.start()
	follow := func(minutes int, pace float64) {
		for range minutes {
			m = w.at(m, m.elapsed+time.Minute, 0, (m.done+60/pace)/1000)
		}
	}
	follow(10, 1)
	g.Expect(m.pace).To(BeNumerically("~", 1, 0.01))
	follow(30, 5)
	g.Expect(m.pace).To(BeNumerically("~", 5, 0.1), "five times as slow")
	g.Expect(w.remaining(m, 0, 0).Seconds()).To(BeNumerically("~", m.pace*(2000-m.done), 1))
	follow(10, 1)
	g.Expect(m.pace).To(BeNumerically("~", 1, 0.1), "alone again")
	g.Expect(Forecast{Load: 8}.Slower(2)).To(Equal(5.0))
	g.Expect(Forecast{}.Slower(2)).To(Equal(1.0))
}

func TestDiskIsSummedByFileSystem(t *testing.T) {
	g := NewWithT(t)
	const gib = 1 << 30
	s := spaces([]place{{"/home/me/go", 4, 1, 9 * gib}, {"/home/me/.cache", 6, 1, 9 * gib}, {"/var/tmp", 2, 7, 3 * gib}})
	g.Expect(s).To(Equal([]Space{{Dirs: []string{"/home/me/go", "/home/me/.cache"}, Need: 10 * gib, Free: 9 * gib}, {Dirs: []string{"/var/tmp"}, Need: 2 * gib, Free: 3 * gib}}))
	g.Expect(s[0].Short()).To(BeTrue())
	g.Expect(s[1].Short()).To(BeFalse())
	t.Setenv("HOME", "/home/me")
	g.Expect(s[0].String()).To(Equal("10 GiB of disk (9 GiB free, for ~/go, ~/.cache)"))
	g.Expect(s[1].String()).To(Equal("2 GiB of disk (3 GiB free, for /var/tmp)"))
	g.Expect((&place{dir: t.TempDir() + "/not/yet"}).look()).To(Succeed())
}
