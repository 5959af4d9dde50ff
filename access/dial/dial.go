// Package dial is a dialer through the access proxy of an edge, for rest.Config, http.Transport, gRPC and any other program that
// takes a DialContext. It uses the standard library only.
//
//	d := dial.Dialer{Proxy: "oooi-access.clusters-blue.svc:3128"}
//	conn, err := d.DialContext(ctx, "tcp", "worker-1:10250")
package dial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// A Dialer opens connections through an access proxy. It is safe for concurrent use.
type Dialer struct {
	// Proxy is "host:port".
	Proxy string
	// TokenFile has the token of a ServiceAccount for the audience of the proxy. It is read for each connection, since the kubelet
	// replaces a projected token before it expires. Empty: no token is sent.
	TokenFile string
	// Token returns the token for each connection, if TokenFile is empty. An empty token is not sent. Nil: no token is sent.
	Token func(ctx context.Context) (string, error)
	// Forward dials the proxy. Nil: a net.Dialer dials.
	Forward func(ctx context.Context, network, address string) (net.Conn, error)
}

// limit is how long the proxy may take to open a connection, if the context has no deadline.
const limit = 10 * time.Second

// longestAnswer is the longest answer of a proxy that is read, in bytes.
const longestAnswer = 8 << 10

// ErrToken is wrapped by errors about the caller's own token. Another proxy would not help.
var ErrToken = errors.New("token")

// NoVM is RefusedError.Reason if the proxy opens this port of VMs, but no VM with a DHCP lease has the name or address.
const NoVM = "no VM with a DHCP lease has this name or address"

// A RefusedError is an answer of the proxy other than 200.
type RefusedError struct {
	// Proxy and Address are the proxy that was dialed, and the address that it was asked for.
	Proxy, Address string
	// Status is the HTTP status. For example, 403: the destination is not open. 503: a limit is reached.
	Status int
	// Reason is the reason that the proxy gives.
	Reason string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("access proxy %s refuses a connection to %s: %d %s", e.Proxy, e.Address, e.Status, e.Reason)
}

// DialContext connects to address, "host:port". The network is tcp or tcp4. The proxy looks the host up, so names of VMs are
// possible. A connection can be closed in one direction (CloseWrite). The error is a *RefusedError if the proxy refuses.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" {
		return nil, fmt.Errorf("access proxy: network %s: want tcp", network)
	}
	if _, set := ctx.Deadline(); !set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	head, err := d.request(ctx, address)
	if err != nil {
		return nil, err
	}
	forward := d.Forward
	if forward == nil {
		forward = (&net.Dialer{}).DialContext
	}
	c, err := forward(ctx, "tcp", d.Proxy)
	if err != nil {
		return nil, fmt.Errorf("access proxy: %w", err)
	}
	// When ctx ends, pending reads and writes fail.
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	out, err := d.open(c, head, address)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close()
		return nil, errors.Join(err, ctx.Err())
	}
	return out, nil
}

// request returns the head of the request.
func (d Dialer) request(ctx context.Context, address string) (string, error) {
	if unprintable(address) {
		return "", errors.New("access proxy: the address has a character that no host or port has")
	}
	head := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	token, err := d.token(ctx)
	if err != nil {
		return "", fmt.Errorf("access proxy: %w: %w", ErrToken, err)
	}
	if token != "" {
		head += "Proxy-Authorization: Bearer " + token + "\r\n"
	}
	return head + "\r\n", nil
}

// token returns the token to send. Empty: no token is sent.
func (d Dialer) token(ctx context.Context) (token string, err error) {
	switch {
	case d.TokenFile != "":
		b, err := os.ReadFile(d.TokenFile)
		if err != nil {
			return "", err
		}
		if token = strings.TrimSpace(string(b)); token == "" || unprintable(token) {
			return "", fmt.Errorf("file %s has no token", d.TokenFile)
		}
	case d.Token != nil:
		if token, err = d.Token(ctx); err != nil {
			return "", err
		}
		if unprintable(token) {
			return "", errors.New("it has a character that no token has")
		}
	}
	return token, nil
}

// unprintable reports whether a part of a request has a space, or a character that is not printable ASCII.
func unprintable(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// open sends the request, and reads the answer.
func (d Dialer) open(c net.Conn, head, address string) (net.Conn, error) {
	if _, err := io.WriteString(c, head); err != nil {
		return nil, fmt.Errorf("access proxy: %w", err)
	}
	limited := &io.LimitedReader{R: c, N: longestAnswer}
	b := bufio.NewReaderSize(limited, longestAnswer)
	resp, err := http.ReadResponse(b, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, fmt.Errorf("access proxy %s: no HTTP answer: %w", d.Proxy, err)
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		reason, _, _ := strings.Cut(string(text), "\n")
		return nil, &RefusedError{Proxy: d.Proxy, Address: address, Status: resp.StatusCode, Reason: strings.TrimSpace(reason)}
	}
	if b.Buffered() == 0 {
		return c, nil
	}
	early, _ := b.Peek(b.Buffered())
	return &conn{Conn: c, early: append([]byte(nil), early...)}, nil
}

// A conn is a connection whose destination sent data that was read together with the proxy's answer.
type conn struct {
	net.Conn
	early []byte
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.early)
	c.early = c.early[n:]
	return n, nil
}

// CloseWrite closes the connection for writing. Data from the destination can still be read.
func (c *conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
