// Waiting for a condition, and saying what a daemon said when it does not come.

package testbed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Patience is how long the testbed and its tests wait for what must happen: a machine that compiles at the same time
// needs minutes for what takes seconds on a calm one. It says nothing about how quick the product is.
const Patience = 15 * time.Minute

// await asks until the condition holds, for as long as the daemon lives that it depends on, up to Patience. The error
// shows the end of the daemon's log.
func await(ctx context.Context, what, dir, daemon string, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		if Pid(dir, daemon) == 0 {
			return fmt.Errorf("%s: %s ended: %w\n%s", what, daemon, err, logTail(dir, daemon))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w\n%s", what, ctx.Err(), err, logTail(dir, daemon))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// logTail is the end of a daemon's log.
func logTail(dir, daemon string) string {
	path := filepath.Join(dir, "log", daemon+".log")
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	const enough = 15
	if len(lines) > enough {
		lines = lines[len(lines)-enough:]
	}
	return path + ":\n" + strings.Join(lines, "\n")
}
