// This file draws a picture as text of at most 100 columns.

package picture

import (
	"fmt"
	"io"
	"strings"
)

// columns is how wide the text is, at most.
const columns = 100

// writeText draws p.
func (p picture) writeText(w io.Writer) error {
	var out strings.Builder
	line := func(format string, args ...any) {
		text := ascii(fmt.Sprintf(format, args...))
		for _, l := range broken(text, columns) {
			fmt.Fprintln(&out, strings.TrimRight(l, " "))
		}
	}
	line("HostedCluster %s", p.Cluster)
	for _, n := range p.Networks {
		line("")
		line("Network %s, %s", n.Name, n.CIDR)
		line("")
		line("  VMs")
		for _, x := range n.VMs {
			line("    %-18s %s", x.Name, x.Note)
		}
		line("     |")
		for _, x := range n.Serves {
			line("     |  %-12s %s", x.Name, x.Note)
		}
		line("     v")
		line("  Edges")
		for _, x := range n.Edges {
			line("    %-8s %s", x.Name, x.Note)
		}
		writePorts(line, n.Ports, n.Refused)
		if len(n.Callers) == 0 {
			continue
		}
		line("")
		line("  Callers in the management cluster")
		for _, x := range n.Callers {
			line("    %-20s %s", x.Name, x.Note)
		}
		writePorts(line, n.Opens, n.RefusedToCaller)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// writePorts draws where addresses lead, and what is refused.
func writePorts(line func(string, ...any), ports []port, refused []string) {
	width := nameWidth(ports)
	for _, p := range ports {
		line("     |")
		line("     +-- %s", p.Address)
		for _, x := range p.Paths {
			names := x.names()
			for _, name := range names[:len(names)-1] {
				line("     |     %s", name)
			}
			last, target := names[len(names)-1], x.target()
			if len("     |      --> ")+max(width, len(last))+len(target) > columns {
				line("     |     %s", last)
				last = ""
			}
			line("     |     %-*s --> %s", max(0, min(width, columns-len("     |      --> ")-len(target))), last, target)
		}
	}
	if len(refused) > 0 {
		line("     |")
	}
	for i, r := range refused {
		lead := "     x     "
		if i > 0 {
			lead = "           "
		}
		for _, l := range wrapped(r, columns-len(lead)) {
			line("%s%s", lead, l)
			lead = "           "
		}
	}
}

// target is where a path leads, in words.
func (p path) target() string {
	out := p.Backend.Name
	if p.Outside {
		out += " (outside)"
	}
	if p.Backend.Note != "" {
		out += ": " + p.Backend.Note
	}
	return out
}

// nameWidth is how wide the column of names is, so that most backends are below each other.
func nameWidth(ports []port) (width int) {
	for _, p := range ports {
		for _, x := range p.Paths {
			for _, name := range x.Names {
				width = max(width, len(name))
			}
		}
	}
	return min(width, columns/2)
}

// ascii is text with "?" in place of each character that is not printable ASCII.
func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// broken is a line as lines of at most so many characters. Those that follow have the indentation of the first, or the
// line of the drawing.
func broken(text string, most int) (out []string) {
	lead := "           "
	if strings.HasPrefix(text, "     |") {
		lead = "     |     "
	}
	for len(text) > most {
		at := most
		if i := strings.LastIndexAny(text[:most], " ,/.-"); i > most/2 {
			at = i + 1
		}
		out, text = append(out, text[:at]), lead+text[at:]
	}
	return append(out, text)
}

// wrapped breaks text into lines of at most so many characters: between words, or within a word that is longer.
func wrapped(text string, most int) (out []string) {
	line := []rune{}
	for _, field := range strings.Fields(text) {
		word := []rune(field)
		if len(line) > 0 && len(line)+1+len(word) > most {
			out, line = append(out, string(line)), nil
		}
		for ; len(word) > most; word = word[most:] {
			out = append(out, string(word[:most]))
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, word...)
	}
	return append(out, string(line))
}
