package localaccess

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/access/dial"
)

// serveLocally starts a proxy for programs, and returns where it listens.
func serveLocally(t *testing.T, open opener) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &localProxy{ctx: ctx, open: open, refused: func(string, error) {}}
	ended := make(chan error, 1)
	go func() { ended <- p.serve(l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// ask sends the head of a request as it is, and returns the status and what comes with it.
func ask(t *testing.T, at string, lines ...string) (int, string) {
	t.Helper()
	g := NewWithT(t)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", at)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, strings.Join(lines, "\r\n")+"\r\n\r\n")
	g.Expect(err).NotTo(HaveOccurred())
	method, _, _ := strings.Cut(lines[0], " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = resp.Body.Close() }()
	if method == http.MethodConnect && resp.StatusCode == http.StatusOK {
		return resp.StatusCode, ""
	}
	b, err := io.ReadAll(resp.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode, strings.TrimSpace(string(b))
}

// TestAccessCallerToken: a program gets the same answer for its Proxy-Authorization header as from the edge itself.
func TestAccessCallerToken(t *testing.T) {
	for accounts, other := range map[string]string{"": "200", "backup/tool": "401 a token is missing"} {
		w := newAccessWorld(t, 1, func(w *accessWorld) { w.accounts = strings.Fields(accounts) })
		w.host("192.168.100.50:7", counts)
		at := serveLocally(t, func(ctx context.Context, address, token string) (tunnel, error) {
			d := dial.Dialer{Proxy: w.edges[0].at, Token: func(context.Context) (string, error) { return token, nil }}
			c, err := d.DialContext(ctx, "tcp", address)
			return tunnel{Conn: c}, err
		})
		token := w.token("backup", "tool")
		for header, want := range map[string]string{
			"Bearer " + token: "200", "bearer " + token: "200", "BEARER   " + token: "200",
			"Basic dXNlcjpwYXNz": other, "Negotiate": other, "Negotiate " + token: other, "Bearer" + token: other, "Bearer": other, "": other,
		} {
			for _, proxy := range []string{at, w.edges[0].at} {
				status, why := ask(t, proxy, "CONNECT worker-1:7 HTTP/1.1", "Host: worker-1:7", "Proxy-Authorization: "+header)
				NewWithT(t).Expect(strings.TrimSpace(fmt.Sprint(status, " ", why))).To(Equal(want), "%q at the edge itself: %t", header, proxy != at)
			}
		}
	}
}

// TestAccessHTTPUnchanged: the server gets the path, the query and the forwarding headers of the program.
func TestAccessHTTPUnchanged(t *testing.T) {
	g := NewWithT(t)
	type request struct {
		uri     string
		headers http.Header
	}
	got := make(chan request, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- request{r.RequestURI, r.Header} }))
	t.Cleanup(s.Close)
	at := serveLocally(t, func(ctx context.Context, _, _ string) (tunnel, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Listener.Addr().String())
		return tunnel{Conn: c}, err
	})
	forwarding := http.Header{"Forwarded": {"for=192.0.2.1"}, "X-Forwarded-For": {"192.0.2.1", "192.0.2.2"}, "X-Forwarded-Host": {"a"}, "X-Forwarded-Proto": {"https"}}
	for _, uri := range []string{"/x?a;b&z=1&a=100%", "/x?", "/a%2Fb//c?d=%zz"} {
		for _, headers := range []http.Header{{}, forwarding} {
			lines := []string{"GET http://worker-1:9100" + uri + " HTTP/1.1", "Host: worker-1:9100", "Proxy-Authorization: Bearer a"}
			for name, values := range headers {
				for _, v := range values {
					lines = append(lines, name+": "+v)
				}
			}
			status, _ := ask(t, at, append(lines, "Connection: close")...)
			g.Expect(status).To(Equal(http.StatusOK))
			r := <-got
			g.Expect(r.uri).To(Equal(uri))
			r.headers.Del("Connection") // A tunnel is for one request.
			g.Expect(r.headers).To(Equal(headers), uri)
		}
	}
}
