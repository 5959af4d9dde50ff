// How a cluster is removed, from what is found on the host: nothing is believed
// that an Up killed half-way could have left out.

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

// Down is [Cluster.Down] for a cluster that may be there only in parts.
func Down(ctx context.Context, o Options) error {
	c, err := open(o)
	if err != nil {
		return err
	}
	return c.Down(ctx)
}

// Down ends all processes of the cluster and removes its network namespaces,
// cgroups, mounts and state directory. One that is not there is no error.
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
	// a process that waits for this lock checks that the file still has that name
	return os.Remove(c.Dir + ".lock")
}

// remove does all steps, also when one fails: the next Down has the less to do.
func (c *Cluster) remove() error {
	// at once, without a good-bye: nothing of it is kept, and kubelet would start
	// again what another ends
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
		return err // the state directory holds what the next Down needs
	}
	return os.RemoveAll(c.Dir)
}

// hostNames are those of the names that belong to the cluster.
func (c *Cluster) hostNames(names []string) []string {
	var ours []string
	for _, n := range names {
		if n == c.HostName("") || strings.HasPrefix(n, c.HostName("")+".") {
			ours = append(ours, n)
		}
	}
	return ours
}

// unmountBelow takes away what is mounted at dir or below, the last mount first.
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
