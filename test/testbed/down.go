// How a cluster is removed, from what is found on the host: nothing is believed
// that an Up killed half-way could have left out.

package testbed

import (
	"context"
	"errors"
)

// Down ends all processes of the cluster and removes its network namespaces,
// cgroups, mounts and state directory.
func (c *Cluster) Down(ctx context.Context) error { return errors.New("not built yet") }
