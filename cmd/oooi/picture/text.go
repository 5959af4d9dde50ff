// This file draws a picture as text.

package picture

import (
	"fmt"
	"strings"
)

func (p picture) text() string {
	var out strings.Builder
	for _, l := range p.drawing() {
		fmt.Fprintln(&out, l)
	}
	return out.String()
}

// String returns l with each part in its column.
func (l line) String() string {
	out := ""
	if l.way != "" {
		out = strings.Repeat(" ", wayColumn) + l.way
	}
	out = fmt.Sprintf("%-*s%s", l.column, out, l.text)
	if l.target != "" {
		out = fmt.Sprintf("%-*s--> %s", l.targetColumn-len("--> "), out, l.target)
	}
	return strings.TrimRight(out, " ")
}
