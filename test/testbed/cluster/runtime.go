// This file configures and starts one containerd in a mount namespace of its own.

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cldmnky/oooi/test/testbed/containerd"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// A Runtime is the containerd of a node. Its mount namespace has its own /run, /var/lib and /var/log, so that no files remain
// on the host.
type Runtime struct {
	Dir     string // state directory; its path must be short, because it contains Unix sockets
	NetNS   string // path of its network namespace
	CNIConf string // directory of its CNI configuration
	CNIBin  string // directory of the CNI plugins

	cluster *Cluster
}

// privateDirs returns the directories of which each node has its own.
func privateDirs() []string { return []string{"/run", "/var/lib", "/var/log"} }

// Runtime returns a containerd with state directory dir, in the network namespace at path netns. It does not start it.
func (c *Cluster) Runtime(dir, netns string) Runtime {
	return Runtime{Dir: dir, NetNS: netns, CNIConf: filepath.Join(dir, "net.d"), CNIBin: c.CNIBin(), cluster: c}
}

// Socket returns the path of the CRI socket.
func (r Runtime) Socket() string { return filepath.Join(r.Dir, "c.sock") }

// MountNS returns the path of the mount namespace. It exists while containerd runs.
func (r Runtime) MountNS() string {
	return fmt.Sprintf("/proc/%d/ns/mnt", process.Pid(r.Dir, "containerd"))
}

// Command returns a command that runs in the runtime's network and mount namespace.
func (r Runtime) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return r.cluster.enter(ctx, []string{"--net=" + r.NetNS, "--mount=" + r.MountNS()}, name, args)
}

// Import imports the image in a tar archive.
func (r Runtime) Import(ctx context.Context, tar string) error {
	_, err := host.Output(r.ctr(ctx, "images", "import", tar))
	return err
}

func (r Runtime) ctr(ctx context.Context, args ...string) *exec.Cmd {
	return r.Command(ctx, r.cluster.Bin("ctr"), append([]string{"-a", r.Socket(), "-n", "k8s.io"}, args...)...)
}

// enterPrivate is a shell script that runs in a new mount namespace. It mounts the node's own directories, and replaces itself
// by containerd. Its arguments are the state directory, containerd and the arguments of containerd. It unmounts the network
// namespaces of other clusters, which would otherwise exist here for as long as this cluster.
const enterPrivate = `
dir=$1; shift
umount -l -R /run/netns 2>/dev/null || :
mount -t tmpfs -o mode=755 tmpfs /run
for d in /var/lib /var/log; do
	own=$dir/private$d
	mkdir -p "$own/upper" "$own/work"
	mount -t overlay -o "lowerdir=$d,upperdir=$own/upper,workdir=$own/work" overlay "$d"
done
mount --make-rshared /
exec "$@"
`

// Start writes the configuration, starts containerd, waits until it answers, and loads the sandbox image localhost/pause:1.
func (r Runtime) Start(ctx context.Context) error {
	for _, dir := range []string{r.Dir, r.CNIConf} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	config := filepath.Join(r.Dir, "containerd.toml")
	if err := os.WriteFile(config, []byte(r.config()), 0o644); err != nil {
		return err
	}
	_, err := r.cluster.Start(process.Daemon{Name: "containerd", Dir: r.Dir, NetNS: r.NetNS, Args: []string{
		"unshare", "--mount", "--propagation", "private", "--",
		"sh", "-ec", enterPrivate, "sh", r.Dir, r.cluster.Bin("containerd"), "-c", config,
	}})
	if err != nil {
		return err
	}
	err = process.Await(ctx, "containerd answers", r.Dir, "containerd", func(ctx context.Context) error {
		return r.ctr(ctx, "version").Run()
	})
	if err != nil {
		return err
	}
	pause, err := r.cluster.image(ctx, "pause")
	if err != nil {
		return err
	}
	return r.Load(ctx, pause)
}

func (r Runtime) config() string {
	return containerd.Paths{
		Root: filepath.Join(r.Dir, "root"), State: filepath.Join(r.Dir, "state"), Socket: r.Socket(),
		CNIBin: r.CNIBin, CNIConf: r.CNIConf, Runc: r.cluster.Bin("runc"),
	}.Config()
}
