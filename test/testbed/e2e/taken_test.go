// This file shows that oooi does not use an address that another host has.

package e2e

import (
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/test/testbed/worker"
)

// testTaken opts in while another machine on the VLAN has the next hop: no edge is
// made and the user is told who has it; once it is free, edges serve.
func testTaken(t *testing.T, b bed, h Hosted, w *worker.Worker) {
	g := NewWithT(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	taken := networkOf(t, plan, w).NextHopVIP
	testWithdrawn(t, h, "none")
	rival := b.plug(t, "rival"+h.Name, w.VM.VLAN)
	ip := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + rival.netNS, "--", "ip"}, args...)...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		return string(out)
	}
	address := taken.String() + "/24"
	ip("address", "add", address, "dev", rival.card)
	_, after, _ := strings.Cut(ip("-o", "link", "show", "dev", rival.card), "link/ether ")
	mac, _, _ := strings.Cut(after, " ")
	g.Expect(mac).NotTo(BeEmpty())

	g.Expect(h.Annotate(t.Context(), "auto")).To(Succeed())
	g.Expect(h.WaitReason(t.Context(), meta.ConditionFalse, "AddressInUse")).To(Succeed())
	c, err := h.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	t.Log(c.Message)
	g.Expect(c.Message).To(And(ContainSubstring(taken.String()), ContainSubstring(mac)))
	g.Expect(h.Edges(t.Context())).To(BeEmpty(), "no edge uses the address")

	ip("address", "delete", address, "dev", rival.card)
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
}
