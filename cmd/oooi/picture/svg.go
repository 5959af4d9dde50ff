// This file draws a picture as SVG, and as an HTML page that loads nothing: no script, font or image.

package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

// Sizes in pixels.
const (
	rowHeight, boxHeight, margin = 26, 20, 24
	// lineHeight is between the lines of one text.
	lineHeight              = 16
	headHeight, titleHeight = 28, 40
	// charWidth is that of the font, which has one width for all characters.
	charWidth    = 7.3
	pictureWidth = 1400
	// lineLength is how many characters fit into one line of the picture.
	lineLength = 182
)

// The columns of the picture: where they begin, and how wide they are.
type column struct{ x, width int }

func columnOfVMs() column      { return column{margin, 290} }
func columnOfEdges() column    { return column{350, 320} }
func columnOfNames() column    { return column{720, 395} }
func columnOfBackends() column { return column{1150, 226} }

// style is that of the picture. Hovering over a path shows all of it.
const style = `svg{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:#fff;color:#1d2733}
text{fill:#1d2733}.title{font-size:16px;font-weight:bold}.head{font-weight:bold;fill:#51606f}.note{fill:#51606f}
rect{fill:#f3f5f7;stroke:#8a97a5;rx:4}.vlan{fill:#fafbfc;stroke:#c5ccd3;stroke-dasharray:5 4;rx:8}
.good rect{fill:#e6f4ea;stroke:#2e7d4f}.bad rect{fill:#fdeaea;stroke:#b3261e}.outside rect{stroke-dasharray:3 2}
path{fill:none;stroke:#8a97a5;stroke-width:1.2}.good path{stroke:#2e7d4f}.bad path{stroke:#b3261e;stroke-dasharray:4 3}
g:hover>rect{stroke-width:2.4}g:hover>path{stroke-width:2.8}.refused text{fill:#b3261e}
@media(prefers-color-scheme:dark){svg{background:#12181f}text{fill:#e3e8ee}.head,.note{fill:#9fb0c0}rect{fill:#1d2733;stroke:#5d6b79}
.vlan{fill:#161d26;stroke:#3a4652}.good rect{fill:#12301f}.bad rect{fill:#3a1614}.refused text{fill:#ff9a92}}`

// A drawing is SVG that grows downwards.
type drawing struct {
	bytes.Buffer
	y int
}

// writeSVG draws p as a whole document.
func (p picture) writeSVG(w io.Writer) error {
	_, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+p.svg())
	return err
}

// pageStyle is that of the page around the picture.
const pageStyle = `body{margin:0}svg{width:100%;height:auto;max-width:1750px;display:block;margin:0 auto}`

// writeHTML draws p as a page. Its policy permits the two styles by their hashes, and nothing else.
func (p picture) writeHTML(w io.Writer) error {
	_, err := fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src %s %s">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<style>%s</style>
%s</html>
`, permitted(pageStyle), permitted(style), markupless("oooi: "+p.Cluster), pageStyle, p.svg())
	return err
}

// permitted is a style as a policy permits it.
func permitted(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// svg draws p.
func (p picture) svg() string {
	d := &drawing{y: margin}
	for _, l := range wrapped("HostedCluster "+p.Cluster, lineLength*2/3) {
		d.text(margin, d.y+16, "title", l)
		d.y += titleHeight / 2
	}
	d.y += titleHeight / 2
	for _, n := range p.Networks {
		d.network(n)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`+"\n<title>%s</title>\n<style>%s</style>\n%s</svg>\n",
		pictureWidth, d.y, markupless("HostedCluster "+p.Cluster), style, d.String())
}

// network draws n below what is there.
func (d *drawing) network(n pictured) {
	for _, l := range wrapped("Network "+n.Name+", "+n.CIDR, lineLength) {
		d.text(margin, d.y+14, "head", l)
		d.y += lineHeight
	}
	d.y += headHeight - lineHeight
	d.flow(flow{"VMs", "What VMs ask for", n.VMs, append(append([]shown{}, n.Edges...), n.Serves...), n.Ports, n.serving(), "The VLAN of the VMs: " + n.Name})
	d.refused(n.Refused)
	d.y += margin
	if len(n.Callers) > 0 {
		d.y += margin
		d.flow(flow{"Callers in the management cluster", "What callers ask for", n.Callers, n.Edges, n.Opens, n.serving(), ""})
		d.refused(n.RefusedToCaller)
		d.y += margin
	}
}

// A flow is one way through edges.
type flow struct {
	// from and asks are the titles of the first column and of the names.
	from, asks  string
	left, edges []shown
	ports       []port
	// serving is the row of the edge through which the way leads.
	serving int
	// vlan is what the frame around the first two columns is. Empty: it has none.
	vlan string
}

// flow draws f below what is there.
func (d *drawing) flow(f flow) {
	var body drawing
	top := headHeight
	for _, c := range []struct {
		column
		title string
	}{{columnOfVMs(), f.from}, {columnOfEdges(), "Edges"}, {columnOfNames(), f.asks}, {columnOfBackends(), "Where it leads"}} {
		body.text(c.x, 14, "head", c.title)
	}
	y := top
	for _, x := range f.left {
		y = body.box(columnOfVMs(), y, x)
	}
	bottom, y := y, top
	for _, x := range f.edges {
		y = body.box(columnOfEdges(), y, x)
	}
	bottom, y = max(bottom, y), top
	through := top + rowHeight*f.serving + boxHeight/2
	for _, p := range f.ports {
		for _, l := range fitting(p.Address, columnOfBackends().x+columnOfBackends().width-columnOfNames().x) {
			body.text(columnOfNames().x, y+14, "head", l)
			y += lineHeight
		}
		y += rowHeight - lineHeight
		for _, x := range p.Paths {
			y = body.path(y, through, x)
		}
	}
	bottom = max(bottom, y)
	fmt.Fprintf(d, `<g transform="translate(0 %d)">`+"\n", d.y)
	if f.vlan != "" {
		fmt.Fprintf(d, `<rect class="vlan" x="%d" y="%d" width="%d" height="%d"><title>%s</title></rect>`+"\n",
			margin-12, -8, columnOfEdges().x+columnOfEdges().width-margin+24, bottom+12, markupless(f.vlan))
	}
	fmt.Fprintf(d, `<path d="M%d %d L%d %d"/>`+"\n", columnOfVMs().x+columnOfVMs().width, top+boxHeight/2, columnOfEdges().x, through)
	d.Write(body.Bytes())
	d.WriteString("</g>\n")
	d.y += bottom + margin
}

// refused draws sentences in red.
func (d *drawing) refused(all []string) {
	for _, r := range all {
		for i, l := range wrapped("Refused: "+r, lineLength) {
			if i > 0 {
				l = "         " + l
			}
			fmt.Fprintf(d, `<g class="refused">`)
			d.text(margin, d.y, "", l)
			d.WriteString("</g>\n")
			d.y += 18
		}
	}
}

// serving is the number of the first edge that is not known to be lost.
func (n pictured) serving() int {
	return max(0, slices.IndexFunc(n.Edges, func(e shown) bool { return e.State != bad }))
}

// path draws names at y, from an edge and to where they lead. It returns what is below.
func (d *drawing) path(y, edge int, x path) int {
	class := string(x.Backend.State)
	if x.Outside || x.Direct {
		class += " outside"
	}
	from, to := columnOfNames(), columnOfBackends()
	var names []string
	for _, name := range x.names() {
		names = append(names, fitting(name, from.width)...)
	}
	target := fitting(x.Backend.Name, to.width)
	height := boxHeight + lineHeight*(max(len(names), len(target))-1)
	middle := y + height/2
	fmt.Fprintf(d, `<g class="%s"><title>%s</title>`, class, markupless(strings.Join(x.names(), ", ")+": "+x.Backend.Why))
	if !x.Direct {
		fmt.Fprintf(d, `<path d="M%d %d C%d %d %d %d %d %d"/>`, columnOfEdges().x+columnOfEdges().width, edge,
			from.x-20, edge, columnOfEdges().x+columnOfEdges().width+20, middle, from.x, middle)
	}
	fmt.Fprintf(d, `<path d="M%d %d H%d"/>`, from.x+from.width, middle, to.x)
	fmt.Fprintf(d, `<rect x="%d" y="%d" width="%d" height="%d"/>`, from.x, y, from.width, height)
	d.lines(from.x+8, y+14, names)
	fmt.Fprintf(d, `<rect x="%d" y="%d" width="%d" height="%d"/>`, to.x, y, to.width, height)
	d.lines(to.x+8, y+14, target)
	d.WriteString("</g>\n")
	return y + height + rowHeight - boxHeight
}

// box draws one thing at y, and returns what is below.
func (d *drawing) box(c column, y int, x shown) int {
	lines := fitting(x.Name+"  "+x.Note, c.width)
	height := boxHeight + lineHeight*(len(lines)-1)
	fmt.Fprintf(d, `<g class="%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d"/>`, x.State, markupless(x.Why), c.x, y, c.width, height)
	d.lines(c.x+8, y+14, lines)
	d.WriteString("</g>\n")
	return y + height + rowHeight - boxHeight
}

// lines draws lines of one text.
func (d *drawing) lines(x, y int, all []string) {
	for i, l := range all {
		d.text(x, y+i*lineHeight, "", l)
	}
}

func (d *drawing) text(x, y int, class, text string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(d, `<text x="%d" y="%d"%s xml:space="preserve">%s</text>`, x, y, class, markupless(text))
}

// fitting is text as lines that fit into a box.
func fitting(text string, width int) []string {
	return wrapped(text, int(float64(width-16)/charWidth))
}

// markupless is text in XML or HTML, and never markup.
func markupless(text string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(command.Printable(text))) // A Buffer takes all.
	return out.String()
}
