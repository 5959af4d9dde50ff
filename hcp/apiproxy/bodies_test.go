package apiproxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/semaphore"

	"github.com/cldmnky/oooi/callers"
	"github.com/cldmnky/oooi/hcp/apirewrite"
	_ "github.com/cldmnky/oooi/test/patience"
)

// limited starts a proxy with limits in front of an API server that h plays.
func limited(t *testing.T, limits *Bodies, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	proxy := httptest.NewUnstartedServer(before(t, Transport{Largest: apirewrite.Largest, Bodies: limits}, h))
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	return proxy
}

func send(t *testing.T, s *httptest.Server, contentType string, body io.Reader) (*http.Response, string) {
	t.Helper()
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/v1/pods", body)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", contentType)
	answer, err := s.Client().Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return answer, string(text)
}

// TestMemoryOfBodies: whatever many clients send at the same time, the memory is limited, and each of them gets an answer.
func TestMemoryOfBodies(t *testing.T) {
	const most = 256 << 20                           // Half of the container, the other half is for garbage.
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // It marks often, so the highest size is seen.
	worst := `{"a":"kubevirt.io/","b":[` + strings.Repeat("0,", LargestRequest/2-20) + `0]}`
	for contentType, clients := range map[string]int{"application/json": 30, "application/yaml": 5} {
		g := NewWithT(t)
		var served atomic.Int64
		s := limited(t, NewBodies(apirewrite.Largest), func(_ http.ResponseWriter, r *http.Request) {
			if n, _ := io.Copy(io.Discard, r.Body); n >= int64(len(worst)) {
				served.Add(1)
			}
		})
		stop := highestHeap()
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				answer, _ := send(t, s, contentType, strings.NewReader(worst))
				g.Expect(answer.StatusCode).To(BeElementOf(http.StatusOK, http.StatusServiceUnavailable))
			})
		}
		all.Wait()
		// A body that finds no memory is refused immediately, and bodies that arrive in step may all be. The next one is served.
		served.Store(0)
		g.Eventually(func() int {
			answer, _ := send(t, s, contentType, strings.NewReader(worst))
			return answer.StatusCode
		}, "1m").Should(Equal(http.StatusOK), "%s: memory is given back, which is after the answer", contentType)
		g.Expect(served.Load()).To(BeEquivalentTo(1), contentType)
		g.Expect(stop()).To(BeNumerically("<", uint64(most)), contentType)
	}
}

// highestHeap looks at what the heap holds, without garbage, until stop, which returns the highest size in bytes.
func highestHeap() (stop func() uint64) {
	runtime.GC()
	end, result := make(chan struct{}), make(chan uint64)
	go func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		sample, highest := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, uint64(0)
		for {
			select {
			case <-end:
				result <- highest
				return
			case <-ticker.C:
				metrics.Read(sample)
				highest = max(highest, sample[0].Value.Uint64())
			}
		}
	}()
	return func() uint64 { close(end); return <-result }
}

// TestBusy: a request that gets no memory in time is answered with Retry-After.
func TestBusy(t *testing.T) {
	for name, row := range map[string]struct{ held, parsed int64 }{"read": {5, 100}, "parsed": {100, 5}} {
		g := NewWithT(t)
		limits := NewBodies(apirewrite.Largest)
		limits.requests, limits.parsed, limits.wait = callers.NewPool(row.held, parsedBodies), semaphore.NewWeighted(row.parsed), time.Millisecond
		s := limited(t, limits, func(_ http.ResponseWriter, _ *http.Request) {})
		answer, text := send(t, s, "application/json", strings.NewReader(`{"a":"b"}`))
		g.Expect(answer.StatusCode).To(Equal(http.StatusServiceUnavailable), name)
		g.Expect(answer.Header.Get("Retry-After")).To(Equal("1"), name)
		g.Expect(text).To(And(ContainSubstring(`"kind":"Status"`), ContainSubstring("too many large requests at once")), name)
		g.Eventually(func() int {
			answer, _ := send(t, s, "application/json", strings.NewReader(`{}`))
			return answer.StatusCode
		}, "1m").Should(Equal(http.StatusOK), "%s: memory is given back, which is after the answer", name)
		w := httptest.NewRecorder()
		Webhook{Rules: &apirewrite.Rules{}, Largest: apirewrite.Largest, Bodies: limits}.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"kind":"AdmissionReview"}`)))
		g.Expect(w.Code).To(Equal(http.StatusServiceUnavailable), name)
		g.Expect(w.Header().Get("Retry-After")).To(Equal("1"), name)
	}
}

// TestTurnOfProtobuf: a byte of protobuf with a name to rename counts as 64 bytes of JSON. Protobuf without such a name is not parsed.
func TestTurnOfProtobuf(t *testing.T) {
	const named = "k8s\x00kubevirt.io"
	for name, row := range map[string]struct {
		body   string
		parsed int64
		code   int
	}{
		"too large": {named, 64*int64(len(named)) - 1, http.StatusServiceUnavailable},
		"its turn":  {named, 64 * int64(len(named)), http.StatusUnsupportedMediaType},
		"no name":   {"k8s\x00other", 0, http.StatusOK},
	} {
		limits := NewBodies(apirewrite.Largest)
		limits.parsed, limits.wait = semaphore.NewWeighted(row.parsed), time.Millisecond
		if row.code != http.StatusServiceUnavailable {
			limits.wait = time.Minute
		}
		s := limited(t, limits, func(_ http.ResponseWriter, _ *http.Request) {})
		answer, _ := send(t, s, "application/vnd.kubernetes.protobuf", strings.NewReader(row.body))
		NewWithT(t).Expect(answer.StatusCode).To(Equal(row.code), name)
	}
}

// TestSlowBodies: a client that does not send its body in time gets an answer, and its connection ends. Uploads continue.
func TestSlowBodies(t *testing.T) {
	limits := NewBodies(apirewrite.Largest)
	limits.send = 50 * time.Millisecond
	s := limited(t, limits, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	t.Run("HTTP/2", func(t *testing.T) {
		out, in := io.Pipe()
		go func() { _, _ = io.WriteString(in, `{"a":`) }()
		answer, text := send(t, s, "application/json", out)
		g := NewWithT(t)
		g.Expect(answer.ProtoMajor).To(Equal(2))
		g.Expect(answer.StatusCode).To(Equal(http.StatusRequestTimeout))
		g.Expect(text).To(ContainSubstring(`"reason":"Timeout"`))
	})
	t.Run("HTTP/1.1", func(t *testing.T) {
		g := NewWithT(t)
		plain := httptest.NewServer(s.Config.Handler)
		defer plain.Close()
		c, err := net.Dial("tcp", strings.TrimPrefix(plain.URL, "http://"))
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		_, err = fmt.Fprint(c, "POST /api/v1/pods HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		g.Expect(err).NotTo(HaveOccurred())
		r := bufio.NewReader(c)
		answer, err := http.ReadResponse(r, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.StatusCode).To(Equal(http.StatusRequestTimeout))
		_, err = io.Copy(io.Discard, r)
		g.Expect(err).NotTo(HaveOccurred(), "the connection ends")
	})
	t.Run("upload", func(t *testing.T) {
		for _, contentType := range []string{"application/octet-stream", ""} {
			g := NewWithT(t)
			out, in := io.Pipe()
			go func() {
				_, _ = io.WriteString(in, "\x1f\x8b")
				time.AfterFunc(3*limits.send, func() {
					_, _ = io.WriteString(in, "later")
					_ = in.Close()
				})
			}()
			answer, _ := send(t, s, contentType, out)
			g.Expect(answer.StatusCode).To(Equal(http.StatusOK), contentType)
		}
	})
}
