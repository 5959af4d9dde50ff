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

// Printable makes s safe for a terminal: characters that are not printable, such as control and bidi characters, tabs
// and newlines, become U+FFFD. An attacker may control an edge, and so the text in a Lease or a condition.
func Printable(s string) string {
	return strings.ReplaceAll(printableLines(s), "\n", string(unicode.ReplacementChar))
}

// printableLines keeps line breaks.
func printableLines(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Complain writes to standard error. The text may contain anything: an API server did not check names in files.
func Complain(w io.Writer, text string) { fmt.Fprintln(w, "oooi: "+printableLines(text)) }

// Escaped returns JSON with an escape for each character that is not printable: JSON allows C1 control and bidi
// characters.
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
