// This file plays the port-forward of an API server.

package localaccess

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// portForward forwards the port of a pod.
func (w *accessWorld) portForward(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	i := slices.IndexFunc(w.edges, func(e *playedEdge) bool { return e.Name == r.PathValue("name") })
	refused := w.refuses(rw, "pods/portforward")
	socket := r.Method == http.MethodGet
	var at string
	switch {
	case refused:
	case i < 0:
		w.status(rw, http.StatusNotFound, metav1.StatusReasonNotFound, "pods \""+r.PathValue("name")+"\" not found")
	case socket && w.noSockets:
		http.Error(rw, "what is on the way knows no WebSockets", http.StatusBadGateway)
	default:
		at = w.edges[i].at
	}
	w.upgrades = append(w.upgrades, r.Method)
	cuts := w.cuts
	w.mu.Unlock()
	if at == "" {
		return
	}
	streams := &forwardedStreams{to: at, cuts: cuts}
	if socket {
		websocket.Server{
			Handshake: func(c *websocket.Config, _ *http.Request) error {
				c.Protocol = []string{"SPDY/3.1+portforward.k8s.io"}
				return nil
			},
			Handler: func(ws *websocket.Conn) {
				ws.PayloadType = websocket.BinaryFrame
				if c, err := spdy.NewServerConnection(ws, streams.handle); err == nil {
					<-c.CloseChan()
				}
			},
		}.ServeHTTP(rw, r)
		return
	}
	if _, err := httpstream.Handshake(r, rw, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	if c := spdy.NewResponseUpgrader().UpgradeResponse(rw, r, streams.handle); c != nil {
		<-c.CloseChan()
	}
}

// cut ends all connections of port-forwards without a word.
func (w *accessWorld) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.upgraded {
		_ = c.Close()
	}
	w.upgraded = nil
}

// A forwardedStreams carries the two streams of one connection to an address.
type forwardedStreams struct {
	to   string
	cuts bool

	mu     sync.Mutex
	faults httpstream.Stream
}

func (f *forwardedStreams) handle(s httpstream.Stream, ready <-chan struct{}) error {
	if s.Headers().Get(corev1.PortHeader) != "3128" {
		return errors.New("another port")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
		f.faults = s
		return nil
	}
	faults := f.faults
	if faults == nil {
		return errors.New("no stream for errors")
	}
	go func() {
		<-ready
		defer func() { _ = faults.Close() }()
		defer func() { _ = s.Close() }()
		if err := f.carry(s); err != nil {
			_, _ = fmt.Fprintf(faults, "error forwarding port 3128: %v", err)
		}
	}()
	return nil
}

func (f *forwardedStreams) carry(s httpstream.Stream) error {
	c, err := net.Dial("tcp4", f.to)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	ended := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(c, s)
		_ = c.(*net.TCPConn).CloseWrite()
		ended <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(s, c)
		if !f.cuts {
			_ = s.Close()
		}
		ended <- struct{}{}
	}()
	<-ended
	if !f.cuts {
		<-ended
	}
	return nil
}
