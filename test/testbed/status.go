// What is to be said of a cluster. It changes nothing.

package testbed

import (
	"context"
	"errors"
)

// Status says in words what runs of the cluster; an error when it is not healthy.
func Status(ctx context.Context, name string) (string, error) {
	return "", errors.New("not built yet")
}
