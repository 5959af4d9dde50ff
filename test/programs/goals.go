// This file lists the goals of benches.

package programs

import (
	"fmt"
	"strings"
	"testing"
)

// Goals lists which goals of a bench are met, as Markdown. One that is missed fails the test.
type Goals struct {
	T    testing.TB
	list strings.Builder
}

// Goal adds one.
func (g *Goals) Goal(met bool, format string, args ...any) {
	g.T.Helper()
	verdict := "met"
	if !met {
		verdict = "missed"
		g.T.Errorf("missed: "+format, args...)
	}
	fmt.Fprintf(&g.list, "- %s: %s\n", verdict, fmt.Sprintf(format, args...))
}

// String returns the list.
func (g *Goals) String() string { return g.list.String() }
