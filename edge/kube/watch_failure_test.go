package kube_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/loopback"
)

// serves plays an API server at an address, until stop is called. A list has one plan in version listed, and a watch shows that
// it changes once, in the later version. As the real one does, it takes a watch of a version that does not exist yet, and sends nothing.
func serves(t *testing.T, address, plan, listed, version string) (at string, stop func()) {
	t.Helper()
	object := func(plan, version string) corev1.ConfigMap {
		return corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wire.PlanConfigMap, ResourceVersion: version}, Data: map[string]string{wire.PlanKey: plan},
		}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch q := r.URL.Query(); {
		case q.Has("sendInitialEvents"):
			w.WriteHeader(http.StatusBadRequest)
		case q.Has("watch"):
			if q.Get("resourceVersion") < version {
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": object(plan, version)})
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			_ = json.NewEncoder(w).Encode(corev1.ConfigMapList{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, ListMeta: metav1.ListMeta{ResourceVersion: listed},
				Items: []corev1.ConfigMap{object("listed "+plan, listed)},
			})
		}
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	stop = sync.OnceFunc(func() { _ = l.Close(); s.CloseClientConnections(); s.Close() })
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// refused calls seen for each connection that is refused.
type refused struct {
	http.RoundTripper
	seen func()
}

func (r refused) RoundTrip(q *http.Request) (*http.Response, error) {
	out, err := r.RoundTripper.RoundTrip(q)
	if errors.Is(err, syscall.ECONNREFUSED) {
		r.seen()
	}
	return out, err
}

// TestOlderStateAfterRefusal: the API server refuses connections for a while, and returns with an older state. An edge reads
// that state, and does not wait for a version that does not exist yet.
func TestOlderStateAfterRefusal(t *testing.T) {
	g := NewWithT(t)
	at, stop := serves(t, loopback.Reserve(t).String(), "new", "499", "500")
	away := make(chan struct{})
	config := &rest.Config{Host: "http://" + at}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return refused{next, sync.OnceFunc(func() { close(away) })}
	})
	k, err := kube.New(config, namespace, "lo", slog.New(slog.NewTextHandler(t.Output(), nil)))
	g.Expect(err).NotTo(HaveOccurred())
	var plan atomic.Value
	k.FollowPlan(t.Context(), func(text string) { plan.Store(text) })
	g.Eventually(plan.Load, "1m").Should(Equal("new"))
	stop()
	g.Eventually(away, "1m").Should(BeClosed())
	serves(t, at, "old", "100", "101")
	g.Eventually(plan.Load, "1m").Should(Equal("old"))
}
