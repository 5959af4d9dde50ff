// This file writes files as a whole.

package sharedfiles

import "os"

// Replace writes b to file, and to a second file with the suffix ".new". A reader never sees a
// part.
func Replace(file string, b []byte) error {
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
