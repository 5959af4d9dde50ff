// Package patience is how long tests wait for what must happen. Importing it sets Gomega's own limit, which is one
// second: a busy machine needs more, and a test that passes waits no longer than it must.
package patience

import (
	"time"

	"github.com/onsi/gomega"
)

// Limit is how long a test waits before it says that something did not happen. It says nothing about how quick the
// product is: that belongs to a bench.
const Limit = time.Minute

func init() { gomega.SetDefaultEventuallyTimeout(Limit) }
