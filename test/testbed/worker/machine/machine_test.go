// This file shows that a machine is one whole: it is there at once, and it goes
// with everything that was started in it, however deep.

package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/process"
)

// needRoot leaves the test out where namespaces cannot be made; on CI that is a fault.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("needs root")
	}
	t.Skip("needs root")
}

func testMachine(t *testing.T, part string) *Machine {
	t.Helper()
	needRoot(t)
	name := fmt.Sprintf("oooi-t%d.%s", os.Getpid(), part)
	dir := filepath.Join(t.TempDir(), "machine")
	m, err := SwitchOn(t.Context(), name, dir)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = SwitchOff(context.WithoutCancel(t.Context()), name, dir) })
	return m
}

func TestMachineHasNamespacesOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "own")

	out, err := m.Output(t.Context(), "sh", "-c", "hostname from-dhcp; hostname; ls /run/netns 2>/dev/null; ls -d /proc/[0-9]* | wc -l; ip -o link | wc -l")
	g.Expect(err).NotTo(HaveOccurred())
	lines := strings.Fields(string(out))
	g.Expect(lines).To(HaveLen(3), "host name, processes, links; the host's namespaces are not seen: %s", out)
	g.Expect(lines[0]).To(Equal("from-dhcp"))
	processes, err := strconv.Atoi(lines[1])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(processes).To(BeNumerically("<", 8))
	g.Expect(lines[2]).To(Equal("1"), "lo alone")
	host, err := os.Hostname()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(host).NotTo(Equal("from-dhcp"))
}

func TestMachineKnowsNoNamesOfTheHost(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "names")
	out, err := m.Output(t.Context(), "cat", "/etc/resolv.conf", "/etc/hosts")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(Equal("127.0.0.1 localhost\n"))
}

func TestSwitchOffLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "off")
	g.Expect(process.MakeCgroup(m.Name)).To(Succeed())
	g.Expect(m.Start("deep", nil, "sh", "-c", "setsid sleep 7777 & wait")).To(Succeed())
	g.Eventually(func() []int { return processesOf(m.NetNS(), m.Dir) }).Should(HaveLen(5), "init and its sleep, nsenter, sh, sleep")

	g.Expect(SwitchOff(t.Context(), m.Name, m.Dir)).To(Succeed())

	g.Expect(processesOf(m.NetNS(), m.Dir)).To(BeEmpty())
	g.Expect(m.NetNS()).NotTo(BeAnExistingFile())
	g.Expect(m.Dir).NotTo(BeADirectory())
	left, _ := filepath.Glob("/sys/fs/cgroup/*/" + m.Name)
	g.Expect(left).To(BeEmpty())
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(mounts)).NotTo(ContainSubstring(m.Name))
	g.Expect(SwitchOff(t.Context(), m.Name, m.Dir)).To(Succeed(), "a second time is no error")
}

// The init may die and leave the rest of a switching on behind: the name and the
// directory are enough to clean up, and to begin again.
func TestSwitchOnAfterAnInterruptedOne(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "again")
	g.Expect(os.Remove(filepath.Join(m.Dir, "init.pid"))).To(Succeed())
	_, err := Attach(m.Name, m.Dir)
	g.Expect(err).To(HaveOccurred())

	again, err := SwitchOn(t.Context(), m.Name, m.Dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.PID).NotTo(Equal(m.PID))
	attached, err := Attach(m.Name, m.Dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attached).To(Equal(again))
	g.Expect(inNamespace(m.PID, m.NetNS())).To(BeFalse(), "the first init is gone")
}
