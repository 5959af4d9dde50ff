package operatorbench

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// A gate is between the operator and the API server.
type gate struct {
	url string
	mu  sync.Mutex
	// closed allows no request: the API server is away.
	closed bool
	// left is how many writes are allowed until cut is called. Negative: any number.
	left int
	cut  func()
}

// newGate allows everything.
func (w *world) newGate(t *testing.T) *gate {
	t.Helper()
	g := NewWithT(t)
	at, err := url.Parse(w.Env.Config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	if at.Host == "" {
		at = &url.URL{Scheme: "https", Host: w.Env.Config.Host}
	}
	out := &gate{left: -1}
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.FlushInterval = -1 // Watches.
	// The operator's token, and no certificate of the administrator.
	proxy.Transport, err = rest.TransportFor(rest.AnonymousClientConfig(w.Env.Config))
	g.Expect(err).NotTo(HaveOccurred())
	proxy.ErrorHandler = func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) }
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !out.lets(r) {
			panic(http.ErrAbortHandler) // The connection ends without an answer.
		}
		proxy.ServeHTTP(rw, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // Connections that are cut.
	server.StartTLS()                                   // Clients send their token through TLS only.
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	out.url = server.URL
	return out
}

func (x *gate) lets(r *http.Request) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.Method == http.MethodGet || x.left < 0 || x.closed {
		return !x.closed
	}
	if x.left--; x.left >= 0 {
		return true
	}
	x.closed = true
	x.cut()
	return false
}

// set says how many writes are allowed, and what is called instead of the next one.
func (x *gate) set(closed bool, left int, cut func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed, x.left, x.cut = closed, left, cut
}
