// Package containerd writes the configuration of a containerd of the testbed, for nodes of a cluster and for workers.
package containerd

import "fmt"

// PauseImage is the name of the sandbox image.
const PauseImage = "localhost/pause:1"

// Paths are the paths that a containerd uses, as it sees them.
type Paths struct {
	Root, State string // directories for persistent data, and for data that is only needed while it runs
	Socket      string // the CRI endpoint, without unix://
	CNIBin      string // directory of the CNI plugins
	CNIConf     string // directory of their configuration
	Runc        string // the program
}

// Config returns the configuration. As with CRI-O on OpenShift, a pod cannot use low ports unless it sets the sysctl for that.
func (p Paths) Config() string {
	return fmt.Sprintf(`version = 3
root = "%[1]s"
state = "%[2]s"
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "%[3]s"

[ttrpc]
  address = "%[3]s.ttrpc"

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "%[4]s"

[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  enable_unprivileged_icmp = false
  enable_unprivileged_ports = false
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true
  # The default, 1s, reads the cgroup files of all containers each second: a fifth of two cores with three hosted clusters.
  stats_collect_period = "10m"

  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["%[5]s"]
    conf_dir = "%[6]s"
    max_conf_num = 1

  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"

    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        BinaryName = "%[7]s"
        SystemdCgroup = false
`, p.Root, p.State, p.Socket, PauseImage, p.CNIBin, p.CNIConf, p.Runc)
}
