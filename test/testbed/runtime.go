// One containerd: its configuration and its mount namespace. Which network it
// serves and who uses it is the caller's.

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Runtime is a containerd of a node, with a mount namespace of its own in which
// /run, /var/lib and /var/log are private, so that nothing of it is left on the host.
type Runtime struct {
	Dir     string // state directory, short: its Unix sockets are in there
	NetNS   string // path of the network namespace it runs in
	CNIConf string // directory of its CNI configuration
	CNIBin  string // directory of the CNI plugins

	cluster *Cluster
}

// Runtime is a containerd to be started in that state directory.
func (c *Cluster) Runtime(dir, netns string) Runtime {
	return Runtime{Dir: dir, NetNS: netns, CNIConf: filepath.Join(dir, "net.d"), CNIBin: c.CNIBin(), cluster: c}
}

// Socket is the CRI endpoint, without unix://.
func (r Runtime) Socket() string { return filepath.Join(r.Dir, "c.sock") }

// MountNS is the path of the mount namespace, while containerd runs.
func (r Runtime) MountNS() string {
	return fmt.Sprintf("/proc/%d/ns/mnt", Pid(r.Dir, "containerd"))
}

// Command is a program run in the runtime's network and mount namespace.
func (r Runtime) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return r.cluster.enter(ctx, []string{"--net=" + r.NetNS, "--mount=" + r.MountNS()}, name, args)
}

// Import loads an image tar.
func (r Runtime) Import(ctx context.Context, tar string) error {
	_, err := output(r.Command(ctx, r.cluster.Bin("ctr"), "-a", r.Socket(), "-n", "k8s.io", "images", "import", tar))
	return err
}

// Start writes the configuration, starts containerd and waits until it answers.
// A pod's sandbox image, localhost/pause:1, is imported.
func (r Runtime) Start(ctx context.Context) error { return errors.New("not built yet") }
