// How a cluster is removed, from what is found on the host: nothing is believed
// that an Up killed half-way could have left out.

package testbed

import (
	"context"
	"errors"
)

// Down is [Cluster.Down] for a cluster that may be there only in parts.
func Down(ctx context.Context, o Options) error {
	c, err := open(o)
	if err != nil {
		return err
	}
	return c.Down(ctx)
}

// Down ends all processes of the cluster and removes its network namespaces,
// cgroups, mounts and state directory.
func (c *Cluster) Down(ctx context.Context) error { return errors.New("not built yet") }
