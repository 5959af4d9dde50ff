package manifest_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/manifest"
)

// TestAliasesThatExpand: few aliases that would expand to gigabytes are a fault. Those that people write are read.
func TestAliasesThatExpand(t *testing.T) {
	const object = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		document string
		read     int
	}{
		"of a long text":    {object + "a: &a " + strings.Repeat("x", 200<<10) + "\nb: [" + strings.Repeat("*a,", 100_000) + "]\n", 0},
		"of aliases":        {object + "a: &a [x,x,x,x,x,x,x,x]\nb: &b [" + strings.Repeat("*a,", 60) + "]\nc: &c [" + strings.Repeat("*b,", 60) + "]\nd: [" + strings.Repeat("*c,", 60) + "]\n", 0},
		"in its own anchor": {object + "a: &a {b: *a}\n", 0},
		"of labels":         {object + "a: &a {b: c, d: e}\nf: [" + strings.Repeat("*a,", 500) + "]\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects, faults := manifest.Read("a.yaml", []byte(c.document))
			g.Expect(objects).To(HaveLen(c.read))
			g.Expect(faults).To(HaveLen(1 - c.read))
		})
	}
}

// TestErrorsAreShort: a file does not decide how long an error is.
func TestErrorsAreShort(t *testing.T) {
	g := NewWithT(t)
	_, faults := manifest.Read("a.yaml", []byte(strings.Repeat("a: 1\n", 10_000)))
	g.Expect(faults).NotTo(BeEmpty())
	for _, f := range faults {
		g.Expect(len(f.Error())).To(BeNumerically("<", 1_000))
	}
}
