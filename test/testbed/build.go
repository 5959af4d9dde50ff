// Programs built from Go modules into a cache whose keys are all that goes into
// them. What is in the cache is never built again.

package testbed

import (
	"context"
	"errors"
	"io"
)

// Build builds the programs of those names (see programs.go) unless the cache has
// them, one line when each starts and ends, and gives their paths.
func Build(ctx context.Context, log io.Writer, names ...string) (map[string]string, error) {
	return nil, errors.New("not built yet")
}

// Build is like the function and makes the programs known to [Cluster.Bin].
func (c *Cluster) Build(ctx context.Context, names ...string) error {
	return errors.New("not built yet")
}

// EnsurePackages installs the Debian packages that are missing, and says so. Without
// root or apt-get it is an error that names them.
func EnsurePackages(ctx context.Context, log io.Writer, packages ...string) error {
	return errors.New("not built yet")
}
