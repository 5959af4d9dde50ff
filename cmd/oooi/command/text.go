// This file writes lines that are safe for a terminal, whatever values from the cluster they contain.

package command

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Section writes a title if n lines follow.
func Section(w io.Writer, title string, n int) {
	if n > 0 {
		Line(w, "")
		Line(w, "%s", title)
	}
}

// Line writes one line. The values of format may contain anything.
func Line(w io.Writer, format string, values ...any) {
	fmt.Fprintln(w, Printable(fmt.Sprintf(format, values...)))
}

// Printable returns s in a form that is safe for a terminal. A Lease or a condition may contain anything, because an
// attacker may control an edge. Characters that are not printable, such as control and bidi characters, tabs and
// newlines, become U+FFFD.
func Printable(s string) string {
	return strings.ReplaceAll(printableLines(s), "\n", string(unicode.ReplacementChar))
}

// printableLines is Printable for a text of several lines, which it keeps.
func printableLines(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Complain writes to standard error what is wrong. The text may contain anything: names in files are not those of an API server.
func Complain(w io.Writer, text string) { fmt.Fprintln(w, "oooi: "+printableLines(text)) }

// Escaped returns the same JSON with an escape for each character that is not printable. JSON allows unescaped C1
// control and bidi characters.
func Escaped(b []byte) []byte {
	var out []byte
	for _, r := range string(b) {
		switch {
		case unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		default:
			for _, half := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, half)
			}
		}
	}
	return out
}
