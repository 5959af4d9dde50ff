// This file removes a cluster. It relies only on what it finds on the host, because an Up that was killed may not have
// recorded everything.

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// Down does the same as [Cluster.Down], for a cluster of which only parts may exist.
func Down(ctx context.Context, o Options) error {
	c, err := open(o)
	if err != nil {
		return err
	}
	return c.Down(ctx)
}

// Down ends all processes of the cluster, and removes its network namespaces, cgroups, mounts and state directory. If the
// cluster does not exist, Down does nothing.
func (c *Cluster) Down(ctx context.Context) error {
	unlock, err := host.Lock(ctx, c.Dir+".lock", nil)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.remove(); err != nil {
		return err
	}
	c.say("cluster %s is down", c.Name)
	// A process that waits for this lock checks that the file still exists.
	return os.Remove(c.Dir + ".lock")
}

// remove does all steps even if one of them fails, so that as little as possible remains.
func (c *Cluster) remove() error {
	// SIGKILL to all processes: nothing of them is kept, and kubelet would restart containers that end before it does.
	err := process.Kill(c.Dir, 0)
	for _, name := range c.hostNames(process.CgroupNames()) {
		err = errors.Join(err, process.RemoveCgroup(name))
	}
	namespaces, failed := lan.NetNSNames()
	err = errors.Join(err, failed)
	for _, name := range c.hostNames(namespaces) {
		err = errors.Join(err, lan.DeleteNetNS(name))
	}
	err = errors.Join(err, unmountBelow(c.Dir))
	if err != nil {
		return err // The next Down needs the state directory.
	}
	return os.RemoveAll(c.Dir)
}

// hostNames returns those of names that belong to the cluster.
func (c *Cluster) hostNames(names []string) []string {
	var ours []string
	for _, n := range names {
		if n == c.HostName("") || strings.HasPrefix(n, c.HostName("")+".") {
			ours = append(ours, n)
		}
	}
	return ours
}

// unmountBelow unmounts everything at dir or below, the last mount first.
func unmountBelow(dir string) error {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer file.Close()
	var points []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		const mountPoint = 4 // proc(5), counted from 0
		if fields := strings.Fields(lines.Text()); len(fields) > mountPoint {
			if p := fields[mountPoint]; p == dir || strings.HasPrefix(p, dir+string(filepath.Separator)) {
				points = append([]string{p}, points...)
			}
		}
	}
	for _, p := range points {
		if err := syscall.Unmount(p, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			return fmt.Errorf("unmount %s: %w", p, err)
		}
	}
	return nil
}
