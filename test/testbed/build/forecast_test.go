package build

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestWhatIsLeftFollowsThePace(t *testing.T) {
	g := NewWithT(t)
	w := work{missing: []program{{cold: 300}, {cold: 60}, {}}, cores: 2}
	g.Expect(w.forecast()).To(Equal(362 * time.Second))
	g.Expect(work{missing: w.missing, cores: 4}.forecast()).To(Equal(181 * time.Second))
	g.Expect(w.remaining(1, 0, 300*time.Second, 0)).To(Equal(62*time.Second), "as fast as the table says")
	g.Expect(w.remaining(1, 0, 660*time.Second, 0)).To(Equal(124*time.Second), "half as fast")
	g.Expect(w.remaining(0, 0.5, 10*time.Second, 10*time.Second)).To(BeNumerically("<", 80*time.Second), "most was in Go's cache")
	g.Expect(w.remaining(2, 0.25, time.Minute, 10*time.Second)).To(Equal(30*time.Second), "a small program, with what others compile first elsewhere")
	g.Expect(w.remaining(2, 1, time.Minute, time.Second)).To(BeZero())
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
