// This file reads the head of an HTTP request (RFC 9112). It is strict: it accepts only one spelling of a CONNECT request,
// and refuses everything else with a status.

package access

import (
	"bytes"
	"net/http"
	"strings"
)

// MaxHead is the largest head of a request, in bytes.
const MaxHead = 8 << 10

// A Request is a CONNECT request.
type Request struct {
	Authority Authority
	// Token is the bearer token of the Proxy-Authorization header. Empty: there is none, or the header has another scheme.
	Token string
}

// ParseHead reads a request from the bytes that a caller has sent so far. length is the length of the head. The bytes
// after it are for the destination. If length is 0 and refused is nil, the head is not complete. It refuses bytes that
// cannot become a request before they are complete.
func ParseHead(b []byte) (r Request, length int, refused *Refusal) {
	head, _, complete := bytes.Cut(b, []byte("\r\n\r\n"))
	length = len(head) + len("\r\n\r\n")
	if !complete && len(b) >= MaxHead || complete && length > MaxHead {
		return Request{}, 0, &Refusal{http.StatusRequestHeaderFieldsTooLarge, HeadTooLarge, ""}
	}
	line, headers, whole := bytes.Cut(head, []byte("\r\n"))
	first := string(line)
	if refused := notHTTP(first, whole || complete); refused != nil || !complete {
		return Request{}, 0, refused
	}
	version := ""
	if r.Authority, version, refused = parseFirst(first); refused != nil {
		return Request{}, 0, refused
	}
	h, refused := parseHeaders(string(headers))
	if refused != nil {
		return Request{}, 0, refused
	}
	// RFC 9112, section 3.2. HTTP/1.0 clients send no Host header: OpenBSD's nc, and Python before 3.12.
	if h.hosts > 1 || h.hosts == 0 && version == "1.1" {
		return Request{}, 0, malformed("a request must have one Host header")
	}
	r.Token = bearer(h.authorization)
	return r, length, nil
}

// longestMethod, in bytes, is more than the length of any registered HTTP method.
const longestMethod = 32

// notHTTP refuses bytes that do not begin a request: TLS, SSH, or the preface of HTTP/2. If whole is false, line is only a
// part.
func notHTTP(line string, whole bool) *Refusal {
	if !whole {
		line = strings.TrimSuffix(line, "\r")
	}
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return malformed("this is a port of HTTP/1.1")
		}
	}
	method, _, more := strings.Cut(line, " ")
	if strings.ContainsFunc(method, notToken) || !more && whole || len(method) > longestMethod || method == "PRI" {
		return malformed("this is a port of HTTP/1.1")
	}
	return nil
}

// parseFirst reads the first line of a request.
func parseFirst(line string) (a Authority, version string, refused *Refusal) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		return Authority{}, "", malformed("the first line is not a request")
	}
	version, ok := strings.CutPrefix(parts[2], "HTTP/")
	if !ok || version != "1.0" && version != "1.1" {
		return Authority{}, "", malformed("this is a port of HTTP/1.1")
	}
	if parts[0] != http.MethodConnect {
		return Authority{}, "", &Refusal{http.StatusMethodNotAllowed, NotConnect, ""}
	}
	a, err := ParseAuthority(parts[1])
	if err != nil {
		return Authority{}, "", malformed(err.Error())
	}
	return a, version, nil
}

// headers are the headers that this package uses.
type headers struct {
	authorization string
	hosts         int
}

// parseHeaders reads the lines after the first one.
func parseHeaders(text string) (h headers, refused *Refusal) {
	authorizations := 0
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsFunc(name, notToken) || strings.ContainsFunc(value, notInValue) {
			return headers{}, malformed("a line is not a header")
		}
		value = strings.Trim(value, " \t")
		switch strings.ToLower(name) {
		case "host":
			h.hosts++
		case "proxy-authorization":
			h.authorization = value
			authorizations++
		case "transfer-encoding":
			return headers{}, malformed("a CONNECT request must have no content")
		case "content-length":
			if value != "0" {
				return headers{}, malformed("a CONNECT request must have no content")
			}
		}
	}
	if authorizations > 1 {
		return headers{}, malformed("a request must have one Proxy-Authorization header")
	}
	return h, nil
}

// notToken reports whether r cannot be in a token (RFC 9110, section 5.6.2).
func notToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// notInValue reports whether r cannot be in the value of a header.
func notInValue(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
