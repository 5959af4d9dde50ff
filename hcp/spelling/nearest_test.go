package spelling_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/spelling"
)

// TestNearest: a typing error finds the intended name, and another name does not.
func TestNearest(t *testing.T) {
	known := []string{"blue", "green", "mtu", "cidr", "vlan100", "vlan200", "clusters-blue"}
	for name, want := range map[string]string{
		"blue": "blue", "bleu": "blue", "Blue": "blue", "blu": "blue", "gren": "green", "vlan10": "vlan100", "vlan1000": "vlan100", "vlan020": "vlan200",
		"cluster-blue": "clusters-blue", "mut": "mtu", "cdir": "cidr",
		"": "", "red": "", "a": "", "storage": "", "teal": "", "blueprint": "",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, ok := spelling.Nearest(name, known)
			g.Expect(got).To(Equal(want))
			g.Expect(ok).To(Equal(want != ""))
		})
	}
	g := NewWithT(t)
	g.Expect(spelling.Distance("", "abc")).To(Equal(3))
	g.Expect(spelling.Distance("abcd", "badc")).To(Equal(2), "two swaps")
	_, ok := spelling.Nearest("blue", nil)
	g.Expect(ok).To(BeFalse())
}
