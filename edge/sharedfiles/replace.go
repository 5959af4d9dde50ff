// This file writes files as a whole.

package sharedfiles

import "os"

// Replace replaces the content of file with b, through a second file with the suffix ".new". A
// reader sees the old content or b, never a part.
func Replace(file string, b []byte) error {
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
