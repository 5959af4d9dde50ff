// Progress as lines with the time since the start. It decides nothing.

package testbed

import (
	"fmt"
	"io"
	"time"
)

// progress writes a line for each step to w, with the seconds since now.
func progress(w io.Writer) func(format string, args ...any) {
	if w == nil {
		return func(string, ...any) {}
	}
	start := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(w, "%6.1fs %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
}
