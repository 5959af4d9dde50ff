// One containerd: its configuration and its mount namespace. Which network it
// serves and its clients are the caller's.

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

// Runtime is a containerd of a node, with a mount namespace of its own in which
// /run, /var/lib and /var/log are private, so that nothing of it is left on the host.
type Runtime struct {
	Dir     string // state directory, short: its Unix sockets are in there
	NetNS   string // path of the network namespace it runs in
	CNIConf string // directory of its CNI configuration
	CNIBin  string // directory of the CNI plugins

	cluster *Cluster
}

// privateDirs are those that a node sees in a way of its own.
func privateDirs() []string { return []string{"/run", "/var/lib", "/var/log"} }

// Runtime is a containerd to be started in that state directory.
func (c *Cluster) Runtime(dir, netns string) Runtime {
	return Runtime{Dir: dir, NetNS: netns, CNIConf: filepath.Join(dir, "net.d"), CNIBin: c.CNIBin(), cluster: c}
}

// Socket is the CRI endpoint, without unix://.
func (r Runtime) Socket() string { return filepath.Join(r.Dir, "c.sock") }

// MountNS is the path of the mount namespace, while containerd runs.
func (r Runtime) MountNS() string {
	return fmt.Sprintf("/proc/%d/ns/mnt", process.Pid(r.Dir, "containerd"))
}

// Command is a program run in the runtime's network and mount namespace.
func (r Runtime) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return r.cluster.enter(ctx, []string{"--net=" + r.NetNS, "--mount=" + r.MountNS()}, name, args)
}

// Import loads an image tar.
func (r Runtime) Import(ctx context.Context, tar string) error {
	_, err := host.Output(r.ctr(ctx, "images", "import", tar))
	return err
}

func (r Runtime) ctr(ctx context.Context, args ...string) *exec.Cmd {
	return r.Command(ctx, r.cluster.Bin("ctr"), append([]string{"-a", r.Socket(), "-n", "k8s.io"}, args...)...)
}

// enterPrivate makes the mount namespace that it is run in the node's, and becomes
// containerd. Its arguments: the state directory, containerd and its arguments.
// The other clusters' network namespaces are let go, else they would live on in here.
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

// Start writes the configuration, starts containerd and waits until it answers. The
// sandbox image, localhost/pause:1, is loaded.
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
