// This file is the local proxy of `oooi access`. It accepts HTTP CONNECT, and requests for http:// URLs, for which programs
// do not use CONNECT.

package localaccess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"time"

	"github.com/cldmnky/oooi/access/dial"
	"github.com/cldmnky/oooi/cmd/oooi/command"
)

const (
	// callerSendsWithin limits the time in which a local program must send the request line and headers. longestRequest
	// limits their size in bytes.
	callerSendsWithin = 10 * time.Second
	longestRequest    = 8 << 10
)

// An opener opens a tunnel to address, "host:port". token is the bearer token that the caller sent. Empty: it sent none.
type opener func(ctx context.Context, address, token string) (tunnel, error)

type localProxy struct {
	// ctx ends all tunnels when it ends.
	ctx  context.Context
	open opener
	// Function refused is called with each destination to which no tunnel could be opened.
	refused func(address string, err error)
	forward *httputil.ReverseProxy
}

// serve serves on l until ctx ends, and closes l.
func (p *localProxy) serve(l net.Listener) error {
	p.forward = &httputil.ReverseProxy{
		Rewrite: keepRequest,
		// Each request needs its own tunnel, because a tunnel is opened with the token of one request.
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			token, _ := ctx.Value(callerToken{}).(string)
			t, err := p.open(ctx, address, token)
			if err != nil {
				return nil, err
			}
			return t.Conn, nil
		}},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			p.refused(r.URL.Host, err)
			status, why := answerOf(err)
			http.Error(w, why, status)
		},
	}
	server := http.Server{
		Handler: p, ReadHeaderTimeout: callerSendsWithin, MaxHeaderBytes: longestRequest, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return p.ctx },
	}
	defer context.AfterFunc(p.ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A callerToken is the context key for the token that a caller sent.
type callerToken struct{}

// ServeHTTP implements http.Handler. A web page cannot use the proxy, because its requests to this port use neither CONNECT
// nor a whole URL in the request line.
func (p *localProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := bearerToken(r.Header.Get("Proxy-Authorization"))
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r.RequestURI, token)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerToken{}, token)))
	default:
		w.Header().Set("Allow", http.MethodConnect)
		http.Error(w, "only CONNECT and requests for http:// URLs are supported", http.StatusMethodNotAllowed)
	}
}

// keepRequest restores the query and the forwarding headers of the request. A ReverseProxy cleans and removes them, because
// it normally protects servers.
func keepRequest(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values := r.In.Header[name]; len(values) > 0 {
			r.Out.Header[name] = values
		}
	}
}

// bearerToken returns the token in a Proxy-Authorization header (RFC 6750, section 2.1), by the same rules as the access
// proxy. Empty: there is none.
func bearerToken(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}

// connect turns the connection of a caller into a tunnel (RFC 9110, section 9.3.6).
func (p *localProxy) connect(w http.ResponseWriter, address, token string) {
	// Hijack before dialing. Otherwise the server would cancel the request of a caller that closes its direction early.
	c, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Time{})
	t, err := p.open(p.ctx, address, token)
	if err != nil {
		p.refused(address, err)
		status, why := answerOf(err)
		_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
			status, http.StatusText(status), len(why)+1, why)
		return
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = t.Close()
		return
	}
	local := localEnd{in: buffered.Reader, out: c, closeOut: func() error { return nil }}
	if half, ok := c.(*net.TCPConn); ok {
		local.closeOut = half.CloseWrite
	}
	if err := carry(p.ctx, t, local); err != nil {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // With a reset, the caller sees that data is missing.
		}
	}
}

func answerOf(err error) (status int, why string) {
	var refused *dial.RefusedError
	if errors.As(err, &refused) && refused.Status >= 400 && refused.Status < 600 {
		return refused.Status, command.Printable(refused.Reason)
	}
	return http.StatusBadGateway, command.Printable(err.Error())
}

// listenAt listens at address. warning says that other hosts can reach the port, or is empty.
func listenAt(ctx context.Context, address string) (l net.Listener, warning string, err error) {
	if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return nil, "", fmt.Errorf("--listen %s: %w. Name another address, or port 0 for any free one", address, err)
	}
	at := addrPortOf(l)
	if !at.Addr().IsLoopback() {
		warning = fmt.Sprintf("--listen %s: anyone who can reach %s gets access with your rights", address, at)
	}
	return l, warning, nil
}

func localURL(l net.Listener) string {
	at := addrPortOf(l)
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return "http://" + at.String()
}

func addrPortOf(l net.Listener) netip.AddrPort {
	at := l.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}
