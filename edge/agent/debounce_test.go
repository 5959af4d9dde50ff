package agent

import (
	"context"
	"errors"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
)

// TestSilence: what was answered last holds for three seconds of it; an answer
// counts at once.
func TestSilence(t *testing.T) {
	g := NewWithT(t)
	late, no := &url.Error{Op: "Get", Err: context.DeadlineExceeded}, errors.New("draining")
	now := time.Unix(1000, 0)
	var w Debounce
	// Ask takes a second.
	ask := func(answer error) (err error) {
		asked := now
		now = now.Add(time.Second)
		w, err = w.Next(answer, asked, now)
		return err
	}
	g.Expect(ask(late)).To(MatchError(late), "it has never answered")
	g.Expect(ask(nil)).To(Succeed())
	now = now.Add(time.Hour) // no question meanwhile
	g.Expect(ask(late)).To(Succeed())
	g.Expect(ask(late)).To(Succeed())
	g.Expect(ask(nil)).To(Succeed())
	g.Expect(ask(late)).To(Succeed(), "it begins anew")
	g.Expect(ask(late)).To(Succeed())
	g.Expect(ask(late)).To(MatchError(late))
	g.Expect(ask(late)).To(MatchError(late))
	g.Expect(ask(nil)).To(Succeed())
	g.Expect(ask(no)).To(MatchError(no))
	g.Expect(ask(late)).To(MatchError(no), "it has not said yes since")
}

// TestASlowServerServes: no VM is moved because a server or Envoy is busy.
func TestASlowServerServes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		service network.Service
		begin   func(t *testing.T, dir string) *sync.Mutex
	}{
		"DHCP": {network.ServiceDHCP, func(t *testing.T, dir string) *sync.Mutex { return &fakes.NewServer(t, dir, "dhcp").Answers }},
		"proxy and Envoy": {network.ServiceProxy, func(t *testing.T, dir string) *sync.Mutex {
			answers := &fakes.NewServer(t, dir, "proxy").Answers
			anEnvoy(t, dir, "", answers)
			return answers
		}},
		"Envoy": {network.ServiceProxy, func(t *testing.T, dir string) *sync.Mutex { return slowEnvoy(t, dir, "") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := fakes.RunDir(t)
			answers := c.begin(t, dir)
			why := follow(t, dir, network.Network{Services: []network.Service{c.service}})
			g.Eventually(why, "1m", "10ms").Should(Succeed())
			answers.Lock()
			g.Expect(why()).To(Succeed())
			g.Eventually(why, "1m", "10ms").Should(MatchError(ContainSubstring("deadline exceeded")))
			answers.Unlock()
			g.Eventually(why, "1m", "10ms").Should(Succeed())
		})
	}
}

// TestProxyBearsASlowEnvoy, and passes on at once what that answers.
func TestProxyBearsASlowEnvoy(t *testing.T) {
	g := NewWithT(t)
	v, p, _ := anEdge(t)
	run := fakes.RunDir(t)
	p.Admin = admin.NewClient(rundir.Transport(resources.NewDirs(wire.EnvoyDirs(run)).Admin()))
	answers := slowEnvoy(t, run, `{"name":"`+blueService+`:6443"}`)
	serves := func() error {
		v.Do(t, func() { p.look(t.Context(), p.admit(), false) })
		return p.Serving.Err()
	}
	g.Expect(serves()).To(Succeed())
	answers.Lock()
	began := time.Now()
	g.Expect(serves()).To(Succeed())
	g.Eventually(serves, "1m", "10ms").Should(MatchError(ContainSubstring("Envoy does not answer")))
	g.Expect(time.Since(began)).To(BeNumerically(">=", silenceLimit))
	answers.Unlock()
	g.Eventually(serves, "1m", "10ms").Should(Succeed())
	g.Expect(os.Remove(resources.NewDirs(wire.EnvoyDirs(run)).Admin())).To(Succeed())
	g.Expect(serves()).To(MatchError(ContainSubstring("Envoy does not answer")))
}
