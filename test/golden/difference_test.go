package golden

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestDifferencesLoseNothing: whatever two texts are, the second one is the first
// one and the difference, also where lines repeat.
func TestDifferencesLoseNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		out := &strings.Builder{}
		for range r.IntN(12) {
			fmt.Fprintf(out, "%s%c\n", strings.Repeat(" ", r.IntN(3)), 'a'+rune(r.IntN(3)))
		}
		return out.String()
	}
	for range 5000 {
		base, got := text(), text()
		d := difference("x", "y", []byte(base), []byte(got))
		again, err := apply([]byte(base), d)
		if err != nil || string(again) != got {
			t.Fatalf("base:\n%s\nwant:\n%s\ngot:\n%s\nby:\n%s\n%v", base, got, again, d, err)
		}
	}
}

func TestDifferencesOfStreams(t *testing.T) {
	g := NewWithT(t)
	manifest := func(kind, name, image string) string {
		return fmt.Sprintf("---\nkind: %s\nmetadata:\n  name: %s\nspec:\n  a: 1\n  image: %s\n  z: 1\n", kind, name, image)
	}
	base := manifest("Service", "s", "none") + manifest("Deployment", "one", "x") + manifest("Job", "gone", "x")
	got := manifest("Service", "s", "none") + manifest("Deployment", "one", "y") + manifest("Deployment", "two", "y") + manifest("Pod", "p", "x")
	d := string(difference("lb-ip", "applied.yaml", []byte(base), []byte(got)))
	g.Expect(d).To(Equal(`# applied.yaml of lb-ip with these differences:
=== Service s
=== Deployment one
@@ spec
   a: 1
-  image: x
+  image: y
   z: 1
=== Deployment two, like Deployment one
@@ metadata
 metadata:
-  name: one
+  name: two
 spec:
=== Pod p
@@ 
+kind: Pod
+metadata:
+  name: p
+spec:
+  a: 1
+  image: x
+  z: 1
`))
	again, err := apply([]byte(base), []byte(d))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(again)).To(Equal(got))
}

// TestDifferenceThatDoesNotFit is refused, not applied somewhere else.
func TestDifferenceThatDoesNotFit(t *testing.T) {
	g := NewWithT(t)
	_, err := apply([]byte("a\nb\n"), []byte("# x\n@@ \n a\n-c\n"))
	g.Expect(err).To(HaveOccurred())
}

func TestPatches(t *testing.T) {
	g := NewWithT(t)
	base := "kind: A\nmetadata: {name: x}\nspec: {list: [1, 2], keep: true, gone: 1}\n---\nkind: B\nmetadata: {name: x}\n"
	patch := "# What it shows.\nbase: lb-ip\n---\nkind: A\nmetadata: {name: x}\nspec: {list: [3], gone: null, new: {a: 1, b: null}}\n" +
		"---\n$patch: delete\nkind: B\nmetadata: {name: x}\n---\nkind: C\nmetadata: {name: x}\n"
	out, err := patched([]byte(base), []byte(patch))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(MatchYAML("kind: A\nmetadata: {name: x}\nspec: {list: [3], keep: true, new: {a: 1}}\n---\nkind: C\nmetadata: {name: x}\n"))
	g.Expect(string(out)).To(ContainSubstring("kind: C"))
	g.Expect(string(out)).NotTo(ContainSubstring("kind: B"))
	g.Expect(baseOf([]byte(patch))).To(Equal("lb-ip"))

	_, err = patched([]byte(base), []byte("base: y\n---\n$patch: delete\nkind: Z\nmetadata: {name: x}\n"))
	g.Expect(err).To(HaveOccurred(), "nothing is there to be removed")
}
