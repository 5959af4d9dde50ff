// This file waits until a daemon serves. Errors contain the end of its log.

package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cldmnky/oooi/test/testbed/await"
)

// Await calls holds until it returns nil, for at most [await.Patience] and as long as the daemon runs. what names the condition for
// the error, which contains the end of the daemon's log.
func Await(ctx context.Context, what, dir, daemon string, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, await.Patience)
	defer cancel()
	var last error
	err := await.Poll(ctx, await.Patience, func() (bool, error) {
		if last = holds(ctx); last != nil && Pid(dir, daemon) == 0 {
			return false, fmt.Errorf("%s ended", daemon)
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w: %w\n%s", what, err, last, LogTail(dir, daemon, 15))
	}
	return nil
}

// LogTail returns the path of a daemon's log, and at most lines lines from its end.
func LogTail(dir, daemon string, lines int) string {
	path := filepath.Join(dir, "log", daemon+".log")
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return path + ":\n" + strings.Join(all[max(0, len(all)-lines):], "\n")
}
