// This file tests with a played clock how long servers may be away or silent.

package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/proxy"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
)

// A playedServer is one server of an edge, whose answers the test plays, and the edge's Envoy.
type playedServer struct {
	t       *testing.T
	servers *Servers
	network network.Network
	service network.Service
	// Envoy hangs, or has ended.
	hangs, ended bool
}

func newPlayedServer(t *testing.T, x network.Service) *playedServer {
	n := fakes.Proxied(fakes.Blue(), 7443)
	n.Services = []network.Service{x}
	p := &playedServer{t: t, servers: NewServers(""), network: n, service: x}
	p.servers.admin = admin.NewClient(p)
	return p
}

// RoundTrip answers as Envoy's admin interface does.
func (p *playedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case p.ended:
		return nil, syscall.ECONNREFUSED
	case p.hangs:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body := "LIVE\n"
	if r.URL.Path == "/listeners" {
		body = `{"listener_statuses":[{"name":"192.168.100.3:7443"}]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// takes takes an answer of the server, and returns why the edge does not serve then.
func (p *playedServer) takes(err error, due time.Time) (again time.Duration, why error) {
	again = p.servers.take(p.t.Context(), p.network, p.service, answer{err: err, due: due})
	return again, p.servers.Err(p.network)
}

// says is takes for an answer that is due now.
func (p *playedServer) says(err error) error {
	_, why := p.takes(err, time.Now())
	return why
}

// TestAShortRestart of DHCP or DNS does not cause a failover. A longer one does, and so does a no, as soon as restartLimit ends,
// whenever the next answer arrives.
func TestAShortRestart(t *testing.T) {
	for name, no := range map[string]error{"away": syscall.ECONNREFUSED, "a no": errors.New("no such device")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, p := NewWithT(t), newPlayedServer(t, network.ServiceDNS)
				g.Expect(p.says(nil)).To(Succeed())
				for _, repeated := range []time.Duration{0, restartLimit / 4, restartLimit - 1} {
					again, why := p.takes(no, time.Now())
					g.Expect(why).NotTo(HaveOccurred())
					g.Expect(again).To(Equal(restartLimit))
					<-time.After(repeated)
					again, why = p.takes(no, time.Now())
					g.Expect(why).NotTo(HaveOccurred())
					g.Expect(again).To(Equal(restartLimit - repeated))
					<-time.After(again)
					g.Expect(p.says(no)).To(MatchError(HavePrefix("dns: ")))
					g.Expect(p.says(nil)).To(Succeed())
				}
			})
		})
	}
}

// TestAProxyRestarts: neither a proxy that has not asked Envoy yet nor one that is stuck
// causes a failover. The end of Envoy meanwhile does.
func TestAProxyRestarts(t *testing.T) {
	for name, stuck := range map[string]bool{"it has not asked Envoy": false, "it is stuck": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, p, restarted := NewWithT(t), newPlayedServer(t, network.ServiceProxy), &proxy.Proxy{}
				g.Expect(p.says(nil)).To(Succeed())
				if restarted.Serving.Set(serving.ErrStarting); stuck {
					restarted.Serving.Set(nil)
				}
				no := restarted.Question().Why()
				g.Expect(no).To(HaveOccurred())
				for range 20 {
					again, why := p.takes(no, time.Now())
					g.Expect(why).NotTo(HaveOccurred())
					g.Expect(again).To(Equal(serving.CheckInterval), "Envoy is asked again")
					<-time.After(again)
				}
				p.ended = true
				g.Expect(p.says(no)).To(MatchError(ContainSubstring("Envoy does not answer")))
			})
		})
	}
}

// TestAProxyThatHangs causes no failover while Envoy serves. An Envoy that hangs with it
// does.
func TestAProxyThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := NewWithT(t), newPlayedServer(t, network.ServiceProxy)
		g.Expect(p.says(nil)).To(Succeed())
		due := time.Now()
		silent := func() error {
			<-time.After(serving.CheckInterval)
			_, why := p.takes(context.DeadlineExceeded, due)
			return why
		}
		for time.Since(due) < 2*serving.SilenceLimit {
			g.Expect(silent()).To(Succeed())
		}
		p.hangs = true
		hung, why := time.Now(), error(nil)
		for why == nil {
			why = silent()
		}
		g.Expect(why).To(MatchError(ContainSubstring("Envoy does not answer")))
		g.Expect(time.Since(hung)).To(BeNumerically("~", serving.SilenceLimit, serving.CheckInterval))
		p.hangs = false
		g.Expect(silent()).To(Succeed())
		g.Expect(p.says(nil)).To(Succeed())
	})
}
