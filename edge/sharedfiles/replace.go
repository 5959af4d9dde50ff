// This file replaces the files in which an edge keeps what outlives a container, and through which
// its containers inform each other.

package sharedfiles

import "os"

// Replace writes b to file. A reader sees the previous content or b, and never a part. It
// needs a second file with the suffix ".new".
func Replace(file string, b []byte) error {
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
