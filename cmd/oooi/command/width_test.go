package command_test

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

// TestWrap: prose fits a terminal. Tables, and words to copy, stay whole.
func TestWrap(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short\n", "short\n"},
		{"one two three four five six seven eight nine\n", "one two three four\nfive six seven eight\nnine\n"},
		{"  one two three four five six\n", "  one two three four\n  five six\n"},
		{"  key   one two three four five\n", "  key   one two\n        three four\n        five\n"},
		{"  a long first column   one two\n", "  a long first\n  column   one two\n"},
		{"https://example.com/a-long-page see\n", "https://example.com/a-long-page\nsee\n"},
		{"A   B   C and more words than fit in it\n", "A   B   C and more words than fit in it\n"},
		{"ääää ööööö üüüüü ßß\nx", "ääää ööööö üüüüü ßß\nx"},
	} {
		NewWithT(t).Expect(command.Wrap(c.text, 20)).To(Equal(c.want))
		NewWithT(t).Expect(command.Wrap(c.text, 0)).To(Equal(c.text))
	}
}

// TestWriteText: a pipe gets whole lines, unless COLUMNS is set.
func TestWriteText(t *testing.T) {
	written := func() string {
		var b bytes.Buffer
		NewWithT(t).Expect(command.WriteText(&b, "one two three\n")).To(Succeed())
		return b.String()
	}
	t.Setenv("COLUMNS", "")
	NewWithT(t).Expect(written()).To(Equal("one two three\n"))
	t.Setenv("COLUMNS", "8")
	NewWithT(t).Expect(written()).To(Equal("one two\nthree\n"))
}
