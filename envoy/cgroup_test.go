// This file runs a test's Envoy with the memory of a container, and reads the peak.

package envoy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

// A cgroup has a limit of memory, for programs and for their sockets.
type cgroup struct {
	dir string
	// peaks are files whose sum is the most that was used so far.
	peaks []string
}

// newCgroup makes a cgroup of version 2, or of version 1, which counts sockets apart. An error means that the kernel or the
// container of the test permits neither.
func newCgroup(name string, limit uint64) (cgroup, error) {
	const root = "/sys/fs/cgroup"
	most := strconv.FormatUint(limit, 10)
	controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err == nil && strings.Contains(string(controllers), "memory") {
		c := cgroup{filepath.Join(root, name), []string{"memory.peak"}}
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0)
		return c, c.make(map[string]string{"memory.max": most})
	}
	c := cgroup{filepath.Join(root, "memory", name), []string{"memory.max_usage_in_bytes", "memory.kmem.tcp.max_usage_in_bytes"}}
	return c, c.make(map[string]string{"memory.limit_in_bytes": most, "memory.kmem.tcp.limit_in_bytes": most})
}

func (c cgroup) make(files map[string]string) error {
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return err
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0); err != nil {
			return errors.Join(err, os.Remove(c.dir))
		}
	}
	return nil
}

// peak is the most memory that was used, in bytes.
func (c cgroup) peak() (sum uint64, err error) {
	for _, file := range c.peaks {
		text, err := os.ReadFile(filepath.Join(c.dir, file))
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// confine limits Envoy to so much memory in bytes, before it has a connection. The function returns the most that Envoy and
// its sockets had. Without a cgroup it is a sum that was read every 0.1 s.
func (w *world) confine(t *testing.T, memory uint64) (peak func() uint64) {
	t.Helper()
	g := NewWithT(t)
	c, err := newCgroup(fmt.Sprintf("oooi-envoy-%d", w.envoy.Process.Pid), memory)
	if err != nil {
		t.Logf("no cgroup limits Envoy here: %v", err)
		return w.sampled(t)
	}
	t.Cleanup(func() {
		_ = w.envoy.Process.Kill()
		g.Eventually(func() error { return os.Remove(c.dir) }, patient).Should(Succeed())
	})
	g.Expect(os.WriteFile(filepath.Join(c.dir, "cgroup.procs"), []byte(strconv.Itoa(w.envoy.Process.Pid)), 0)).To(Succeed())
	return func() uint64 {
		most, err := c.peak()
		g.Expect(err).NotTo(HaveOccurred())
		return most
	}
}

// sampled returns the most that Envoy and its sockets had when it was read.
func (w *world) sampled(t *testing.T) (peak func() uint64) {
	var mu sync.Mutex
	most, ended, done := uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			if resident, _, err := programs.Memory(w.envoy.Process.Pid); err == nil {
				now := uint64(resident) + uint64(w.sockets(t))
				mu.Lock()
				most = max(most, now)
				mu.Unlock()
			}
			select {
			case <-ended:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() { close(ended); <-done })
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return most
	}
}
