// This file draws a picture as lines of text, each of at most 100 columns. Text, SVG and the page have the same lines.

package picture

import (
	"fmt"
	"io"
	"strings"
)

// columns is how wide the text is, at most.
const columns = 100

// A line is one line of a drawing, in printable ASCII.
type line struct {
	text string
	// of is what the line shows. Zero: it is a title, or only a part of the way.
	of shown
	// class is how SVG shows the line, besides the state.
	class string
}

// A drawing is a picture from top to bottom.
type drawing []line

// writeText draws p.
func (p picture) writeText(w io.Writer) error {
	var out strings.Builder
	for _, l := range p.drawing() {
		fmt.Fprintln(&out, l.text)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// drawing is p as lines.
func (p picture) drawing() (d drawing) {
	d.title("title", "HostedCluster "+p.Cluster)
	for _, n := range p.Networks {
		d.title("", "")
		d.title("head", "Network "+n.Name+", "+n.CIDR)
		d.title("", "")
		d.title("head", "  VMs")
		d.rows("    %-18s %s", n.VMs)
		d.title("", "     |")
		d.rows("     |  %-12s %s", n.Serves)
		d.title("", "     v")
		d.title("head", "  Edges")
		d.rows("    %-8s %s", n.Edges)
		d.ports(n.Ports, n.Refused)
		if len(n.Callers) == 0 {
			continue
		}
		d.title("", "")
		d.title("head", "  Callers in the management cluster")
		d.rows("    %-20s %s", n.Callers)
		d.ports(n.Opens, n.RefusedToCaller)
	}
	return d
}

// add draws text about one thing.
func (d *drawing) add(of shown, class, text string) {
	for _, l := range broken(ascii(text), columns) {
		*d = append(*d, line{strings.TrimRight(l, " "), of, class})
	}
}

func (d *drawing) title(class, text string) { d.add(shown{}, class, text) }

// rows draws each thing in one row. Format has its name and its note.
func (d *drawing) rows(format string, all []shown) {
	for _, x := range all {
		d.add(x, "", fmt.Sprintf(format, x.Name, x.Note))
	}
}

// ports draws where addresses lead, and what is refused.
func (d *drawing) ports(ports []port, refused []string) {
	width := nameWidth(ports)
	for _, p := range ports {
		d.title("", "     |")
		d.title("head", "     +-- "+p.Address)
		for _, x := range p.Paths {
			d.path(x, width)
		}
	}
	if len(refused) > 0 {
		d.title("", "     |")
	}
	sign := "x"
	for _, r := range refused {
		d.title("refused", "     "+sign+"     "+r)
		sign = " "
	}
}

// path draws each name of x in a line of its own. The last one, if there is room, is next to where they lead.
func (d *drawing) path(x path, width int) {
	class, names, target := "", x.names(), x.target()
	if x.Outside || x.Direct {
		class = "outside"
	}
	of := shown{Why: strings.Join(names, ", ") + ": " + x.Backend.Why, State: x.Backend.State}
	last, room := names[len(names)-1], columns-len("     |      --> ")-len(target)
	if names = names[:len(names)-1]; max(width, len(last)) > room {
		names, last = append(names, last), ""
	}
	for _, name := range names {
		d.add(of, class, "     |     "+name)
	}
	d.add(of, class, fmt.Sprintf("     |     %-*s --> %s", max(0, min(width, room)), last, target))
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

// broken is a line as lines of at most so many characters: between words, else after a sign in a word, else anywhere. Those that
// follow have the indentation of the first, or the line of the drawing.
func broken(text string, most int) (out []string) {
	lead := "           "
	if strings.HasPrefix(text, "     |") {
		lead = "     |     "
	}
	for len(text) > most {
		at := most
		for _, signs := range []string{",/.-", " "} {
			if i := strings.LastIndexAny(text[:most], signs); i > most/2 {
				at = i + 1
			}
		}
		out, text = append(out, text[:at]), lead+text[at:]
	}
	return append(out, text)
}
