// This file holds the reasons for which a request is refused, and the answer to the caller.

package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// A Refusal is an answer other than 200.
type Refusal struct {
	// Status is the HTTP status. 0: the connection is closed without an answer.
	Status int
	// Why is for the caller, for the log and for metrics.
	Why Reason
	// Detail follows Why for the caller and the log, if any. It repeats nothing that the caller sent.
	Detail string
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Detail == "" {
		return string(r.Why)
	}
	return string(r.Why) + ": " + r.Detail
}

// A Refused is a caller's connection that did not become a tunnel.
type Refused struct {
	Caller netip.AddrPort
	// Account is empty until the token is verified. Asked (see Authority.String) is empty until the
	// request is read.
	Account, Asked string
	Listen         uint16
	// LoadBalancer: the connection came through a load balancer, which anyone can use.
	LoadBalancer bool
	Refusal      *Refusal
}

// A Reason is why a request is refused, from a fixed list.
type Reason string

// The reasons.
const (
	Malformed      Reason = "malformed request"
	NotConnect     Reason = "only CONNECT is supported"
	HeadTooLarge   Reason = "the request header is larger than 8 KiB"
	TooSlow        Reason = "no request within 5 seconds"
	Abandoned      Reason = "the caller closed its connection without a request"
	WaitingLimit   Reason = "too many callers have sent no request"
	TokenMissing   Reason = "a token is missing"
	TokenRefused   Reason = "the token is refused"
	AccountRefused Reason = "the ServiceAccount is not admitted"
	KeysUnknown    Reason = "the keys of the API server are not known yet"
	NotOpen        Reason = "the destination is not open"
	NoVM           Reason = "no VM with a DHCP lease has this name or address"
	Unreachable    Reason = "the destination does not answer"
	ShareLimit     Reason = "the caller already has its share of the edge's tunnels"
)

func malformed(detail string) *Refusal { return &Refusal{http.StatusBadRequest, Malformed, detail} }

// refusal returns a Refusal with this status, or without an answer if the caller does not speak HTTP.
func (c *call) refusal(status int, why Reason, detail string) *Refusal {
	if c.listen != 0 {
		status = 0
	}
	return &Refusal{status, why, detail}
}

// response returns the HTTP response, which announces the end of the connection (RFC 9112, section 9.6).
func (r *Refusal) response() []byte {
	body := r.Error() + "\n"
	var more string
	switch r.Status {
	case http.StatusMethodNotAllowed:
		more = "Allow: CONNECT\r\n"
	case http.StatusUnauthorized:
		more = "WWW-Authenticate: Bearer\r\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n%s",
		r.Status, http.StatusText(r.Status), len(body), more, body)
	return []byte(out.String())
}
