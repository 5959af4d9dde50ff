// This file opens connections to the access proxy of an edge through the API server, as `kubectl port-forward` does: over
// WebSockets, or over SPDY if a proxy in between does not support WebSockets. Each tunnel has its own connection to the API
// server. On a shared one, a destination that does not read would stall the others.

package localaccess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

// faultWithin limits the wait for the reason why a connection ended. The reason arrives on another stream.
const faultWithin = 200 * time.Millisecond

var errEdgeLost = errors.New("the connection to the edge is lost")

type podForwarder struct {
	config    *rest.Config
	pods      kubernetes.Interface
	namespace string
	// onlySPDY is true once WebSockets have failed and SPDY has worked.
	onlySPDY atomic.Bool
}

// reach opens a connection to the access proxy of e. It returns early if ctx ends.
func (f *podForwarder) reach(ctx context.Context, e accessEdge) (net.Conn, error) {
	type result struct {
		conn *forwarded
		err  error
	}
	done := make(chan result, 1)
	go func() {
		c, err := f.open(e)
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return r.conn, nil
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				_ = r.conn.Close()
			}
		}()
		return nil, fmt.Errorf("edge %s: no answer: %w", e.pod, ctx.Err())
	}
}

// open opens a connection to the access proxy of e. It takes no context, because the functions of client-go take none.
func (f *podForwarder) open(e accessEdge) (*forwarded, error) {
	at := f.pods.CoreV1().RESTClient().Post().Resource("pods").Namespace(f.namespace).Name(e.pod).SubResource("portforward").URL()
	streams, err := f.upgrade(at)
	if err != nil {
		return nil, fmt.Errorf("edge %s: %w", e.pod, err)
	}
	c, err := newForwarded(streams, e.port)
	if err != nil {
		_ = streams.Close()
		return nil, fmt.Errorf("edge %s: %w", e.pod, err)
	}
	return c, nil
}

func (f *podForwarder) upgrade(at *url.URL) (httpstream.Connection, error) {
	if !f.onlySPDY.Load() {
		sockets, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, f.config)
		if err != nil {
			return nil, err
		}
		c, _, err := sockets.Dial(portforward.PortForwardProtocolV1Name)
		if err == nil || !httpstream.IsUpgradeFailure(err) && !httpstream.IsHTTPSProxyError(err) {
			return c, err
		}
	}
	transport, upgrader, err := spdy.RoundTripperFor(f.config)
	if err != nil {
		return nil, err
	}
	status := &statusOf{next: transport}
	c, _, err := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: status}, http.MethodPost, at).Dial(portforward.PortForwardProtocolV1Name)
	switch {
	case err == nil:
		f.onlySPDY.Store(true)
		return c, nil
	case status.code == http.StatusForbidden || status.code == http.StatusUnauthorized:
		return nil, fmt.Errorf("%w create pods/portforward in namespace %s: %w. %s#from-a-laptop has a Role", errForbidden, f.namespace, err, accessPage)
	}
	return nil, err
}

// A statusOf is a RoundTripper that keeps the status code of the last answer. Errors about a failed upgrade do not contain
// it.
type statusOf struct {
	next http.RoundTripper
	code int
}

// RoundTrip implements http.RoundTripper.
func (s *statusOf) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if resp != nil {
		s.code = resp.StatusCode
	}
	return resp, err
}

// A forwarded is a connection to a port of a pod. It implements net.Conn.
type forwarded struct {
	streams httpstream.Connection
	data    httpstream.Stream
	// Channel over is closed when the other side has closed both directions. fault then says why. Empty: no error ended
	// them.
	over  chan struct{}
	fault string

	closed sync.Once
	mu     sync.Mutex
	expiry *time.Timer
}

// newForwarded opens the two streams of a connection to port: one for data, and one for the error that ends it.
func newForwarded(streams httpstream.Connection, port uint16) (*forwarded, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	faults, err := streams.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = faults.Close() // Only the other side writes to it.
	headers = headers.Clone()
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := streams.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	c := &forwarded{streams: streams, data: data, over: make(chan struct{})}
	go func() {
		text, _ := io.ReadAll(io.LimitReader(faults, 2<<10))
		c.fault = strings.TrimSpace(string(text))
		close(c.over)
	}()
	return c, nil
}

// Over returns a channel that is closed when both directions of the connection have ended.
func (c *forwarded) Over() <-chan struct{} { return c.over }

// Read implements net.Conn. If the other side has closed its direction, it returns io.EOF. If the connection is
// lost, it returns another error.
func (c *forwarded) Read(b []byte) (int, error) {
	n, err := c.data.Read(b)
	if err != io.EOF {
		return n, err
	}
	select {
	case <-c.streams.CloseChan():
		return n, errEdgeLost
	default:
	}
	wait := time.NewTimer(faultWithin)
	defer wait.Stop()
	select {
	case <-c.over:
		if c.fault != "" {
			return n, errors.New(command.Printable(c.fault))
		}
	case <-wait.C: // The other direction is still open.
	}
	return n, io.EOF
}

// Write implements net.Conn.
func (c *forwarded) Write(b []byte) (int, error) {
	select {
	case <-c.over:
		if c.fault != "" {
			return 0, errors.New(command.Printable(c.fault))
		}
		return 0, io.ErrClosedPipe
	default:
		return c.data.Write(b)
	}
}

// CloseWrite closes the direction to the other side. Its data can still be read.
func (c *forwarded) CloseWrite() error { return c.data.Close() }

// Close implements net.Conn. It does not wait for unwritten data.
func (c *forwarded) Close() error {
	c.closed.Do(func() { go func() { _ = c.streams.Close() }() })
	return nil
}

// SetDeadline implements net.Conn. At the deadline, it closes the connection. Zero: there is no deadline.
func (c *forwarded) SetDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expiry != nil {
		c.expiry.Stop()
	}
	if !at.IsZero() {
		c.expiry = time.AfterFunc(time.Until(at), func() { _ = c.Close() })
	}
	return nil
}

// SetReadDeadline does the same as SetDeadline.
func (c *forwarded) SetReadDeadline(at time.Time) error { return c.SetDeadline(at) }

// SetWriteDeadline does the same as SetDeadline.
func (c *forwarded) SetWriteDeadline(at time.Time) error { return c.SetDeadline(at) }

// LocalAddr implements net.Conn. It returns an empty address.
func (c *forwarded) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn. It returns an empty address.
func (c *forwarded) RemoteAddr() net.Addr { return &net.TCPAddr{} }
