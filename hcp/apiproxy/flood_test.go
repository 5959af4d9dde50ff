// This file tests that one caller cannot use up what all share.

package apiproxy

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"

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

// TestFlood: while one address has sent all that it may, requests of another one are answered.
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
	for range floods {
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
	}
	g := NewWithT(t)
	g.Eventually(func() int64 { return arrived.Load() + refused.Load() }, "1m").Should(BeEquivalentTo(floods))
	g.Expect(arrived.Load()*size).To(And(BeNumerically("<=", heldBodies/2), BeNumerically(">=", heldBodies/16)), "one address has at most half of the memory")
	other := from(t, s, "127.0.0.2")
	for _, body := range []string{`{}`, large} {
		answer, err := other.Post(s.URL+"/api/v1/pods", "application/json", strings.NewReader(body))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Body.Close()).To(Succeed())
		g.Expect(answer.StatusCode).To(Equal(http.StatusOK), "%d bytes", len(body))
	}
}

// TestTurns: a body waits for one turn of a caller that has many in line, and not for all of them.
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
		g.Expect(limits.requests.callers).To(BeEmpty(), "callers that have gone cost nothing")
		g.Expect(limits.requests.free).To(BeEquivalentTo(heldBodies))
	})
}
