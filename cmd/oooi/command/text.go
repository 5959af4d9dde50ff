// This file writes lines that are safe for a terminal, even if values in them come from an attacker.

package command

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Section writes an empty line and title. If n is 0, it writes nothing: no lines follow.
func Section(w io.Writer, title string, n int) {
	if n > 0 {
		Line(w, "")
		Line(w, "%s", title)
	}
}

// Line formats as fmt.Printf does, and writes the result as one line that is safe for a terminal.
func Line(w io.Writer, format string, values ...any) {
	fmt.Fprintln(w, Printable(fmt.Sprintf(format, values...)))
}

// Printable returns s with each character that is not printable replaced by U+FFFD, such as control and bidi characters,
// tabs and newlines. An attacker who controls an edge controls texts in Leases and conditions.
func Printable(s string) string {
	return strings.ReplaceAll(printableLines(s), "\n", string(unicode.ReplacementChar))
}

// printableLines does the same as Printable, but keeps line breaks.
func printableLines(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Complain writes "oooi: " and text to w, standard error. It makes text safe for a terminal: it may contain names from
// files, which no API server has checked.
func Complain(w io.Writer, text string) { fmt.Fprintln(w, "oooi: "+printableLines(text)) }

// Escaped returns the JSON b with each character that is not printable replaced by an escape. JSON allows C1 control and
// bidi characters.
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
