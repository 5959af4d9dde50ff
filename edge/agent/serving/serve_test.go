package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// TestServeWhile: a server runs only while it may, says why when it does not,
// and comes back. A trigger is noticed immediately.
func TestServeWhile(t *testing.T) { synctest.Test(t, testServeWhile) }

func testServeWhile(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	var forbidden, failing, unread atomic.Bool
	var running, started atomic.Int32
	var looked atomic.Int64
	admissible := func() error {
		looked.Add(1)
		if unread.Load() {
			return Unread{errors.New("interrupted")}
		}
		if forbidden.Load() {
			return errors.New("the kernel would forward")
		}
		return nil
	}
	serve := func(ctx context.Context, ready func()) error {
		if failing.Load() {
			return errors.New("no such device")
		}
		running.Add(1)
		started.Add(1)
		defer running.Add(-1)
		ready()
		<-ctx.Done()
		return nil
	}
	var r, changes Status
	change := func(b *atomic.Bool, to bool) {
		b.Store(to)
		changes.Set(fmt.Errorf("%p is %t", b, to))
		synctest.Wait()
	}
	g.Expect(r.Err()).To(MatchError("starting"))
	forbidden.Store(true)
	ended := make(chan error)
	began := time.Now()
	go func() {
		ended <- While(ctx, &r, slog.New(slog.DiscardHandler), Triggers{Interface: changes.Changed}, admissible, serve)
	}()
	synctest.Wait()
	g.Expect(r.Err()).To(MatchError("the kernel would forward"))
	g.Expect(running.Load()).To(BeZero())
	change(&forbidden, false)
	g.Expect(r.Err()).NotTo(HaveOccurred())
	g.Expect(running.Load()).To(BeEquivalentTo(1))
	before := looked.Load()
	change(&unread, true)
	g.Expect(looked.Load()).To(BeNumerically(">", before))
	change(&unread, false)
	g.Expect(looked.Load()).To(BeNumerically(">", before+1))
	g.Expect(started.Load()).To(BeEquivalentTo(1), "what the kernel does not tell ends nothing")
	change(&failing, true)
	change(&forbidden, true)
	g.Expect(r.Err()).To(MatchError("the kernel would forward"))
	g.Expect(running.Load()).To(BeZero())
	g.Expect(time.Since(began)).To(BeZero(), "nothing waited for a timer")
	<-time.After(CheckInterval)
	change(&forbidden, false)
	g.Expect(r.Err()).To(MatchError("no such device"))
	change(&failing, false)
	<-time.After(CheckInterval)
	synctest.Wait()
	g.Expect(r.Err()).NotTo(HaveOccurred(), "it is started again")
	forbidden.Store(true) // No trigger fires.
	<-time.After(RecheckInterval)
	synctest.Wait()
	g.Expect(r.Err()).To(MatchError("the kernel would forward"))
	cancel()
	g.Expect(<-ended).To(Succeed())
}

func TestMayServe(t *testing.T) {
	g := NewWithT(t)
	f := Interface{Name: "lo"}
	g.Expect(f.Admissible(netip.MustParseAddr("127.0.0.1"))).To(Succeed())
	g.Expect(f.Admissible(netip.MustParseAddr("127.0.0.53"))).To(Succeed(), "all of 127/8 is lo's")
	g.Expect(f.Admissible(netip.MustParseAddr("0.0.0.0"))).To(Succeed())
	g.Expect(f.Admissible(netip.MustParseAddr("192.0.2.1"))).To(MatchError("waiting for 192.0.2.1 on interface lo"))
	f.Name = "no-such-device"
	g.Expect(f.Admissible(netip.MustParseAddr("192.0.2.1"))).To(MatchError(ContainSubstring("interface no-such-device")))
}
