package main

import (
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
)

// TestDHCPStandAlone runs the command on a file, without a cluster. It is not ready
// without its address. Then a real client gets an address, and the same one after a
// restart.
func TestDHCPStandAlone(t *testing.T) {
	netns.Require(t, "udhcpc")
	g := NewWithT(t)
	v := vlan{edge: netns.New(t), machine: netns.New(t)}
	segment := netns.NewSegment(t)
	segment.Attach(t, v.edge, "net1", "", "192.168.100.4/24", "192.168.100.2/32")
	segment.Attach(t, v.machine, "eth0", "02:00:00:00:00:01")
	plan := filepath.Join("..", "..", "test", "scenarios", "lb-ip", "plan.json")
	dir, leases := t.TempDir(), filepath.Join(t.TempDir(), "leases")
	probe := func() string {
		out, _ := command(t, v.edge, "edge", "probe", "dhcp", "--run-dir", dir).CombinedOutput()
		return string(out)
	}
	obtained := regexp.MustCompile(`lease of (\S+) obtained from (\S+),`)
	boot := func() string {
		out := v.machine.Run(t, "udhcpc", "-f", "-n", "-q", "-i", "eth0", "-s", "/bin/true")
		g.Expect(out).To(MatchRegexp(obtained.String()))
		found := obtained.FindStringSubmatch(out)
		g.Expect(found[2]).To(Equal("192.168.100.3"))
		return found[1]
	}
	var first string
	t.Run("first", func(t *testing.T) {
		g := NewWithT(t)
		start(t, v.edge, "dhcp", "--plan", plan, "--run-dir", dir, "--lease-dir", leases)
		g.Eventually(probe, "20s").Should(ContainSubstring("waiting for 192.168.100.3 on interface net1"))
		v.edge.Address(t, "net1", "192.168.100.3/32")
		g.Eventually(probe, "20s").Should(BeEmpty())
		first = boot()
		g.Expect(filepath.Join(leases, first+".json")).To(BeAnExistingFile())
	})
	t.Run("again", func(t *testing.T) {
		g := NewWithT(t)
		start(t, v.edge, "dhcp", "--plan", plan, "--run-dir", dir, "--lease-dir", leases)
		g.Eventually(probe, "20s").Should(BeEmpty())
		g.Expect(boot()).To(Equal(first))
	})
}
