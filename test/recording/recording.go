// Package recording draws a recording of a terminal (asciicast v2) as an SVG that plays by itself. README.md shows the one of the demo.
package recording

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
)

// In pixels: the height of a line, the width of a character, and the margin.
const lineHeight, charWidth, margin = 17.0, 7.3, 14.0

// longestPause in seconds is how long the picture waits for the next line at most.
const longestPause = 0.7

const style = `svg{font:12px ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;background:#f3f5f7}text{white-space:pre;fill:#1d2733}
.l{animation:l 1ms both}@keyframes l{from{opacity:0}}.s{animation:s steps(1) both}
@media(prefers-color-scheme:dark){svg{background:#161b22}text{fill:#e3e8ee}}
@media(prefers-reduced-motion:reduce){.l,.s{animation-duration:1ms!important;animation-delay:0s!important}}
`

// A line of the terminal, and the time of the picture in seconds at which it appears.
type line struct {
	text string
	at   float64
}

// A terminal is what a recording shows: its size in characters, and its lines.
type terminal struct {
	columns, rows int
	lines         []line
}

// SVG draws the recording in cast. Longer pauses are shortened. A reader that plays no animation sees the first page.
func SVG(cast io.Reader) (string, error) {
	t, err := read(cast)
	if err != nil {
		return "", fmt.Errorf("recording: %w", err)
	}
	width, height := float64(t.columns)*charWidth+2*margin, float64(t.rows)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img">`+"\n<style>%s%s</style>\n", width, height, style, t.scrolling())
	fmt.Fprintf(&b, `<svg y="%.0f" width="%.0f" height="%.0f"><g class="s">`+"\n", margin, width, float64(t.rows)*lineHeight)
	for i, l := range t.lines {
		if strings.TrimSpace(l.text) != "" {
			fmt.Fprintf(&b, `<text class="l" x="%.0f" y="%.0f" xml:space="preserve" style="animation-delay:%.2fs">%s</text>`+"\n",
				margin, float64(i)*lineHeight+13, l.at, html.EscapeString(l.text))
		}
	}
	b.WriteString("</g></svg>\n</svg>\n")
	return b.String(), nil
}

// scrolling is the animation that keeps the newest line in the picture.
func (t terminal) scrolling() string {
	if len(t.lines) <= t.rows {
		return ""
	}
	end := t.lines[len(t.lines)-1].at + longestPause
	var b strings.Builder
	fmt.Fprintf(&b, ".s{animation-duration:%.2fs}@keyframes s{", end)
	for i, l := range t.lines[t.rows:] {
		fmt.Fprintf(&b, "%.2f%%{transform:translateY(%.0fpx)}", 100*l.at/end, -float64(i+1)*lineHeight)
	}
	fmt.Fprintf(&b, "to{transform:translateY(%.0fpx)}}\n", -float64(len(t.lines)-t.rows)*lineHeight)
	return b.String()
}

// read reads a recording whose output ends with a whole line.
func read(cast io.Reader) (terminal, error) {
	d := json.NewDecoder(cast)
	var header struct{ Width, Height int }
	if err := d.Decode(&header); err != nil {
		return terminal{}, err
	}
	t := terminal{columns: header.Width, rows: header.Height}
	var rest string
	var last, now float64
	for {
		var event []any
		if err := d.Decode(&event); err == io.EOF {
			return t, nil
		} else if err != nil {
			return terminal{}, err
		}
		if len(event) != 3 {
			return terminal{}, fmt.Errorf("event %v has not a time, a kind and a text", event)
		}
		at, timed := event[0].(float64)
		text, written := event[2].(string)
		if !timed || !written {
			return terminal{}, fmt.Errorf("event %v has not a time, a kind and a text", event)
		}
		now, last = now+min(at-last, longestPause), at
		whole := strings.Split(rest+text, "\r\n")
		rest = whole[len(whole)-1]
		for _, l := range whole[:len(whole)-1] {
			for _, row := range wrap(l, t.columns) {
				t.lines = append(t.lines, line{row, now})
			}
		}
	}
}

// wrap divides text as a terminal with so many columns does.
func wrap(text string, columns int) (rows []string) {
	r := []rune(text)
	for len(r) > columns {
		rows, r = append(rows, string(r[:columns])), r[columns:]
	}
	return append(rows, string(r))
}
