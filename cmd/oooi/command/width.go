// This file wraps text for a terminal. Pipes and files get whole lines for grep.

package command

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// helpWidth is the width of help in columns.
const helpWidth = 80

// WriteText writes text for people, and makes it safe for a terminal. It wraps lines at the terminal's width. If w is not
// a terminal, it wraps them at $COLUMNS, if that is set.
func WriteText(w io.Writer, text string) error {
	columns, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			columns = width
		}
	}
	_, err := io.WriteString(w, Wrap(printableLines(text), columns))
	return err
}

// gap matches the space between two cells of a line.
var gap = regexp.MustCompile(`\S  +`)

// Wrap breaks lines of text at spaces, but never breaks a word. Parameter columns is the largest number of characters of
// a line. 0: there is no limit. Two or more spaces in a line separate cells. The rest of a broken line is indented like
// the line or, in a line with two cells, like the second cell. If the second cell begins in the last third of the width,
// the rest is indented like the line. A line with more than two cells is a row of a table, and is not broken.
func Wrap(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		gaps := gap.FindAllStringIndex(line, -1)
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= columns || len(gaps) > 1 {
			out.WriteString(line)
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if len(gaps) == 1 && gaps[0][1] <= columns*2/3 {
			indent = gaps[0][1]
		}
		wrapLine(&out, line, indent, columns)
	}
	return out.String()
}

func wrapLine(out *strings.Builder, line string, indent, columns int) {
	margin := len(line) - len(strings.TrimLeft(line, " "))
	for start := max(margin, indent); ; start = indent {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= columns {
			break
		}
		end := lastSpace(line, start, columns)
		if end < 0 {
			break
		}
		out.WriteString(strings.TrimRight(line[:end], " ") + "\n")
		line = strings.Repeat(" ", indent) + strings.TrimLeft(line[end:], " ")
	}
	out.WriteString(line)
}

// lastSpace returns the position in line of the last space after position start and within the width, parameter
// columns. If there is none, it returns the position of the next space, or -1.
func lastSpace(line string, start, columns int) int {
	at, column := -1, 0
	for i, r := range line {
		if r == ' ' && i > start && (column <= columns || at < 0) {
			at = i
		}
		column++
	}
	return at
}

func wrapHelp(c *cobra.Command) {
	help := c.HelpFunc()
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		out, b := c.OutOrStdout(), &strings.Builder{}
		c.SetOut(b)
		help(c, args)
		c.SetOut(out)
		_, _ = io.WriteString(out, Wrap(b.String(), helpWidth)) // A HelpFunc cannot return an error.
	})
}
