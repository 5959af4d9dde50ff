package apiproxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/callers"
	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// largeItem is an object that needs much more memory when it is parsed. All answers share it.
var largeItem = `{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine","spec":[` + strings.Repeat("0,", 1_500_000) + `0]}`

// manyLarge is a list of such objects.
func manyLarge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachineList","items":[`)
	for range 20 {
		if _, err := io.Copy(w, io.MultiReader(strings.NewReader(largeItem), strings.NewReader(","))); err != nil {
			return
		}
	}
	_, _ = io.Copy(w, io.MultiReader(strings.NewReader(largeItem), strings.NewReader("]}")))
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

// TestUnreadAnswers: a caller requests many lists and does not read them. The memory for them is limited, another caller is served, and the
// memory is released when the caller has disconnected.
func TestUnreadAnswers(t *testing.T) {
	g := NewWithT(t)
	limits := NewBodies(8 << 20)
	limits.answers, limits.stall = callers.NewPool(64<<20, parsedBodies), time.Hour // The answers stay open.
	all := limits.answers.Free()
	s := limited(t, limits, manyLarge)
	before := heap()
	client := from(t, s, "127.0.0.3")
	own := client.Transport.(*http.Transport)
	own.TLSClientConfig = own.TLSClientConfig.Clone()
	own.TLSClientConfig.NextProtos = []string{"http/1.1"} // Over HTTP/2, the client itself would hold 4 MiB of each answer.
	own.ForceAttemptHTTP2 = false
	broken := 0
	var open []io.Closer
	for range 24 {
		answer, err := client.Get(s.URL + "/apis/kubevirt.io/v1/virtualmachines")
		g.Expect(err).NotTo(HaveOccurred())
		if answer.StatusCode != http.StatusOK {
			g.Expect(answer.StatusCode).To(Equal(http.StatusServiceUnavailable))
			broken++
		}
		open = append(open, answer.Body)
		defer answer.Body.Close()
	}
	g.Expect(broken).To(BeNumerically(">", 0), "the caller has its half of the memory")
	g.Expect(broken).To(BeNumerically("<", 22), "it has some of it")
	g.Eventually(func() int64 { return heap() - before }, "1m").Should(BeNumerically("<", 64<<20), "once no item is parsed: that takes turns. %d of 24 were refused", broken)
	answer, err := from(t, s, "127.0.0.4").Get(s.URL + "/apis/kubevirt.io/v1/virtualmachines")
	g.Expect(err).NotTo(HaveOccurred())
	text, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	g.Expect(strings.Count(string(text), `"kind":"VirtualMachine"`)).To(Equal(21))
	for _, c := range open {
		_ = c.Close()
	}
	g.Eventually(limits.answers.Free, "1m").Should(Equal(all))
}

// TestUnreadSmallAnswers: answers of ordinary size that a caller does not read count as well.
func TestUnreadSmallAnswers(t *testing.T) {
	g := NewWithT(t)
	const size, pool, asked = 500 << 10, 16 << 20, 60
	limits := NewBodies(8 << 20)
	limits.answers, limits.stall = callers.NewPool(pool, parsedBodies), time.Hour // The answers stay open.
	s := limited(t, limits, func(w http.ResponseWriter, _ *http.Request) {
		jsonAnswer(w, `{"apiVersion":"internal.virt.example/v1","a":"`+strings.Repeat("x", size)+`"}`)
	})
	ask := func(address string) func() int {
		client := from(t, s, address)
		client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
		return func() int {
			answer, err := client.Get(s.URL + "/apis/kubevirt.io/v1/virtualmachines/a")
			g.Expect(err).NotTo(HaveOccurred())
			t.Cleanup(func() { _ = answer.Body.Close() })
			return answer.StatusCode
		}
	}
	one := ask("127.0.0.3")
	served := 0
	for range asked {
		switch code := one(); code {
		case http.StatusOK:
			served++
		default:
			g.Expect(code).To(Equal(http.StatusServiceUnavailable))
		}
	}
	g.Expect(served).To(BeNumerically(">", 0))
	g.Expect(served*size).To(BeNumerically("<=", pool/2), "%d of %d are served: the caller has half", served, asked)
	other := ask("127.0.0.4")
	g.Expect(other()).To(Equal(http.StatusOK))
}

// TestLargestAnswer: one answer with the largest object fits in the half of one caller, whatever the limit of an object is.
func TestLargestAnswer(t *testing.T) {
	for _, largest := range []int{1 << 20, 8 << 20, apirewrite.Largest} {
		limits, release := NewBodies(largest).answer(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		NewWithT(t).Expect(limits.Hold(3*largest)).To(Succeed(), "%d bytes", largest)
		release()
	}
}

// TestStall: an answer that its client does not read is ended. Logs are not.
func TestStall(t *testing.T) {
	ended := make(chan string, 2)
	limits := NewBodies(8 << 20)
	limits.stall = 2 * time.Second // The answer begins before that: a busy machine stands still for less.
	s := limited(t, limits, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/log") {
			w.Header().Set("Content-Type", "text/plain")
			for range 200 {
				_, _ = io.WriteString(w, strings.Repeat("line\n", 10_000))
			}
		} else {
			for range 5 {
				manyLarge(w, r)
			}
		}
		ended <- r.URL.Path
	})
	g := NewWithT(t)
	logs, err := s.Client().Get(s.URL + "/api/v1/namespaces/a/pods/b/log")
	g.Expect(err).NotTo(HaveOccurred())
	list, err := s.Client().Get(s.URL + "/apis/kubevirt.io/v1/virtualmachines")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(ended, "1m").Should(Receive(ContainSubstring("virtualmachines")), "the API server is done with it")
	_, err = io.ReadAll(list.Body)
	g.Expect(err).To(HaveOccurred(), "the list does not end well")
	text, err := io.ReadAll(logs.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HaveLen(10_000_000))
}
