package apiproxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// TestCostOfHeads: a request costs what its head needs when it is parsed, so one client cannot fill the memory with heads.
func TestCostOfHeads(t *testing.T) {
	rules, err := apirewrite.Parse("rules", []byte(rulesText))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	query := func(r *http.Request) { rules.Query(r.URL.RawQuery, apirewrite.Target{API: true, Resource: "pods"}) }
	kind := func(r *http.Request) { _, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type")) }
	var parameters strings.Builder
	for i := range 6_000 {
		fmt.Fprintf(&parameters, ";p%d*0=a", i)
	}
	for name, c := range map[string]struct {
		query, contentType string
		parse              func(*http.Request)
	}{
		"label selector": {"labelSelector=kubevirt.io/a" + strings.Repeat(",a", 31_000), "", query},
		"field selector": {"fieldSelector=a=b" + strings.Repeat(",a=b", 15_000), "", query},
		"content type":   {"", "application/json" + parameters.String(), kind},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/pods?"+c.query, nil)
			r.Header.Set("Content-Type", c.contentType)
			needs := int64(math.MaxInt64)
			for range 3 { // The least counts: others may run.
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				c.parse(r)
				runtime.ReadMemStats(&after)
				needs = min(needs, int64(after.TotalAlloc-before.TotalAlloc))
			}
			t.Logf("a head needs %d bytes, and costs %d", needs, costOf(r))
			NewWithT(t).Expect(needs).To(BeNumerically("<=", costOf(r)))
		})
	}
	usual := httptest.NewRequest(http.MethodGet, "/api/v1/pods?labelSelector=app%3Da&limit=500", nil)
	NewWithT(t).Expect(costOf(usual)).To(BeNumerically("<", requestCost+1<<10), "a usual request")
	usual.Header.Set("Accept", strings.Repeat(",", 31_000))
	NewWithT(t).Expect(costOf(usual)).To(BeNumerically(">", 31_000*256), "a long Accept is parsed, too")
	many := httptest.NewRequest(http.MethodGet, "/api", nil)
	for i := range 2_000 {
		many.Header[fmt.Sprint(i)] = []string{""}
	}
	NewWithT(t).Expect(costOf(many)).To(BeNumerically(">", 2_000*250), "each header needs memory, even an empty one")
}

// TestLargeHeads: a server ends the connection of a client that sends a large HTTP/2 frame, and refuses a request with large headers.
func TestLargeHeads(t *testing.T) {
	g := NewWithT(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	server, limited := Limited(http.NotFoundHandler(), l, func() {})
	s := &httptest.Server{Listener: limited, Config: server, EnableHTTP2: true}
	s.StartTLS()
	defer s.Close()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", strings.Repeat("x", 64<<10))
	for name, client := range map[string]*http.Client{"HTTP/2": s.Client(), "HTTP/1.1": {Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}}} {
		answer, err := client.Do(request)
		if err == nil {
			g.Expect(answer.Body.Close()).To(Succeed())
			g.Expect(answer.StatusCode).To(Equal(http.StatusRequestHeaderFieldsTooLarge), name)
		}
	}

	c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	large := "\x00\x80\x00\xfa\x00\x00\x00\x00\x00" // A head of a frame with 32 KiB, of an unknown type.
	_, err = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings+large)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.SetReadDeadline(time.Now().Add(time.Minute))).To(Succeed())
	_, err = io.Copy(io.Discard, c)
	g.Expect(err).NotTo(HaveOccurred(), "it waits for the frame")
}
