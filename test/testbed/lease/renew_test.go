// A real client keeps its address, and an outage of its server is a gap.

package lease

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

const udhcpd = `
start 192.168.50.10
end 192.168.50.20
interface eth0
lease_file %[1]s/leases
pidfile %[1]s/pid
option subnet 255.255.255.0
option lease 60
min_lease 10
`

func TestRenewals(t *testing.T) {
	netns.Require(t, "udhcpc", "busybox")
	g := NewWithT(t)
	segment, server, machine := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, server, "eth0", "", "192.168.50.1/24")
	segment.Attach(t, machine, "eth0", "")
	dir := t.TempDir()
	config := filepath.Join(dir, "udhcpd.conf")
	g.Expect(os.WriteFile(config, fmt.Appendf(nil, udhcpd, dir), 0o644)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "leases"), nil, 0o644)).To(Succeed())
	serve := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "nsenter", "--net="+lan.NetNSPath(server.Name), "--", "busybox", "udhcpd", "-f", config)
		g.Expect(cmd.Start()).To(Succeed())
		return cmd
	}
	d := serve()

	client, err := NewClient(t.Context(), lan.NetNSPath(machine.Name), "eth0", dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(client.Address.String()).To(HavePrefix("192.168.50."))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := measure.Start(ctx, measure.Options{Renew: client.Renew, Every: 5 * time.Millisecond, Patience: 5 * time.Second})
	last := func() measure.Summary { return m.Report().DHCP.Summary }
	answered := func() bool {
		s := last()
		return s.Asked > 20 && !slices.ContainsFunc(s.Gaps, func(g measure.Gap) bool { return g.Open })
	}
	g.Eventually(answered).Should(BeTrue())
	g.Expect(last().Failed).To(BeEmpty())

	g.Expect(d.Process.Signal(syscall.SIGTERM)).To(Succeed()) // it writes its leases down
	_ = d.Wait()
	g.Eventually(last).Should(And(
		HaveField("Failed", HaveKey("silent")), HaveField("Gaps", ContainElement(HaveField("Open", true)))))
	d = serve()
	defer func() { _ = d.Process.Kill(); _ = d.Wait() }()
	g.Eventually(answered).Should(BeTrue())
	cancel()

	r := m.Wait().DHCP
	g.Expect(r.LongestGap).To(BeNumerically(">", 500*time.Millisecond), "no answer while nobody served")
	g.Expect(r.Addresses).To(ConsistOf(client.Address), "the same after the outage")
}
