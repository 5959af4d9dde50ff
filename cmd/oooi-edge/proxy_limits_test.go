package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestContainerMemory: as containers and hosts of both versions of cgroups show it.
func TestContainerMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"version 2, in a container":   {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "805306368\n"}, 768 << 20},
		"version 2, without a limit":  {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"version 2, the pod has less": {map[string]string{"proc/self/cgroup": "0::/pod/envoy\n", "sys/fs/cgroup/pod/memory.max": "1024\n", "sys/fs/cgroup/pod/envoy/memory.max": "2048\n"}, 1024},
		"version 1, in a container": {map[string]string{
			"proc/self/cgroup": "5:cpu:/\n4:memory:/kubepods/pod\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "2048\n",
		}, 2048},
		"version 1, without a limit": {map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		"no cgroups": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g, root := NewWithT(t), t.TempDir()
			for file, text := range c.files {
				at := filepath.Join(root, file)
				g.Expect(os.MkdirAll(filepath.Dir(at), 0o755)).To(Succeed())
				g.Expect(os.WriteFile(at, []byte(text), 0o600)).To(Succeed())
			}
			g.Expect(containerMemory(root)).To(Equal(c.want))
		})
	}
}
