package mustgather

import (
	"context"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secret is in each object and log that is collected.
const secret = "hunter2"

// planted are lines with a secret in each form that programs print.
func planted() []string {
	return []string{
		"proxy http://u:pa/ss" + secret + "@proxy.example.com",
		"proxy http://u:p#ss" + secret + "?x@proxy.example.com:3128 failed",
		`proxy http://u:p"` + secret + `@proxy.example.com`,
		"proxy http://u:p'" + secret + "@proxy.example.com",
		"proxy http://u:p " + secret + "@proxy.example.com",
		"proxy //u:" + secret + "@proxy.example.com",
		"proxy u:" + secret + "@proxy.example.com:3128",
		"proxy http://u:a@" + secret + "@proxy.example.com",
		"proxy http://u:12/" + secret + "@proxy.example.com",
		"proxy http://" + secret + "@proxy.example.com",
		"proxy http://:" + secret + "@proxy.example.com",
		"Authorization: Bearer " + secret,
		"authorization: basic " + secret,
		"token sha256~" + secret,
		"GET /?access_token=" + secret + "&x=1",
		"token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ" + secret + ".c2ln" + secret,
		`{"url":"http://u:p\"` + secret + `@proxy.example.com","b":"c"}`,
	}
}

// TestCredentialsAreLeftOut: of URLs and headers, in each form. What is no credential stays.
func TestCredentialsAreLeftOut(t *testing.T) {
	g := NewWithT(t)
	for _, line := range planted() {
		g.Expect(withoutCredentials(line)).NotTo(ContainSubstring(secret))
		g.Expect(withoutCredentials(line)).To(ContainSubstring(leftOut), line)
	}
	for text, want := range map[string]string{
		"http://user:hunter2@proxy.example.com:3128/": "http://LEFT-OUT@proxy.example.com:3128/",
		"http://user@proxy.example.com":               "http://LEFT-OUT@proxy.example.com",
		`"https://a:b@c/d","https://e:f@g"`:           `"https://LEFT-OUT@c/d","https://LEFT-OUT@g"`,
		`{"a":"http://u:p@h","b":"x@y"}`:              `{"a":"http://LEFT-OUT@h","b":"x@y"}`,
		"http://u:p@h:1 and quay.io/a@sha256:01":      "http://LEFT-OUT@h:1 and quay.io/a@sha256:01",
		"first http://u:p@h\nsecond x@y":              "first http://LEFT-OUT@h\nsecond x@y",
	} {
		g.Expect(withoutCredentials(text)).To(Equal(want))
	}
	for _, same := range []string{
		"https://proxy.example.com/a@b",
		"mail blue@example.com about http://x",
		"quay.io/oooi@sha256:0123",
		"quay.io/oooi:v0.1.0@sha256:0123",
		`Get "http://proxy.example.com:3128": lookup failed, image quay.io/a@sha256:01`,
		"https://quay.io: no route, mail a@b",
		"http://[::1]:80/x@y",
		`{"https":"http://proxy.example.com:3128","mail":"a@b"}`,
		"the bearer of this lease",
		"// it holds: a@b",
	} {
		g.Expect(withoutCredentials(same)).To(Equal(same))
	}
}

// TestLogsKeepTheirEnd: the newest lines of a long log are collected, whole.
func TestLogsKeepTheirEnd(t *testing.T) {
	g := NewWithT(t)
	logs := func(context.Context, client.ObjectKey, string, bool) (io.ReadCloser, error) {
		line := strings.Repeat("x", 1023) + "\n"
		return io.NopCloser(strings.NewReader("first\n" + strings.Repeat(line, logBytes/1024+3) + "last\n")), nil
	}
	text, err := readLog(t.Context(), logs, client.ObjectKey{}, "dhcp", false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(text)).To(BeNumerically("<=", logBytes+100))
	g.Expect(len(text)).To(BeNumerically(">", logBytes-2048))
	g.Expect(string(text[:100])).To(HavePrefix("(older lines omitted)\nxxx"))
	g.Expect(string(text[len(text)-10:])).To(HaveSuffix("xxxx\nlast\n"))
}
