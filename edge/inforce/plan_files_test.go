package inforce_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
)

// An edgeFiles is an edge's mounted plan and the watcher's copy. Plans differ by their MTU.
type edgeFiles struct {
	t               *testing.T
	g               *WithT
	mounted, copied string
	// away: the watcher has stopped. Writes counts them, since each one is newer than the last.
	away   atomic.Bool
	writes int
}

func newEdgeFiles(t *testing.T) *edgeFiles {
	dir := t.TempDir()
	return &edgeFiles{t: t, g: NewWithT(t), mounted: filepath.Join(dir, "mounted"), copied: filepath.Join(dir, wire.PlanCopy)}
}

func (f *edgeFiles) write(file string, mtu int) {
	f.t.Helper()
	p := plan("blue", 1, "vlan100")
	p.Networks[0].DHCP.MTU = mtu
	f.g.Expect(sharedfiles.Replace(file, p.JSON())).To(Succeed())
	f.writes++
	at := time.Date(2001, 1, 1, 0, 0, f.writes, 0, time.UTC)
	f.g.Expect(os.Chtimes(file, at, at)).To(Succeed())
}

// open returns a source and the MTU that it has in force.
func (f *edgeFiles) open() (s *inforce.Source, mtu func() int) {
	f.t.Helper()
	s, err := inforce.New(f.mounted, inforce.Selection{}, nil, slog.New(slog.NewTextHandler(f.t.Output(), nil)))
	f.g.Expect(err).NotTo(HaveOccurred())
	return s, func() int { return s.Current().Network.DHCP.MTU }
}

func (f *edgeFiles) follower() (s *inforce.Source, mtu func() int) {
	s, mtu = f.open()
	s.Follow(f.copied, f.away.Load)
	return s, mtu
}

func (f *edgeFiles) watcher() (s *inforce.Source, mtu func() int) {
	s, mtu = f.open()
	s.Publish(f.copied)
	return s, mtu
}

// TestPlanOfAnotherContainer: a server without a token follows the plan that the watcher read from
// the API server. While the watcher runs, that one is newer than the mounted plan.
func TestPlanOfAnotherContainer(t *testing.T) {
	f := newEdgeFiles(t)
	f.write(f.mounted, 1300)
	s, mtu := f.follower()
	f.g.Expect(mtu()).To(Equal(1300), "there is no copy yet")
	go func() { _ = s.Run(t.Context()) }()
	f.write(f.mounted, 1301)
	f.g.Eventually(mtu, "1m").Should(Equal(1301))
	f.write(f.copied, 1400)
	f.g.Eventually(mtu, "1m").Should(Equal(1400))
	f.write(f.mounted, 1302)
	f.g.Expect(sharedfiles.Replace(f.copied, []byte("half a pl"))).To(Succeed())
	f.g.Consistently(mtu, "1500ms").Should(Equal(1400), "the watcher knows better than the mounted plan, and the copy is none")
	f.write(f.copied, 1401)
	f.g.Eventually(mtu, "1m").Should(Equal(1401))
	f.write(f.mounted, 1303)
	_, restarted := f.follower()
	f.g.Expect(restarted()).To(Equal(1401), "a restarted server does not begin with an older plan")
}

// TestPlanWithoutTheWatcher: once the watcher has been away for a minute, the other servers follow
// the mounted plan if that changed last. A restarted one does so at once.
func TestPlanWithoutTheWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newEdgeFiles(t)
		f.write(f.mounted, 1300)
		f.write(f.copied, 1400)
		s, mtu := f.follower()
		ended := make(chan error, 1)
		go func() { ended <- s.Run(t.Context()) }()
		after := func(d time.Duration) int {
			<-time.After(d)
			return mtu()
		}
		f.away.Store(true)
		f.g.Expect(after(time.Hour)).To(Equal(1400), "the copy changed last")
		f.write(f.mounted, 1500)
		f.g.Expect(after(50*time.Second)).To(Equal(1400), "the watcher may only restart")
		f.g.Expect(after(20 * time.Second)).To(Equal(1500))
		_, restarted := f.follower()
		f.g.Expect(restarted()).To(Equal(1500))
		f.away.Store(false)
		f.g.Expect(after(time.Hour)).To(Equal(1500), "the watcher returns with the plan of the mounted file")
		f.write(f.copied, 1600)
		f.g.Expect(after(10*time.Second)).To(Equal(1600), "the watcher has read the API server")
		f.write(f.mounted, 1700)
		f.g.Expect(after(time.Hour)).To(Equal(1600), "the watcher runs")
	})
}

// TestWatcherWithoutTheAPIServer: a restarted watcher serves the newer one of its own copy and the
// mounted plan, and the other servers serve the same.
func TestWatcherWithoutTheAPIServer(t *testing.T) {
	for name, newer := range map[string]func(f *edgeFiles) (mtu int){
		"its copy": func(f *edgeFiles) int {
			f.write(f.mounted, 1300)
			f.write(f.copied, 1500)
			return 1500
		},
		"the mounted plan": func(f *edgeFiles) int {
			f.write(f.copied, 1300)
			f.write(f.mounted, 1500)
			return 1500
		},
		"the mounted plan, without a copy": func(f *edgeFiles) int {
			f.write(f.mounted, 1300)
			return 1300
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newEdgeFiles(t)
			want := newer(f)
			s, mtu := f.watcher()
			f.g.Expect(mtu()).To(Equal(want))
			_, other := f.follower()
			f.g.Expect(other()).To(Equal(want))
			go func() { _ = s.Run(t.Context()) }()
			f.g.Consistently(mtu, "1500ms").Should(Equal(want))
			text, err := os.ReadFile(f.copied)
			f.g.Expect(err).NotTo(HaveOccurred())
			v, err := inforce.Read(text, inforce.Selection{})
			f.g.Expect(err).NotTo(HaveOccurred())
			f.g.Expect(v.Network.DHCP.MTU).To(Equal(want))
		})
	}
}
