package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// TestSlowClusters: clusters whose requests time out, or that take long to decide, never have all workers, and are free
// again after a pass in time.
func TestSlowClusters(t *testing.T) {
	g := NewWithT(t)
	s, late := &slowClusters{}, fmt.Errorf("applying: %w", context.DeadlineExceeded)
	now := time.Unix(1_800_000_000, 0)
	key := func(i int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(i)} }
	pass := func(i int, err error) {
		leave, ok := s.enter(key(i), now)
		g.Expect(ok).To(BeTrue())
		leave(err, 0, now)
	}
	var running []func(error, time.Duration, time.Time)
	for i := range workers {
		pass(i, late)
	}
	for i := range workers {
		leave, ok := s.enter(key(i), now)
		if ok {
			running = append(running, leave)
		}
		g.Expect(ok).To(Equal(i < slowWorkers), "%d", i)
	}
	pass(workers, nil)
	running[0](nil, slowAfter, now.Add(time.Hour))
	running[1](errors.New("refused"), 0, now.Add(slowAfter))
	running[2](errors.New("refused"), 0, now.Add(slowAfter+1))
	for range 3 {
		_, ok := s.enter(key(0), now)
		g.Expect(ok).To(BeTrue(), "it is slow no more")
		_, ok = s.enter(key(1), now)
		g.Expect(ok).To(BeTrue(), "an answer in time, whatever it says")
		_, ok = s.enter(key(2), now)
		g.Expect(ok).To(BeTrue(), "there is a place")
	}
	_, ok := s.enter(key(2), now)
	g.Expect(ok).To(BeFalse())

	s = &slowClusters{}
	for i := range workers {
		leave, _ := s.enter(key(i), now)
		leave(nil, slowAfter+1, now.Add(slowAfter+1))
	}
	for i := range workers {
		_, ok := s.enter(key(i), now)
		g.Expect(ok).To(Equal(i < slowWorkers), "%d took long to decide", i)
	}
}

// hangingWrites are the namespaces in which writes have no answer now. The zero value has none.
type hangingWrites struct {
	mu   sync.Mutex
	now  map[string]int
	peak int
}

// hang is a write in a namespace that ends with ctx.
func (h *hangingWrites) hang(ctx context.Context, namespace string) error {
	h.count(namespace, 1)
	defer h.count(namespace, -1)
	<-ctx.Done()
	return ctx.Err()
}

func (h *hangingWrites) count(namespace string, change int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == nil {
		h.now = map[string]int{}
	}
	if h.now[namespace] += change; h.now[namespace] == 0 {
		delete(h.now, namespace)
	}
	h.peak = max(h.peak, len(h.now))
}

// since returns the largest number of namespaces at the same time since the last call.
func (h *hangingWrites) since() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	peak := h.peak
	h.peak = len(h.now)
	return peak
}

// testHangingWrites: writes in more namespaces than there are workers have no answer, as behind a webhook.
// Soon they have a part of the workers only, so what changes in another cluster reaches its condition. Theirs say what hangs.
func testHangingWrites(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	s.acceptInvalidAnnotations(t)
	hang, writes := &atomic.Bool{}, &hangingWrites{}
	s.operator.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			_, path, in := strings.Cut(req.URL.Path, "/namespaces/clusters-hangs")
			if !hang.Load() || req.Method != http.MethodPatch || !in {
				return rt.RoundTrip(req)
			}
			number, _, _ := strings.Cut(path, "/")
			return nil, writes.hang(req.Context(), number)
		})
	})
	s.run(t)
	good := s.served(t, "prompt")
	var bad []hosted
	for i := range workers + 1 {
		bad = append(bad, s.served(t, fmt.Sprintf("hangs%d", i)))
	}
	hang.Store(true)
	for _, h := range bad {
		h.annotate(t, "lease-time", "2h")
	}
	for _, h := range bad {
		g.Eventually(h.says(t)).Should(And(HavePrefix("NotApplied"), ContainSubstring("did not answer within 5s")))
	}
	g.Eventually(writes.since).WithPolling(10*time.Second).Should(BeNumerically("<=", slowWorkers), "the first passes have ended, and all are known to be slow")
	for i := range 3 {
		value := fmt.Sprintf("rubbish%d", i)
		good.annotate(t, "cidr", value)
		g.Eventually(good.says(t)).WithTimeout(within()).Should(ContainSubstring(value))
	}
	g.Expect(writes.since()).To(BeNumerically("<", workers), "a worker stays free")
	hang.Store(false)
	for _, h := range bad {
		g.Eventually(func() string { return h.plan(t) }).Should(ContainSubstring(`"leaseTime": "2h0m0s"`))
	}
}
