package recording

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/golden"
)

// TestGoldenDemo: docs/demo.svg is the picture of docs/demo.cast, which make demo records.
func TestGoldenDemo(t *testing.T) {
	g := NewWithT(t)
	docs := filepath.Join("..", "..", "docs")
	cast, err := os.Open(filepath.Join(docs, "demo.cast"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = cast.Close() })
	svg, err := SVG(cast)
	g.Expect(err).NotTo(HaveOccurred())
	golden.Check(t, filepath.Join(docs, "demo.svg"), []byte(svg))
}

// TestPictureOfARecording: lines appear in their order, pauses are short, long lines are wrapped, and the newest line stays in the picture.
func TestPictureOfARecording(t *testing.T) {
	g := NewWithT(t)
	recorded, err := read(strings.NewReader(`{"version":2,"width":4,"height":2}
[0.5,"o","a<b\r\nab"]
[60,"o","cdef\r\n\r\n"]
`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(recorded.lines).To(Equal([]line{{"a<b", 0.5}, {"abcd", 1.2}, {"ef", 1.2}, {"", 1.2}}))
	g.Expect(recorded.scrolling()).To(And(ContainSubstring("63.16%{transform:translateY(-17px)}"), HaveSuffix("to{transform:translateY(-34px)}}\n")))
	svg, err := SVG(strings.NewReader("{\"width\":4,\"height\":2}\n[0.5,\"o\",\"a<b\\r\\n\"]\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(svg).To(And(ContainSubstring(">a&lt;b</text>"), Not(ContainSubstring("keyframes s"))))
	_, err = SVG(strings.NewReader("{}\n[1]\n"))
	g.Expect(err).To(MatchError(ContainSubstring("recording: event [1]")))
}
