// The images of a cluster: which there are, and what is in them.

package testbed

import (
	"context"
	"errors"
)

// LoadImages builds the images of those names ("oooi" is localhost/oooi:dev,
// "envoy" is localhost/envoy:dev) and imports those the node does not have as they are.
func (c *Cluster) LoadImages(ctx context.Context, names ...string) error {
	return errors.New("not built yet")
}
