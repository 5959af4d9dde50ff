// Down after an Up that was killed: whatever it had made by then is gone.

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// upOnly makes the test binary an Up of the cluster it names, to be killed.
const upOnly = "OOOI_TESTBED_TEST_UP"

func TestMain(m *testing.M) {
	SetDefaultEventuallyTimeout(await.Patience)
	if name := os.Getenv(upOnly); name != "" {
		if _, err := Up(context.Background(), Options{Name: name, Nodes: 2, Log: os.Stderr}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestDownAfterUpWasKilled(t *testing.T) {
	needRoot(t)
	_, err := build.Programs(t.Context(), progress.New(os.Stderr), build.Base()...) // not what is to be killed
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	c, err := open(Options{Name: fmt.Sprintf("k%d", os.Getpid())})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, tc := range []struct {
		when   string
		exists string // Up is killed as soon as this is there
	}{
		{"the network namespace is made", c.NetNS()},
		{"etcd is started", filepath.Join(c.Dir, "pid", "etcd")},
		{"containerd listens", c.node().Runtime.Socket()},
		{"kubelet is started", filepath.Join(c.node().Runtime.Dir, "pid", "kubelet")},
		{"a second node's kubelet is started", filepath.Join(c.numbered(2).Runtime.Dir, "pid", "kubelet")},
		{"pods run", filepath.Join(c.node().Runtime.Dir, "ipam", "pods", "last_reserved_ip.0")},
	} {
		t.Run(tc.when, func(t *testing.T) {
			g := NewWithT(t)
			t.Cleanup(func() { _ = Down(context.Background(), Options{Name: c.Name}) })
			var said bytes.Buffer
			up := exec.Command(os.Args[0])
			up.Env = append(os.Environ(), upOnly+"="+c.Name)
			up.Stderr, up.WaitDelay = &said, outputAfter
			g.Expect(up.Start()).To(Succeed())
			g.Eventually(func() error { _, err := os.Stat(tc.exists); return err }).
				WithPolling(time.Millisecond).Should(Succeed(), "Up said: %s", &said)
			g.Expect(up.Process.Signal(syscall.SIGKILL)).To(Succeed())
			g.Expect(up.Wait()).NotTo(Succeed(), "Up was done before it could be killed")

			g.Expect(Down(t.Context(), Options{Name: c.Name})).To(Succeed())
			g.Expect(leftOf(c)).To(BeEmpty())
		})
	}
}

func TestDownOfNothing(t *testing.T) {
	needRoot(t)
	g := NewWithT(t)
	c, err := open(Options{Name: fmt.Sprintf("n%d", os.Getpid())})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Down(t.Context(), Options{Name: c.Name})).To(Succeed())
	g.Expect(leftOf(c)).To(BeEmpty())
}

// leftOf looks for what is left of a cluster on the host, without what Down depends on.
func leftOf(c *Cluster) []string {
	var left []string
	for _, pattern := range []string{c.Dir + "*", lan.NetNSPath(c.HostName("*")), "/sys/fs/cgroup/*/" + c.HostName("*"), "/sys/fs/cgroup/" + c.HostName("*")} {
		found, _ := filepath.Glob(strings.ReplaceAll(pattern, ".*", "*"))
		left = append(left, found...)
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for _, line := range strings.Split(string(mounts), "\n") {
		if strings.Contains(line, c.Dir) || strings.Contains(line, c.HostName("")) {
			left = append(left, line)
		}
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if bytes.Contains(append(cmdline, environ...), []byte(c.Dir)) {
			left = append(left, fmt.Sprintf("process %s: %q", e.Name(), cmdline))
		}
	}
	return left
}
