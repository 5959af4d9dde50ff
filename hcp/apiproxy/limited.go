// This file limits the requests and connections of a server. Each of them needs memory, even if its client sends one byte
// and then nothing.

package apiproxy

import (
	"net"
	"net/http"
	"time"

	"github.com/cldmnky/oooi/callers"
)

const (
	// heldRequests limits the sum of the costs of all requests that a server handles at the same time, in bytes.
	heldRequests = 256 << 20
	// requestCost is the cost of a request without its headers, in bytes: what an answer needs that its client does not read.
	requestCost = 192 << 10
	// headerCost is the cost of a header without its text, in bytes. The request to the API server has a copy of each.
	headerCost = 256
	// parsedCost is the cost of each byte that is parsed before the API server knows the caller, in bytes. A label selector
	// needs 400. The first parsedFree bytes cost nothing more: they are parsed in less than a millisecond. So the cost of a
	// usual request does not change. A watch has this cost until it ends.
	parsedCost, parsedFree = 512, 1 << 10
	// LargestHeader limits a request's headers, which contain the caller's token, in bytes.
	LargestHeader = 16 << 10
	// openConnections is the largest number of open connections of a server. One of HTTP/2 needs up to 700 KiB if its client
	// does not read the answers to its PINGs.
	openConnections = 512
	// receiveBuffer is the flow-control window of an HTTP/2 connection, in bytes. Go's default is 1 MiB.
	receiveBuffer = 128 << 10
	// largestFrame limits HTTP/2 frames, in bytes. A server holds a whole frame before it reads it. Go's default is 1 MiB.
	largestFrame = 16 << 10
)

// Limited returns a server of h, and a listener for it. The listener limits the number of open connections: of all clients
// together, and of the clients with one IP address. It closes connections above the limits, and calls function closed for
// each.
func Limited(h http.Handler, l net.Listener, closed func()) (*http.Server, net.Listener) {
	return &http.Server{
		Handler: h, MaxHeaderBytes: LargestHeader,
		HTTP2: &http.HTTP2Config{MaxReadFrameSize: largestFrame, MaxReceiveBufferPerConnection: receiveBuffer, MaxReceiveBufferPerStream: receiveBuffer / 2},
	}, &callers.Listener{Listener: l, Of: callers.NewPool(openConnections, 0), Refused: closed}
}

// Requests returns a handler that passes requests to h. It answers 429 to requests above heldRequests.
func Requests(h http.Handler) http.Handler {
	return limitedRequests(h, callers.NewPool(heldRequests, 0))
}

func limitedRequests(h http.Handler, p *callers.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := p.Share(r.RemoteAddr)
		defer s.Release()
		if !s.Take(costOf(r)) {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // Otherwise, the server would wait for the body.
			w.Header().Set("Retry-After", retryAfter)
			writeStatus(w, http.StatusTooManyRequests, "TooManyRequests", "too many requests at once")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// costOf returns the cost of r, without its body, in bytes. The costs are limited by heldRequests.
func costOf(r *http.Request) int64 {
	n := requestCost + len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + headerCost
		}
	}
	parsed := len(r.URL.RawQuery)
	for _, name := range []string{"Accept", "Content-Type"} {
		for _, v := range r.Header.Values(name) {
			parsed += len(v)
		}
	}
	return int64(n + parsedCost*max(0, parsed-parsedFree))
}
