package apiproxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

const rulesText = `version: 1
groups:
- {client: kubevirt.io, server: internal.virt.example, kindPrefix: Internal, resourcePrefix: internal, resources: {virtualmachines: VirtualMachine}}
keys:
- {client: kubevirt.io/, server: internal.virt.example/}
hide:
- {group: "", resource: configmaps, name: hidden}
`

// between starts a proxy in front of an API server that h plays, and returns its URL.
func between(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	proxy := httptest.NewServer(before(t, Transport{Largest: 1 << 20}, h))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// before is a proxy in front of an API server that h plays, with the limits of limits.
func before(t *testing.T, limits Transport, h http.HandlerFunc) http.Handler {
	t.Helper()
	g := NewWithT(t)
	upstream := httptest.NewServer(h)
	t.Cleanup(upstream.Close)
	rules, err := apirewrite.Parse("rules", []byte(rulesText))
	g.Expect(err).NotTo(HaveOccurred())
	server, err := url.Parse(upstream.URL)
	g.Expect(err).NotTo(HaveOccurred())
	base := &http.Transport{DisableCompression: true}
	t.Cleanup(base.CloseIdleConnections)
	return Handler{
		Transport: &Transport{Rules: rules, Base: base, Upgrade: base, Largest: limits.Largest, Bodies: limits.Bodies, Server: server}, Log: slog.New(slog.DiscardHandler),
	}.Serve()
}

func jsonAnswer(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

func fetch(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer, string(text), err
}

// TestLogs: answers that are not JSON do not change, and have their length. Followed logs are not buffered.
func TestLogs(t *testing.T) {
	g := NewWithT(t)
	release := make(chan struct{})
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Query().Get("follow") != "true" {
			w.Header().Set("Content-Length", "26")
			_, _ = io.WriteString(w, "internal.virt.example/v1 {")
			return
		}
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-release
		_, _ = io.WriteString(w, "last\n")
	})
	answer, text, err := fetch(t, url+"/api/v1/namespaces/x/pods/y/log")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal("internal.virt.example/v1 {"))
	g.Expect(answer.ContentLength).To(BeEquivalentTo(26))
	followed, err := http.Get(url + "/api/v1/namespaces/x/pods/y/log?follow=true")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = followed.Body.Close() }()
	lines := bufio.NewReader(followed.Body)
	g.Expect(lines.ReadString('\n')).To(Equal("first\n"), "while the log goes on")
	close(release)
	g.Expect(lines.ReadString('\n')).To(Equal("last\n"))
}

// TestWatchSpellings: for each spelling of true, the answer is a stream with one event per line, without buffering.
func TestWatchSpellings(t *testing.T) {
	for _, query := range []string{"watch=true", "watch=1", "watch=T", "watch"} {
		g := NewWithT(t)
		release := make(chan struct{})
		url := between(t, func(w http.ResponseWriter, r *http.Request) {
			for range 2 {
				jsonAnswer(w, `{"type":"ADDED","object":{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine"}}`+"\n")
				w.(http.Flusher).Flush()
				<-release
			}
		})
		answer, err := http.Get(url + "/apis/kubevirt.io/v1/virtualmachines?" + query)
		g.Expect(err).NotTo(HaveOccurred())
		lines := bufio.NewReader(answer.Body)
		for range 2 {
			g.Expect(lines.ReadString('\n')).To(Equal(`{"type":"ADDED","object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"}}`+"\n"), query)
			release <- struct{}{}
		}
		_ = answer.Body.Close()
	}
}

// TestUpgrade: a connection becomes a stream of another protocol, as exec, attach and port-forward need. A kubelet answers 406 if a request has the header Accept.
func TestUpgrade(t *testing.T) {
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		g := NewWithT(t)
		url := between(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != protocol || r.URL.Path != "/apis/internal.virt.example/v1/namespaces/x/internalvirtualmachines/y/console" {
				http.Error(w, "no upgrade", http.StatusBadRequest)
				return
			}
			if r.Header.Get("Accept") != "" {
				http.Error(w, "406: Not Acceptable", http.StatusNotAcceptable)
				return
			}
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n")
			_, _ = io.CopyN(c, rw, 21)
		})
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		g.Expect(err).NotTo(HaveOccurred())
		_, err = fmt.Fprintf(c, "POST /apis/kubevirt.io/v1/namespaces/x/virtualmachines/y/console HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
		g.Expect(err).NotTo(HaveOccurred())
		r := bufio.NewReader(c)
		answer, err := http.ReadResponse(r, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.StatusCode).To(Equal(http.StatusSwitchingProtocols), protocol)
		_, err = io.WriteString(c, "internal.virt.example")
		g.Expect(err).NotTo(HaveOccurred())
		echo := make([]byte, 21)
		_, err = io.ReadFull(r, echo)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(echo)).To(Equal("internal.virt.example"))
		g.Expect(c.Close()).To(Succeed())
	}
}

// TestErrors: an answer with an error is renamed as well.
func TestErrors(t *testing.T) {
	g := NewWithT(t)
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Warning", `299 - "internal.virt.example/v1 is old"`)
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","message":"internalvirtualmachines.internal.virt.example \"a\" not found","details":{"group":"internal.virt.example","kind":"internalvirtualmachines"}}`)
	})
	answer, text, err := fetch(t, url+"/apis/kubevirt.io/v1/namespaces/x/virtualmachines/a?watch=true")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusNotFound))
	g.Expect(answer.Header.Get("Warning")).To(Equal(`299 - "kubevirt.io/v1 is old"`))
	g.Expect(text).To(Equal(`{"kind":"Status","apiVersion":"v1","message":"virtualmachines.kubevirt.io \"a\" not found","details":{"group":"kubevirt.io","kind":"virtualmachines"}}`))
	answer, text, err = fetch(t, url+"/api/v1/namespaces/x/configmaps/hidden")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusNotFound))
	g.Expect(text).To(ContainSubstring(`configmaps \"hidden\" not found`))
}

// TestRefusedUpgrade: an upgrade that the API server refuses is an answer as any other.
func TestRefusedUpgrade(t *testing.T) {
	g := NewWithT(t)
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","message":"internalvirtualmachines.internal.virt.example \"a\" not found"}`)
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/apis/kubevirt.io/v1/namespaces/x/virtualmachines/a/console", nil)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "websocket")
	answer, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusNotFound))
	g.Expect(string(text)).To(Equal(`{"kind":"Status","apiVersion":"v1","message":"virtualmachines.kubevirt.io \"a\" not found"}`))
}

// TestUploads: a body that is not an object has no limit, and is forwarded while it is sent.
func TestUploads(t *testing.T) {
	for _, contentType := range []string{"application/octet-stream", ""} {
		g := NewWithT(t)
		first, rest := make(chan struct{}), make(chan int64, 1)
		url := between(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadFull(r.Body, make([]byte, 4)); err != nil {
				return
			}
			close(first)
			n, _ := io.Copy(io.Discard, r.Body)
			rest <- n
		})
		out, in := io.Pipe()
		go func() {
			_, _ = io.WriteString(in, "\x1f\x8b12")
			<-first
			_, _ = in.Write(make([]byte, LargestRequest+1))
			_ = in.Close()
		}()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/apis/build.openshift.io/v1/namespaces/x/buildconfigs/y/instantiatebinary", out)
		g.Expect(err).NotTo(HaveOccurred())
		if contentType != "" {
			request.Header.Set("Content-Type", contentType)
		}
		answer, err := http.DefaultClient.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Body.Close()).To(Succeed())
		g.Expect(answer.StatusCode).To(Equal(http.StatusOK))
		g.Expect(<-rest).To(BeEquivalentTo(LargestRequest+1), contentType)
	}
}

// TestLargeRequests: the limit of a request is that of an API server, whatever the limit of an answer is, because the sender is not
// authenticated yet.
func TestLargeRequests(t *testing.T) {
	g := NewWithT(t)
	rules, err := apirewrite.Parse("rules", []byte(rulesText))
	g.Expect(err).NotTo(HaveOccurred())
	text := `{"a":"kubevirt.io/","b":"` + strings.Repeat("x", LargestReview) + `"}`
	proxied := &Transport{Rules: rules, Server: &url.URL{}, Largest: apirewrite.Largest}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/pods", strings.NewReader(text))
	request.Header.Set("Content-Type", "application/json")
	answer, err := proxied.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusRequestEntityTooLarge))
	w := httptest.NewRecorder()
	Webhook{Rules: rules, Largest: apirewrite.Largest}.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(text)))
	g.Expect(w.Code).To(Equal(http.StatusRequestEntityTooLarge))
}

// TestForeignKinds: a name that begins like one of the server's, but is in another group, does not change.
func TestForeignKinds(t *testing.T) {
	g := NewWithT(t)
	const foreign = `{"apiVersion":"other.example/v1","kind":"InternalVirtualMachine","resource":"internalvirtualmachines"}`
	url := between(t, func(w http.ResponseWriter, r *http.Request) { jsonAnswer(w, foreign) })
	_, text, err := fetch(t, url+"/apis/other.example/v1/internalvirtualmachines/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal(foreign))
}

// TestRequests: what arrives at the API server.
func TestRequests(t *testing.T) {
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s|%s|%s|%s|%s", r.Method, r.RequestURI, r.Header.Get("Accept"), r.Header.Get("Accept-Encoding"), r.Header.Get("Keep-Alive"), body)
	})
	for _, row := range []struct{ method, path, contentType, body, want string }{
		{"PATCH", "/apis/kubevirt.io/v1/namespaces/x/virtualmachines/a", "application/strategic-merge-patch+json", `{"metadata":{"labels":{"kubevirt.io/os":null}}}`,
			`PATCH /apis/internal.virt.example/v1/namespaces/x/internalvirtualmachines/a|application/json;as=Table|||{"metadata":{"labels":{"internal.virt.example/os":null}}}`},
		{"GET", "/api/v1/namespaces/x//pods/a%2Fb?x=;", "", "", `GET /api/v1/namespaces/x//pods/a%2Fb?x=;|application/json;as=Table|||`},
		{"POST", "/api/v1/namespaces/x/pods/y/proxy/apis/kubevirt.io/v1", "application/json", `{"apiVersion":"kubevirt.io/v1"}`,
			`POST /api/v1/namespaces/x/pods/y/proxy/apis/kubevirt.io/v1|application/vnd.kubernetes.protobuf,application/json;as=Table, application/cbor|br||{"apiVersion":"kubevirt.io/v1"}`},
		{"POST", "/api/v1/pods", "application/yaml", "metadata: {labels: {kubevirt.io/a: b}}", `POST /api/v1/pods|application/json;as=Table|||{"metadata":{"labels":{"internal.virt.example/a":"b"}}}`},
		{"POST", "/api/v1/pods", "application/vnd.kubernetes.protobuf", "k8s\x00untouched", "POST /api/v1/pods|application/json;as=Table|||k8s\x00untouched"},
		{"POST", "/api/v1/pods", "application/vnd.kubernetes.protobuf", "k8s\x00kubevirt.io", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"names in a body of type application/vnd.kubernetes.protobuf cannot be renamed: send JSON","reason":"UnsupportedMediaType","code":415}` + "\n"},
		{"POST", "/api/v1/pods", "application/json", strings.Repeat(" ", 1<<20+1), `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the body has more than 1048576 bytes","reason":"RequestEntityTooLarge","code":413}` + "\n"},
	} {
		g := NewWithT(t)
		request, err := http.NewRequestWithContext(t.Context(), row.method, url+row.path, strings.NewReader(row.body))
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Content-Type", row.contentType)
		request.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json;as=Table, application/cbor")
		request.Header.Set("Accept-Encoding", "br")
		request.Header.Set("Keep-Alive", "5")
		answer, err := http.DefaultClient.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(Equal(row.want))
		g.Expect(answer.Body.Close()).To(Succeed())
	}
}

// TestBrokenAnswers: if the API server's answer is incomplete, the client gets an error.
func TestBrokenAnswers(t *testing.T) {
	items := strings.Repeat(`{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine"},`, 5000)
	for name, row := range map[string]struct {
		answer string
		code   int // 0: the connection ends
	}{
		"list":      {`{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachineList","items":[` + items, 0},
		"object":    {`{"apiVersion":"internal.virt.example/v1"`, http.StatusBadGateway},
		"too large": {`{"apiVersion":"internal.virt.example/v1","items":[{"a":"` + strings.Repeat("x", 2<<20) + `"}]}`, http.StatusInternalServerError},
		"no item":   {`{"apiVersion":"internal.virt.example/v1","items":[` + items + `{internal.virt.example}]}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			answer, text, err := fetch(t, between(t, func(w http.ResponseWriter, r *http.Request) { jsonAnswer(w, row.answer) })+"/apis/kubevirt.io/v1/virtualmachines")
			if row.code == 0 {
				g.Expect(errors.Is(err, io.ErrUnexpectedEOF)).To(BeTrue(), "%v", err)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.StatusCode).To(Equal(row.code))
			g.Expect(text).To(ContainSubstring(`"kind":"Status"`))
		})
	}
	g := NewWithT(t)
	down := between(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	answer, text, err := fetch(t, down+"/api/v1/pods")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusServiceUnavailable))
	g.Expect(text).To(ContainSubstring("the API server cannot be reached"))
}

// TestCompressed: the proxy reads an answer that the API server compresses although the request does not accept that.
func TestCompressed(t *testing.T) {
	g := NewWithT(t)
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, `{"apiVersion":"internal.virt.example/v1"}`)
		_ = z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		jsonAnswer(w, b.String())
	})
	_, text, err := fetch(t, url+"/apis/kubevirt.io/v1/virtualmachines/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal(`{"apiVersion":"kubevirt.io/v1"}`))
}

// TestClientThatGoes: when a client ends a watch, the proxy ends the watch at the API server.
func TestClientThatGoes(t *testing.T) {
	g := NewWithT(t)
	gone := make(chan struct{})
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		jsonAnswer(w, "{}\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/pods?watch=1", nil)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = answer.Body.Read(make([]byte, 1))
	g.Expect(err).NotTo(HaveOccurred())
	cancel()
	g.Eventually(gone, "1m").Should(BeClosed())
	_ = answer.Body.Close()
}
