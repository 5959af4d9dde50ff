// This file says which rows of a test run.

package programs

import "os"

// Long reports whether the long rows run, too: `make test-long` sets OOOI_LONG. What is not long runs in `make test`.
func Long() bool { return os.Getenv("OOOI_LONG") != "" }
