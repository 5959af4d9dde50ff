package access

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestParseHead: which bytes are a request, and with which status others are refused.
func TestParseHead(t *testing.T) {
	const first, host = "CONNECT worker-1:10250 HTTP/1.1\r\n", "Host: worker-1:10250\r\n"
	filled := func(size int) string {
		head := first + host + "X: "
		return head + strings.Repeat("x", size-len(head)-4) + "\r\n\r\n"
	}
	for name, c := range map[string]struct {
		sent, rest, token string
		status            int
	}{
		"HTTP/1.1":           {sent: first + host + "\r\n"},
		"HTTP/1.0 of nc":     {sent: "CONNECT worker-1:10250 HTTP/1.0\r\n\r\n"},
		"curl":               {sent: first + host + "User-Agent: curl/8.5.0\r\nProxy-Connection: Keep-Alive\r\n\r\n"},
		"pipelined":          {sent: first + host + "\r\nSSH-2.0-x\r\n\r\n", rest: "SSH-2.0-x\r\n\r\n"},
		"another Host":       {sent: first + "hOST: other\r\n\r\n"},
		"token":              {sent: first + host + "Proxy-Authorization: Bearer a.b.c\r\n\r\n", token: "a.b.c"},
		"token, spaces":      {sent: first + host + "proxy-authorization:\tbearer   a.b.c \t\r\n\r\n", token: "a.b.c"},
		"Basic":              {sent: first + host + "Proxy-Authorization: Basic eDp5\r\n\r\n"},
		"Authorization":      {sent: first + host + "Authorization: Bearer a.b.c\r\n\r\n"},
		"no content":         {sent: first + host + "Content-Length: 0\r\n\r\n"},
		"8 KiB":              {sent: filled(MaxHead)},
		"8 KiB and a byte":   {sent: filled(MaxHead + 1), status: 431},
		"9 KiB, no end":      {sent: filled(9 << 10)[:MaxHead], status: 431},
		"9 KiB first line":   {sent: "CONNECT " + strings.Repeat("x", 9<<10), status: 431},
		"GET":                {sent: "GET / HTTP/1.1\r\n" + host + "\r\n", status: 405},
		"GET, absolute":      {sent: "GET http://worker-1:10250/ HTTP/1.1\r\n" + host + "\r\n", status: 405},
		"lower case":         {sent: "connect worker-1:10250 HTTP/1.1\r\n" + host + "\r\n", status: 405},
		"HTTP/2 preface":     {sent: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 400},
		"HTTP/2 begins":      {sent: "PRI * HT", status: 400},
		"TLS":                {sent: "\x16\x03\x01\x02\x00\x01", status: 400},
		"SSH":                {sent: "SSH-2.0-OpenSSH_9.2p1\r\n\r\n", status: 400},
		"a long word":        {sent: strings.Repeat("x", 100), status: 400},
		"binary":             {sent: "CONNECT \x00", status: 400},
		"empty line":         {sent: "\r\n" + first + host + "\r\n", status: 400},
		"only LF":            {sent: "CONNECT worker-1:10250 HTTP/1.1\nHost: x\n\n", status: 400},
		"LF in a header":     {sent: first + host + "X: y\nProxy-Authorization: Bearer a\r\n\r\n", status: 400},
		"no version":         {sent: "CONNECT worker-1:10250\r\n\r\n", status: 400},
		"HTTP/0.9":           {sent: "CONNECT worker-1:10250 HTTP/0.9\r\n\r\n", status: 400},
		"HTTP/2":             {sent: "CONNECT worker-1:10250 HTTP/2.0\r\n\r\n", status: 400},
		"two spaces":         {sent: "CONNECT  worker-1:10250 HTTP/1.1\r\n" + host + "\r\n", status: 400},
		"a tab":              {sent: "CONNECT\tworker-1:10250 HTTP/1.1\r\n" + host + "\r\n", status: 400},
		"space behind":       {sent: "CONNECT worker-1:10250 HTTP/1.1 \r\n" + host + "\r\n", status: 400},
		"user information":   {sent: "CONNECT a@worker-1:10250 HTTP/1.1\r\n" + host + "\r\n", status: 400},
		"a path":             {sent: "CONNECT worker-1:10250/x HTTP/1.1\r\n" + host + "\r\n", status: 400},
		"no Host":            {sent: first + "\r\n", status: 400},
		"two Hosts":          {sent: first + host + host + "\r\n", status: 400},
		"two tokens":         {sent: first + host + "Proxy-Authorization: Bearer a\r\nProxy-Authorization: Bearer b\r\n\r\n", status: 400},
		"content":            {sent: first + host + "Content-Length: 5\r\n\r\nhello", status: 400},
		"chunks":             {sent: first + host + "Transfer-Encoding: chunked\r\n\r\n", status: 400},
		"folded":             {sent: first + host + "X: y\r\n z\r\n\r\n", status: 400},
		"space before colon": {sent: first + "Host : x\r\n\r\n", status: 400},
		"no name":            {sent: first + host + ": x\r\n\r\n", status: 400},
		"no colon":           {sent: first + host + "X\r\n\r\n", status: 400},
		"NUL in a value":     {sent: first + host + "X: \x00\r\n\r\n", status: 400},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, length, refused := ParseHead([]byte(c.sent))
			if c.status != 0 {
				g.Expect(refused).NotTo(BeNil())
				g.Expect(refused.Status).To(Equal(c.status), refused.Error())
				g.Expect(length).To(BeZero())
				return
			}
			g.Expect(refused).To(BeNil())
			g.Expect(r.Authority.String()).To(Equal("worker-1:10250"))
			g.Expect(r.Token).To(Equal(c.token))
			g.Expect(c.sent[length:]).To(Equal(c.rest))
		})
	}
}

// FuzzHead: bytes that arrive one after the other are read as those that arrive at once, and all is decided within MaxHead.
func FuzzHead(f *testing.F) {
	f.Add([]byte("CONNECT worker-1:10250 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Bearer a.b\r\n\r\nrest"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\x16\x03\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, length, refused := ParseHead(b)
		if len(b) >= MaxHead && length == 0 && refused == nil {
			t.Fatal("neither a request nor refused")
		}
		if length > MaxHead || length > len(b) || refused != nil && (length != 0 || r != (Request{})) {
			t.Fatalf("%v, %d, %v", r, length, refused)
		}
		for i := range b {
			before, n, no := ParseHead(b[:i])
			switch {
			case n > 0 && (i < length || before != r):
				t.Fatalf("the first %d bytes are %v", i, before)
			case no != nil && refused == nil:
				t.Fatalf("the first %d bytes are refused: %v", i, no)
			case n > 0 || no != nil:
				return
			}
		}
	})
}
