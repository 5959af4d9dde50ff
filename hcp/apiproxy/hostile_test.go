package apiproxy

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	serverItem = `{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine"}`
	clientItem = `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"}`
)

// TestSlowAnswers: a client gets each item as soon as the API server has sent it, however slow that is.
func TestSlowAnswers(t *testing.T) {
	g := NewWithT(t)
	next := make(chan struct{})
	url := between(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, chunk := range []string{`{"kind":"InternalVirtualMachineList","apiVersion":"internal.virt.example/v1","items":[`, serverItem + ",", serverItem[:30], serverItem[30:] + "]", "}\n"} {
			jsonAnswer(w, chunk)
			w.(http.Flusher).Flush()
			<-next
		}
	})
	go func() { next <- struct{}{} }() // The status is due with the first item: one that is too large has another status.
	answer, err := http.Get(url + "/apis/kubevirt.io/v1/virtualmachines")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	body := bufio.NewReader(answer.Body)
	read := func(want string) {
		text := make([]byte, len(want))
		_, err := io.ReadFull(body, text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(Equal(want))
	}
	read(`{"kind":"VirtualMachineList","apiVersion":"kubevirt.io/v1","items":[` + clientItem)
	next <- struct{}{}
	next <- struct{}{}
	read("," + clientItem + "]")
	next <- struct{}{}
	read("}\n")
	close(next)
}

// TestClientThatReadsNothing: the API server has to wait for a client that does not read. The proxy buffers nothing for it, and others are
// served.
func TestClientThatReadsNothing(t *testing.T) {
	g := NewWithT(t)
	var sent atomic.Int64
	ended := make(chan struct{})
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/a") {
			jsonAnswer(w, serverItem)
			return
		}
		defer close(ended)
		jsonAnswer(w, `{"kind":"InternalVirtualMachineList","apiVersion":"internal.virt.example/v1","items":[`)
		for item := serverItem + strings.Repeat(" ", 64<<10) + ","; ; {
			n, err := io.WriteString(w, item)
			if err != nil {
				return
			}
			sent.Add(int64(n))
		}
	})
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = fmt.Fprint(c, "GET /apis/kubevirt.io/v1/virtualmachines HTTP/1.1\r\nHost: a\r\n\r\n")
	g.Expect(err).NotTo(HaveOccurred())
	last := int64(-1)
	g.Eventually(func() bool { now := sent.Load(); same := now == last && now > 0; last = now; return same }, "1m", "500ms").Should(BeTrue(), "nothing is sent any more")
	g.Expect(sent.Load()).To(BeNumerically("<", 32<<20), "what the sockets hold")
	_, text, err := fetch(t, url+"/apis/kubevirt.io/v1/virtualmachines/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal(clientItem))
	g.Expect(c.Close()).To(Succeed())
	g.Eventually(ended, "1m").Should(BeClosed())
}

// TestEveryCut: if the API server disconnects after any byte of an answer, the client gets an error, in any format.
func TestEveryCut(t *testing.T) {
	g := NewWithT(t)
	packed := func(text string) string {
		var b strings.Builder
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return b.String()
	}
	list := `{"kind":"InternalVirtualMachineList","apiVersion":"internal.virt.example/v1","items":[` + serverItem + "]}"
	for _, row := range []struct{ name, contentType, encoding, body string }{
		{"list", "application/json", "", list},
		{"object", "application/json", "", serverItem},
		{"packed", "application/json", "gzip", packed(list)},
		{"log", "text/plain", "", "internal.virt.example\n"},
		{"HTML", "application/json", "", "<html>internal.virt.example</html>"},
	} {
		url := between(t, func(w http.ResponseWriter, r *http.Request) {
			cut, _ := strconv.Atoi(r.URL.Query().Get("cut"))
			w.Header().Set("Content-Type", row.contentType)
			if row.encoding != "" {
				w.Header().Set("Content-Encoding", row.encoding)
			}
			_, _ = io.WriteString(w, row.body[:cut])
			w.(http.Flusher).Flush()
			if cut < len(row.body) {
				panic(http.ErrAbortHandler)
			}
		})
		for cut := 1; cut <= len(row.body); cut++ {
			answer, text, err := fetch(t, fmt.Sprintf("%s/apis/kubevirt.io/v1/virtualmachines?cut=%d", url, cut))
			if good := err == nil && answer.StatusCode == http.StatusOK; good != (cut == len(row.body)) {
				t.Errorf("%s with %d of %d bytes: %v, %s", row.name, cut, len(row.body), err, text)
			}
			if err == nil && answer.StatusCode != http.StatusOK {
				g.Expect(text).To(ContainSubstring(`"kind":"Status"`))
			}
		}
	}
}

// TestCutWatch: a watch that ends within an event is an error. A watch that ends between events is not.
func TestCutWatch(t *testing.T) {
	const event = `{"type":"ADDED","object":` + serverItem + "}\n"
	for name, row := range map[string]struct {
		cut  int
		want error
	}{"between": {len(event), nil}, "within": {len(event) / 2, io.ErrUnexpectedEOF}} {
		g := NewWithT(t)
		url := between(t, func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, event+event[:row.cut]) })
		_, text, err := fetch(t, url+"/apis/kubevirt.io/v1/virtualmachines?watch=true")
		g.Expect(errors.Is(err, row.want)).To(BeTrue(), "%s: %v", name, err)
		g.Expect(text).To(HavePrefix(`{"type":"ADDED","object":`+clientItem+"}\n"), name)
	}
}

// TestPages: a client that lists in pages gets each page, and the token for the next one.
func TestPages(t *testing.T) {
	g := NewWithT(t)
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("limit") != "1" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		next := map[string]string{"": "kubevirt.io/1", "kubevirt.io/1": ""}[r.URL.Query().Get("continue")]
		jsonAnswer(w, fmt.Sprintf(`{"kind":"InternalVirtualMachineList","apiVersion":"internal.virt.example/v1","metadata":{"continue":%q},"items":[%s]}`, next, serverItem))
	})
	for query, next := range map[string]string{"limit=1": "kubevirt.io/1", "limit=1&continue=kubevirt.io%2F1": ""} {
		_, text, err := fetch(t, url+"/apis/kubevirt.io/v1/virtualmachines?"+query)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text).To(Equal(fmt.Sprintf(`{"kind":"VirtualMachineList","apiVersion":"kubevirt.io/v1","metadata":{"continue":%q},"items":[%s]}`, next, clientItem)))
	}
}

// TestSlowWatch: a watch without events for a long time is not ended, and its client gets the next event immediately.
func TestSlowWatch(t *testing.T) {
	g := NewWithT(t)
	come := make(chan struct{})
	url := between(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-come
		jsonAnswer(w, `{"type":"ADDED","object":`+serverItem+"}\n")
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/apis/kubevirt.io/v1/virtualmachines?watch=true", nil)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred(), "the status comes before an event")
	close(come)
	text, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal(`{"type":"ADDED","object":` + clientItem + "}\n"))
	g.Expect(answer.Body.Close()).To(Succeed())
}
