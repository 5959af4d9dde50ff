package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// TestSlowClusters: clusters whose requests time out never have all workers, and are free again after a
// pass in time.
func TestSlowClusters(t *testing.T) {
	g := NewWithT(t)
	s, late := &slowClusters{}, fmt.Errorf("applying: %w", context.DeadlineExceeded)
	key := func(i int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(i)} }
	pass := func(i int, err error) {
		leave, ok := s.enter(key(i))
		g.Expect(ok).To(BeTrue())
		leave(err)
	}
	var running []func(error)
	for i := range workers {
		pass(i, late)
	}
	for i := range workers {
		leave, ok := s.enter(key(i))
		if ok {
			running = append(running, leave)
		}
		g.Expect(ok).To(Equal(i < slowWorkers), "%d", i)
	}
	pass(workers, nil)
	running[0](nil)
	running[1](errors.New("refused"))
	running[2](late)
	for range 3 {
		_, ok := s.enter(key(0))
		g.Expect(ok).To(BeTrue(), "it is slow no more")
		_, ok = s.enter(key(1))
		g.Expect(ok).To(BeTrue(), "an answer in time, whatever it says")
		_, ok = s.enter(key(2))
		g.Expect(ok).To(BeTrue(), "there is a place")
	}
	_, ok := s.enter(key(2))
	g.Expect(ok).To(BeFalse())
}

// TestHangingWrites: writes in more namespaces than there are workers have no answer, as behind a webhook.
// What changes in another cluster reaches its condition in time, and theirs say what hangs.
func TestHangingWrites(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	s.InstallKinds(t)
	s.acceptInvalidAnnotations(t)
	hang := &atomic.Bool{}
	s.operator.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if !hang.Load() || req.Method != http.MethodPatch || !strings.Contains(req.URL.Path, "/namespaces/clusters-hangs") {
				return rt.RoundTrip(req)
			}
			select {
			case <-time.After(30 * time.Second):
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
			body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"failed calling webhook"}`
			return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
		})
	})
	s.run(t)
	good := s.served(t, "good")
	var bad []hosted
	for i := range workers + 1 {
		bad = append(bad, s.served(t, fmt.Sprintf("hangs%d", i)))
	}
	hang.Store(true)
	for _, h := range bad {
		h.annotate(t, "lease-time", "2h")
	}
	for i := range 3 {
		value := fmt.Sprintf("rubbish%d", i)
		good.annotate(t, "cidr", value)
		g.Eventually(good.says(t)).WithTimeout(within).Should(ContainSubstring(value))
	}
	g.Eventually(bad[0].says(t)).WithTimeout(patience).Should(And(HavePrefix("NotApplied"), ContainSubstring("did not answer within 5s")))
	hang.Store(false)
	for _, h := range bad {
		g.Eventually(func() string { return h.plan(t) }).WithTimeout(patience).Should(ContainSubstring(`"leaseTime": "2h0m0s"`))
	}
}
