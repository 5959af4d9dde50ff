// Which names clusters may have, and what on the host is called after one.

package cluster

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestClusterNames(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []string{"", "a", "tb-2"} {
		_, err := open(Options{Name: name})
		g.Expect(err).NotTo(HaveOccurred(), name)
	}
	for _, name := range []string{"..", "a/b", "a.b", "-a", "a-", "A", "abcdefghijklmnopqrstuvwxyz"} {
		_, err := open(Options{Name: name})
		g.Expect(err).To(HaveOccurred(), name)
	}
	t.Setenv("OOOI_TESTBED_DIR", "/var/lib/testbed")
	_, err := open(Options{})
	g.Expect(err).To(MatchError(ContainSubstring("OOOI_TESTBED_DIR")))
	c := &Cluster{Name: "a"}
	g.Expect(c.hostNames([]string{"oooi-a", "oooi-a.w", "oooi-a-b", "oooi-ab", "oooi-b", "a"})).To(Equal([]string{"oooi-a", "oooi-a.w"}))
}
