// This file draws a picture as SVG, and as an HTML page that loads nothing. Things have colored frames, and explanations as
// tooltips.

package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

// Sizes in pixels.
const (
	lineHeight, boxHeight, margin = 22, 20, 24
	// charWidth is the width of a character. The font is monospace.
	charWidth = 7.3
	// framed is the distance of a frame from its text.
	framed = 5
)

// ways are the ends of the way's line in SVG path syntax, by line.way.
var ways = map[string]string{"|": "", "v": "m-4 -8 l4 8 l4 -8", "+--": "m0 -11 h20"}

const style = `svg{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:#fff;color:#1d2733}
text{fill:#1d2733}.title text,.head text{font-weight:bold}.head text{fill:#51606f}
rect{fill:#f3f5f7;stroke:#8a97a5;rx:4}.good rect{fill:#e6f4ea;stroke:#2e7d4f}.bad rect{fill:#fdeaea;stroke:#b3261e}.outside rect{stroke-dasharray:3 2}
path{fill:none;stroke:#8a97a5;stroke-width:1.2}.good .to{stroke:#2e7d4f}.bad .to{stroke:#b3261e;stroke-dasharray:4 3}
g:hover>rect{stroke-width:2.4}g:hover>.to{stroke-width:2.8}.refused text{fill:#b3261e}
@media(prefers-color-scheme:dark){svg{background:#12181f}text{fill:#e3e8ee}.head text{fill:#9fb0c0}rect{fill:#1d2733;stroke:#5d6b79}
.good rect{fill:#12301f}.bad rect{fill:#3a1614}.refused text{fill:#ff9a92}}`

func (p picture) document() string { return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + p.svg() }

const pageStyle = `body{margin:0}svg{width:100%;height:auto;max-width:1000px;display:block;margin:0 auto}`

// page returns an HTML page. Its Content-Security-Policy permits the two styles by their hashes, and nothing else.
func (p picture) page() string {
	return fmt.Sprintf(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src %s %s">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<style>%s</style>
%s</html>
`, permitted(pageStyle), permitted(style), markupless("oooi: "+p.Cluster), pageStyle, p.svg())
}

// permitted returns the source expression of a Content-Security-Policy for style.
func permitted(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (p picture) svg() string {
	var out bytes.Buffer
	lines := p.drawing()
	for i, l := range lines {
		l.svg(&out, margin+i*lineHeight)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img">`+"\n<title>%s</title>\n<style>%s</style>\n%s</svg>\n",
		at(columns)+margin, margin+len(lines)*lineHeight+margin, markupless("HostedCluster "+p.Cluster), style, out.String())
}

func at(column int) float64 { return margin + charWidth*float64(column) }

func (l line) svg(w io.Writer, y int) {
	fmt.Fprintf(w, `<g class="%s">`, strings.TrimSpace(string(l.of.State)+" "+l.class))
	if l.of.Why != "" {
		fmt.Fprintf(w, "<title>%s</title>", markupless(l.of.Why))
	}
	if end, is := ways[l.way]; is {
		fmt.Fprintf(w, `<path d="M%.1f %d v%d %s"/>`, at(wayColumn)+charWidth/2, y, lineHeight, end)
	}
	l.part(w, l.text, l.column, y)
	if l.target != "" {
		fmt.Fprintf(w, `<path class="to" d="M%.1f %d H%.1f"/>`, at(l.column+len(l.text))+framed, y+boxHeight/2, at(l.targetColumn)-framed)
		l.part(w, l.target, l.targetColumn, y)
	}
	fmt.Fprint(w, "</g>\n")
}

// part writes text, which is a part of l. The text begins at parameter column, in the line at height y. It adds a frame
// if l shows a thing.
func (l line) part(w io.Writer, text string, column, y int) {
	if text == "" {
		return
	}
	if l.of.State != "" {
		fmt.Fprintf(w, `<rect x="%.1f" y="%d" width="%.1f" height="%d"/>`, at(column)-framed, y, charWidth*float64(len(text))+2*framed, boxHeight)
	}
	fmt.Fprintf(w, `<text x="%.1f" y="%d" xml:space="preserve">%s</text>`, at(column), y+14, markupless(text))
}

func markupless(text string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(command.Printable(text))) // Writes to a Buffer never fail.
	return out.String()
}
