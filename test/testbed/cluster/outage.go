// This file stops and starts the management cluster's API server, and no other part of the control plane.

package cluster

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/cldmnky/oooi/test/testbed/process"
)

const apiServer = "kube-apiserver"

// StopAPIServer ends the API server as a crash does. It does nothing if the API server does not run.
func (c *Cluster) StopAPIServer(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		pid := process.Pid(c.Dir, apiServer)
		if pid == 0 {
			c.say("%s stopped", apiServer)
			return nil
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s, process %d, does not end: %w", apiServer, pid, ctx.Err())
		case <-tick.C:
		}
	}
}

// StartAPIServer starts the API server, unless it runs, and waits until it serves.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	if process.Pid(c.Dir, apiServer) == 0 {
		daemons := c.controlPlane()
		i := slices.IndexFunc(daemons, func(d process.Daemon) bool { return d.Name == apiServer })
		if _, err := c.Start(daemons[i]); err != nil {
			return err
		}
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	return process.Await(ctx, "API server ready", c.Dir, apiServer, apiReady(client))
}
