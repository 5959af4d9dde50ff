// This file limits how many requests and connections a server has. Each needs memory, even if its client sends one byte
// and waits.

package apiproxy

import (
	"net"
	"net/http"

	"github.com/cldmnky/oooi/callers"
)

const (
	// heldRequests is the limit of the memory of all requests that a server handles at once, in bytes.
	heldRequests = 256 << 20
	// requestCost is what a request counts in addition to its headers, in bytes. A request whose body comes slowly needs
	// 20 KiB, and a request that waits for the API server twice as much.
	requestCost = 32 << 10
	// LargestHeader is the limit in bytes of a request's headers, which contain the caller's token.
	LargestHeader = 64 << 10
	// openConnections is the limit of connections that a server has at once.
	openConnections = 2048
	// receiveBuffer is how many bytes a client may send ahead over one HTTP/2 connection. Go's default is 1 MiB.
	receiveBuffer = 128 << 10
)

// Limited returns a server for a handler, and its listener, which limits the connections of all clients and of each
// address. closed is called for each connection above the limits.
func Limited(h http.Handler, l net.Listener, closed func()) (*http.Server, net.Listener) {
	return &http.Server{
		Handler: h, MaxHeaderBytes: LargestHeader,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: receiveBuffer, MaxReceiveBufferPerStream: receiveBuffer / 2},
	}, &callers.Listener{Listener: l, Of: callers.NewPool(openConnections, 0), Refused: closed}
}

// Requests returns a handler that passes requests to h within the limits of a server.
func Requests(h http.Handler) http.Handler {
	return limitedRequests(h, callers.NewPool(heldRequests, 0))
}

func limitedRequests(h http.Handler, p *callers.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := p.Share(r.RemoteAddr)
		defer s.Release()
		if !s.Take(costOf(r)) {
			w.Header().Set("Retry-After", retryAfter)
			writeStatus(w, http.StatusTooManyRequests, "TooManyRequests", "too many requests at once")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// costOf returns what r counts among heldRequests, without its body.
func costOf(r *http.Request) int64 {
	n := requestCost + len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return int64(n)
}
