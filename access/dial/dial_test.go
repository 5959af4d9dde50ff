package dial_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/access/dial"
	"github.com/cldmnky/oooi/test/loopback"
)

// A proxy answers each connection with what answer returns for its request, and then sends back what it gets.
func proxy(t *testing.T, answer func(r *http.Request) string) string {
	t.Helper()
	return loopback.Serve(t, func(c *net.TCPConn) {
		b := bufio.NewReader(c)
		r, err := http.ReadRequest(b)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, answer(r))
		_, _ = io.Copy(c, b)
	})
}

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// TestDialContext: bytes go both ways, those that come with the answer first, and one direction can be closed.
func TestDialContext(t *testing.T) {
	g := NewWithT(t)
	for _, early := range []string{"", "SSH-2.0-x\r\n"} {
		d := dial.Dialer{Proxy: proxy(t, func(r *http.Request) string {
			if r.Method != "CONNECT" || r.RequestURI != "worker-1:22" || r.Host != "worker-1:22" || r.Header.Get("Proxy-Authorization") != "" {
				t.Errorf("%v", r)
			}
			return established + early
		})}
		c, err := d.DialContext(t.Context(), "tcp", "worker-1:22")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = io.WriteString(c, "hello")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.(interface{ CloseWrite() error }).CloseWrite()).To(Succeed())
		g.Expect(io.ReadAll(c)).To(BeEquivalentTo(early + "hello"))
		g.Expect(c.Close()).To(Succeed())
	}
}

// TestToken: the file is read for each connection, and no error has what is in it.
func TestToken(t *testing.T) {
	g := NewWithT(t)
	sent := make(chan string, 1)
	file := filepath.Join(t.TempDir(), "token")
	d := dial.Dialer{TokenFile: file, Proxy: proxy(t, func(r *http.Request) string {
		sent <- r.Header.Get("Proxy-Authorization")
		return "HTTP/1.1 403 Forbidden\r\nContent-Length: 21\r\n\r\nthe token is refused\n"
	})}
	_, err := d.DialContext(t.Context(), "tcp", "worker-1:22")
	g.Expect(err).To(MatchError(os.ErrNotExist))
	for _, token := range []string{"one", "two\n"} {
		g.Expect(os.WriteFile(file, []byte(token), 0o600)).To(Succeed())
		_, err := d.DialContext(t.Context(), "tcp", "worker-1:22")
		var refused *dial.RefusedError
		g.Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
		g.Expect(refused.Status).To(Equal(403))
		g.Expect(refused.Reason).To(Equal("the token is refused"))
		g.Expect(err.Error()).NotTo(ContainSubstring(strings.TrimSpace(token)))
		g.Expect(<-sent).To(Equal("Bearer " + strings.TrimSpace(token)))
	}
	for _, token := range []string{"", "a b", "a\r\nX: secret"} {
		g.Expect(os.WriteFile(file, []byte(token), 0o600)).To(Succeed())
		_, err := d.DialContext(t.Context(), "tcp", "worker-1:22")
		g.Expect(err).To(MatchError("access proxy: token: file " + file + " has no token"))
		g.Expect(err).To(MatchError(dial.ErrToken))
	}
}

// TestTokenOf: a function gives the token for each connection, and an empty one is not sent.
func TestTokenOf(t *testing.T) {
	g := NewWithT(t)
	sent := make(chan []string, 1)
	var token string
	var fault error
	d := dial.Dialer{Token: func(context.Context) (string, error) { return token, fault }, Proxy: proxy(t, func(r *http.Request) string {
		sent <- r.Header["Proxy-Authorization"]
		return established
	})}
	for _, token = range []string{"", "one", "two"} {
		c, err := d.DialContext(t.Context(), "tcp", "worker-1:22")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Close()).To(Succeed())
		if token == "" {
			g.Expect(<-sent).To(BeEmpty())
			continue
		}
		g.Expect(<-sent).To(Equal([]string{"Bearer " + token}))
	}
	token = "secret\r\nX: y"
	_, err := d.DialContext(t.Context(), "tcp", "worker-1:22")
	g.Expect(err).To(And(MatchError(dial.ErrToken), Not(MatchError(ContainSubstring("secret")))))
	fault = io.ErrUnexpectedEOF
	_, err = d.DialContext(t.Context(), "tcp", "worker-1:22")
	g.Expect(err).To(And(MatchError(dial.ErrToken), MatchError(io.ErrUnexpectedEOF)))
}

// TestBroken: what is no proxy, and one that does not answer.
func TestBroken(t *testing.T) {
	g := NewWithT(t)
	_, err := dial.Dialer{Proxy: proxy(t, func(*http.Request) string { return "SSH-2.0-x\r\n" + strings.Repeat("x", 10<<10) })}.DialContext(t.Context(), "tcp", "worker-1:22")
	g.Expect(err).To(MatchError(ContainSubstring("no HTTP answer")))
	_, err = dial.Dialer{Proxy: proxy(t, func(*http.Request) string { return "HTTP/1.1 200 " + strings.Repeat("x", 100<<10) })}.DialContext(t.Context(), "tcp", "worker-1:22")
	g.Expect(err).To(MatchError(ContainSubstring("no HTTP answer")))
	_, err = dial.Dialer{}.DialContext(t.Context(), "udp", "worker-1:53")
	g.Expect(err).To(HaveOccurred())
	_, err = dial.Dialer{}.DialContext(t.Context(), "tcp", "worker-1:22\r\nX: y")
	g.Expect(err).To(HaveOccurred())

	ctx, cancel := context.WithCancel(t.Context())
	silent := proxy(t, func(*http.Request) string { cancel(); <-t.Context().Done(); return "" })
	_, err = dial.Dialer{Proxy: silent}.DialContext(ctx, "tcp", "worker-1:22")
	g.Expect(err).To(MatchError(context.Canceled))
}
