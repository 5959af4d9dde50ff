package status

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/blue"
)

// bootingFacts are those of a cluster whose VM blue-worker-3 has reached Ignition, and whose VM blue-worker-4 is a node.
func bootingFacts() Facts {
	f := blueFacts()
	n := &f.Plan.Networks[0]
	n.Services = network.AllServices()
	for _, service := range []string{network.APIService, network.KonnectivityService} {
		n.Backends = append(n.Backends, network.Backend{Name: service + ":443", Service: service, Port: 443})
	}
	began := blue.At.Add(-17 * time.Minute)
	node := reported.Boot{VM: "blue-worker-4", Since: began, Seen: map[network.BootStep]int{network.BootKonnectivity: 300}}
	one := wire.EdgeReportLease(*n, n.Edges[0]).Name
	r := f.Reports[one]
	r.Connected, r.BootsOmitted = reported.ConnectedYes, 3
	r.Boots = []reported.Boot{{VM: "blue-worker-3", Since: began, Late: true, Seen: map[network.BootStep]int{
		network.BootDiscover: 10, network.BootLease: 12, network.BootName: 30, network.BootIgnition: 60}}, node}
	f.Reports[one] = r
	f.Stored.Problems = append(f.Stored.Problems, explain.ReportProblem{Text: "blue-worker-3 reached Ignition.", Problem: problem.Problem{
		Severity: problem.SeverityWarning, Reason: problem.NodesNotJoining, Args: problem.Args{"newVMs": {"blue-worker-3"}}}})
	return f
}

// TestStatusOfBoots: a VM that is not a node yet has a line with its last step and the missing one. A node has none.
func TestStatusOfBoots(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(OutputOf(bootingFacts(), blue.At).write(&out, "text", false, true)).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring(`
  VM THAT BOOTS   LAST STEP   AT                     MISSING
  blue-worker-3   Ignition    2026-03-04T04:50:07Z   API server
  Further VMs that boot, which edges do not list: 3.
  LEASE `))
	g.Expect(out.String()).NotTo(ContainSubstring("blue-worker-4"))

	f := bootingFacts()
	f.Ready = map[string]bool{}
	g.Expect(OutputOf(f, blue.At).Networks[0].Boots).To(BeEmpty(), "the report of an edge that is not ready")
}

// TestStatusOfOneVM: what a user reads of a VM that does not become a node, of one that edges do not know, and of a node.
func TestStatusOfOneVM(t *testing.T) {
	shown := func(vm string) string {
		var out bytes.Buffer
		NewWithT(t).Expect(OutputOf(bootingFacts(), blue.At).ofVM(vm).write(&out, "text", false, true)).To(Succeed())
		return "\n" + out.String()
	}
	g := NewWithT(t)
	g.Expect(shown("blue-worker-3")).To(Equal(`
HostedCluster clusters/blue: VM blue-worker-3

Network clusters/vlan100
  STEP               FIRST SEEN
  runs               2026-03-04T04:49:07Z
  DHCPDISCOVER       2026-03-04T04:49:17Z
  lease              2026-03-04T04:49:19Z
  name of Ignition   2026-03-04T04:49:37Z
  Ignition           2026-03-04T04:50:07Z
  API server         missing since 2026-03-04T04:50:07Z
  konnectivity       not seen
  No DHCP leases.

  Warning NodesNotJoining: blue-worker-3 reached Ignition. See https://github.com/cldmnky/oooi/blob/main/docs/problems.md#nodesnotjoining
`))
	g.Expect(shown("blue-worker-1")).To(Equal(`
HostedCluster clusters/blue: VM blue-worker-1

Network clusters/vlan100
  No edge reports its boot. Edges report VMs that had no lease when the edge started, up to two minutes late.
  LEASE            VM              MAC                 UNTIL                  STATE
  192.168.100.20   blue-worker-1   02:00:00:00:00:01   2026-03-04T07:06:07Z   assigned
`))
	g.Expect(shown("blue-worker-4")).To(And(ContainSubstring("konnectivity       2026-03-04T04:54:07Z"), Not(ContainSubstring("missing"))))

	var out bytes.Buffer
	g.Expect(OutputOf(bootingFacts(), blue.At).ofVM("blue-worker-4").write(&out, "json", false, true)).To(Succeed())
	var got Output
	g.Expect(json.Unmarshal(out.Bytes(), &got)).To(Succeed())
	g.Expect(got.Networks[0].Boots).To(HaveExactElements(And(HaveField("VM", "blue-worker-4"), HaveField("Missing", BeEmpty()), HaveField("Steps", HaveLen(6)))))
	g.Expect(got.Networks[0].Leases).To(BeEmpty())
}

// TestStatusOfUnknownVM: a VM is known by a lease, a boot or a problem. While leases cannot be read, each VM counts as known.
func TestStatusOfUnknownVM(t *testing.T) {
	g := NewWithT(t)
	known := func(f Facts, vm string) bool { return OutputOf(f, blue.At).ofVM(vm).knowsVM() }
	for _, vm := range []string{"blue-worker-1", "blue-worker-3", "blue-worker-4"} {
		g.Expect(known(bootingFacts(), vm)).To(BeTrue(), vm)
	}
	g.Expect(known(bootingFacts(), "blue-wroker-1")).To(BeFalse())
	f := bootingFacts()
	f.unread = []string{"Leases in namespace clusters-blue cannot be read."}
	g.Expect(known(f, "blue-wroker-1")).To(BeTrue())

	ask := Request{vm: "blue-wroker-1"}
	ask.output.Add(&cobra.Command{})
	var said bytes.Buffer
	g.Expect(command.ExitCode(ask.show(io.Discard, []Output{OutputOf(bootingFacts(), blue.At)}, verdict(nil)), &said)).To(Equal(command.ExitNoAnswer))
	g.Expect(said.String()).To(ContainSubstring("no VM blue-wroker-1 is known"))
	ask.vm = "blue-worker-1"
	g.Expect(ask.show(io.Discard, []Output{OutputOf(bootingFacts(), blue.At)}, verdict(nil))).To(Succeed())
}
