// This file tests that one caller cannot use up what all share.

package apiproxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/callers"
	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// from returns a client of s with this address.
func from(t *testing.T, s *httptest.Server, address string) *http.Client {
	t.Helper()
	own := s.Client().Transport.(*http.Transport).Clone()
	own.DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext
	t.Cleanup(own.CloseIdleConnections)
	return &http.Client{Transport: own}
}

// TestFlood: while one address has used up its share, requests of another one are answered.
func TestFlood(t *testing.T) {
	const size = 2 << 20
	large := `{"a":"` + strings.Repeat("x", size-8) + `"}`
	var arrived, refused atomic.Int64
	end := make(chan struct{})
	s := limited(t, NewBodies(apirewrite.Largest), func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/floods" {
			arrived.Add(1)
			<-end
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})
	var flood sync.WaitGroup
	defer flood.Wait()
	defer close(end)
	const floods = 2 * heldBodies / size
	g := NewWithT(t)
	for i := range floods {
		own := from(t, s, "127.0.0.1")
		flood.Go(func() {
			answer, err := own.Post(s.URL+"/api/v1/floods", "application/json", strings.NewReader(large))
			if err == nil {
				_ = answer.Body.Close()
			}
			if err != nil || answer.StatusCode == http.StatusServiceUnavailable {
				refused.Add(1)
			}
		})
		// One after another: of bodies that arrive in step, all may be refused.
		g.Eventually(func() int64 { return arrived.Load() + refused.Load() }, "1m", "1ms").Should(BeEquivalentTo(i + 1))
	}
	g.Expect(arrived.Load()*size).To(BeEquivalentTo(heldBodies/2), "one address has half of the memory")
	other := from(t, s, "127.0.0.2")
	for _, body := range []string{`{}`, large} {
		answer, err := other.Post(s.URL+"/api/v1/pods", "application/json", strings.NewReader(body))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Body.Close()).To(Succeed())
		g.Expect(answer.StatusCode).To(Equal(http.StatusOK), "%d bytes", len(body))
	}
}

// TestSlowStreams: many requests send one byte and wait. Those of one address use half of the memory. Headers count.
func TestSlowStreams(t *testing.T) {
	const sent, size = 30, 20 * requestCost
	for name, row := range map[string]struct {
		header  int
		arrives int64
	}{"small headers": {1, 9}, "large headers": {24 << 10, 8}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var arrived, refused atomic.Int64
			limits := NewBodies(apirewrite.Largest)
			limits.send = time.Hour
			proxy := before(t, Transport{Largest: apirewrite.Largest, Bodies: limits}, func(_ http.ResponseWriter, _ *http.Request) {})
			all := callers.NewPool(size, 0)
			s := httptest.NewUnstartedServer(limitedRequests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				arrived.Add(1)
				proxy.ServeHTTP(w, r)
			}), all))
			s.EnableHTTP2 = true
			s.StartTLS()
			defer s.Close()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			var flood sync.WaitGroup
			own := from(t, s, "127.0.0.1")
			for range sent {
				body, in := io.Pipe()
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/api/v1/pods", body)
				g.Expect(err).NotTo(HaveOccurred())
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Authorization", "Bearer "+strings.Repeat("x", row.header))
				flood.Go(func() { _, _ = io.WriteString(in, "{") }) // It ends with the request.
				flood.Go(func() {
					defer func() { _ = body.Close() }()
					answer, err := own.Do(request)
					if err != nil {
						return
					}
					_ = answer.Body.Close()
					if answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") == retryAfter {
						refused.Add(1)
					}
				})
			}
			g.Eventually(func() int64 { return arrived.Load() + refused.Load() }, "1m").Should(BeEquivalentTo(sent))
			g.Expect(arrived.Load()).To(Equal(row.arrives))
			answer, err := from(t, s, "127.0.0.2").Post(s.URL+"/api/v1/pods", "application/json", strings.NewReader("{}"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.Body.Close()).To(Succeed())
			g.Expect(answer.StatusCode).To(Equal(http.StatusOK), "another address")
			end()
			flood.Wait()
			for p, free := range map[*callers.Pool]int64{all: size, limits.requests: heldBodies} {
				g.Eventually(p.Free, "1m").Should(Equal(free), "what is over is given back")
			}
		})
	}
}

// TestTurns: a caller has many bodies in the queue. A body of another caller waits for one of them, and not for all.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		limits := NewBodies(apirewrite.Largest)
		parse := func(address string, cost int) func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			r.RemoteAddr = address + ":1"
			l := limits.lease(r)
			l.reader(nil)
			done, err := l.parsing(cost)
			g.Expect(err).NotTo(HaveOccurred())
			return func() { done(); l.release() }
		}
		first := parse("192.0.2.1", parsedBodies)
		var all sync.WaitGroup
		var turns, before atomic.Int64
		for range 5 {
			all.Go(func() {
				done := parse("192.0.2.1", parsedBodies)
				turns.Add(1)
				done()
			})
		}
		synctest.Wait()
		all.Go(func() {
			done := parse("192.0.2.2", 1)
			before.Store(turns.Load())
			done()
		})
		synctest.Wait()
		first()
		all.Wait()
		g.Expect(before.Load()).To(BeZero(), "turns of the other caller")
		g.Expect(limits.requests.Callers()).To(BeZero(), "callers that have gone cost nothing")
		g.Expect(limits.requests.Free()).To(BeEquivalentTo(heldBodies))
	})
}
