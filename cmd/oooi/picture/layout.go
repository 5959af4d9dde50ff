// This file lays out a picture as lines of at most 100 columns, for text and SVG.

package picture

import (
	"fmt"
	"strings"
)

// columns is the width of the drawing. The way is the vertical line from VMs through edges to ports, at wayColumn. The names
// of a port begin at nameColumn.
const columns, wayColumn, nameColumn = 100, 5, 11

// A line is one line of a drawing, in printable ASCII.
type line struct {
	// way is the part of the way on this line: "|", "v" or "+--".
	way string
	// text begins at column, and target at targetColumn. An arrow connects the two.
	column       int
	text         string
	targetColumn int
	target       string
	// Field of is the thing that the line shows. Zero: the line is a title, or only a part of the way.
	of shown
	// class is the class for SVG, in addition to that of the state.
	class string
}

type drawing []line

func (p picture) drawing() (d drawing) {
	d.add(line{text: "HostedCluster " + p.Cluster, class: "title"})
	for _, n := range p.Networks {
		d.add(line{}, head(0, "Network "+n.Name+", "+n.CIDR), line{}, head(2, "VMs"))
		d.rows(line{column: 4}, 18, n.VMs)
		d.add(line{way: "|"})
		d.rows(line{way: "|", column: 8}, 12, n.Serves)
		d.add(line{way: "v"}, head(2, "Edges"))
		d.rows(line{column: 4}, 8, n.Edges)
		d.ports(n.Ports, n.Refused)
		if len(n.Callers) == 0 {
			continue
		}
		d.add(line{}, head(2, "Callers in the management cluster"))
		d.rows(line{column: 4}, 20, n.Callers)
		d.ports(n.Opens, n.RefusedToCaller)
	}
	return d
}

func head(column int, text string) line { return line{column: column, text: text, class: "head"} }

// add adds lines. Text that does not fit in a line continues in the next one.
func (d *drawing) add(lines ...line) {
	for _, l := range lines {
		l.text, l.target = ascii(l.text), ascii(l.target)
		long, column := &l.text, l.column
		if l.target != "" {
			long, column = &l.target, l.targetColumn
		}
		rest := line{way: strings.ReplaceAll(l.way, "+--", "|"), column: max(column, nameColumn), of: l.of, class: l.class}
		*long, rest.text = broken(*long, columns-column)
		*d = append(*d, l)
		if rest.text != "" {
			d.add(rest)
		}
	}
}

// rows adds a copy of l for each thing in parameter all, with the thing's name and note. The name is padded to width
// columns.
func (d *drawing) rows(l line, width int, all []shown) {
	for _, x := range all {
		l.text, l.of = fmt.Sprintf("%-*s %s", width, x.Name, x.Note), x
		d.add(l)
	}
}

// ports adds each port with its paths, and then the sentences in parameter refused.
func (d *drawing) ports(ports []port, refused []string) {
	width := 0
	for _, p := range ports {
		for _, x := range p.Paths {
			for _, name := range x.Names {
				width = min(max(width, len(name)), columns/2)
			}
		}
	}
	for _, p := range ports {
		d.add(line{way: "|"}, line{way: "+--", column: wayColumn + 4, text: p.Address, class: "head"})
		for _, x := range p.Paths {
			d.path(x, width)
		}
	}
	for i, r := range refused {
		l := line{column: nameColumn, text: r, class: "refused"}
		if i == 0 {
			d.add(line{way: "|"})
			l.column, l.text = wayColumn, fmt.Sprintf("%-*s%s", nameColumn-wayColumn, "x", r)
		}
		d.add(l)
	}
}

// path adds a line for each name of x. The target is next to the last name if it fits there, else below. Names are padded
// to width columns.
func (d *drawing) path(x path, width int) {
	names, target := x.Names, x.target()
	l := line{way: "|", column: nameColumn, of: shown{Why: strings.Join(names, ", ") + ": " + x.Backend.Why, State: x.Backend.State}}
	if x.Outside || x.Direct {
		l.class = "outside"
	}
	last, room := names[len(names)-1], columns-nameColumn-len(" --> ")-len(target)
	if names = names[:len(names)-1]; max(width, len(last)) > room {
		names, last = append(names, last), ""
	}
	for _, l.text = range names {
		d.add(l)
	}
	l.text, l.target, l.targetColumn = last, target, nameColumn+max(0, min(width, room))+len(" --> ")
	d.add(l)
}

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

func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// broken splits text. Parameter most limits the columns of result first. broken splits between words, else after a
// punctuation mark, else anywhere.
func broken(text string, most int) (first, rest string) {
	if len(text) <= most {
		return strings.TrimRight(text, " "), ""
	}
	at := most
	for _, signs := range []string{",/.-", " "} {
		if i := strings.LastIndexAny(text[:most], signs); i > most/2 {
			at = i + 1
		}
	}
	return strings.TrimRight(text[:at], " "), text[at:]
}
