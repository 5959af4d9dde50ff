// This file reads Envoy's counters.

package envoy

import (
	"io"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// get is what Envoy's admin interface answers.
func (w *world) get(t *testing.T, path string) []byte {
	t.Helper()
	g := NewWithT(t)
	answer, err := w.admin.HTTP.Get("http://envoy" + path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return b
}

// counter is one of Envoy's.
func (w *world) counter(t *testing.T, name string) string {
	t.Helper()
	b := w.get(t, "/stats")
	for line := range strings.Lines(string(b)) {
		if n, v, _ := strings.Cut(strings.TrimSpace(line), ": "); n == name {
			return v
		}
	}
	t.Fatalf("Envoy has no counter %s:\n%s", name, b)
	return ""
}

// count is counter as a number.
func (w *world) count(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(w.counter(t, name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return n
}
