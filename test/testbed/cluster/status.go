// This file reports the state of a cluster. It changes nothing.

package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/cldmnky/oooi/test/testbed/process"
)

// Status says in words which processes of the cluster with this name run ("" means "tb"). It returns an error if the cluster
// is not healthy.
func Status(ctx context.Context, name string) (string, error) {
	c, err := open(Options{Name: name})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "cluster %s in %s, network namespace %s\n", c.Name, c.Dir, c.NetNS())
	line := func(dir, daemon string) {
		if pid := process.Pid(dir, daemon); pid != 0 {
			fmt.Fprintf(&text, "  %-24s runs as process %d\n", daemon, pid)
		} else {
			fmt.Fprintf(&text, "  %-24s does not run\n", daemon)
		}
	}
	for _, d := range c.controlPlane() {
		line(c.Dir, d.Name)
	}
	for _, n := range c.Nodes() {
		fmt.Fprintf(&text, "%s, %s, network namespace %s\n", n.Name, n.IP, n.Runtime.NetNS)
		if n.pulled() {
			text.WriteString("  its cable is pulled\n")
		}
		for _, d := range n.daemons() {
			line(n.Runtime.Dir, d)
		}
	}
	if err := c.healthy(ctx); err != nil {
		return text.String(), err
	}
	pods, err := c.Kubectl(ctx, "get", "nodes,pods", "-A")
	text.Write(pods)
	return text.String(), err
}
