package explain_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// without is the problem that a Service of the control plane has no pod.
func without(service string) problem.Problem {
	return problem.New(problem.NoEdgeReachesEndpoint, problem.Subject{Kind: "Service", Name: service}, problem.Args{"service": {service}})
}

// TestBoots: whether nodes boot is a value, whatever the summary says.
func TestBoots(t *testing.T) {
	one := network.Plan{Networks: []network.Network{served("vlan100", 2)}}
	up := map[string]int{"clusters.vlan100": 2}
	images := fault(problem.SeverityWarning, problem.ImagesUnreachable, "no images.")
	refused := fault(problem.SeverityError, problem.CIDRMissing, "no CIDR.")
	api := fault(problem.SeverityWaiting, problem.WaitingForControlPlane, "no API.")
	oauth := fault(problem.SeverityWaiting, problem.WaitingForEndpoint, "Route oauth has no host.")
	oauth.Subject = problem.Subject{Kind: "Endpoint", Name: "oauth"}
	for name, c := range map[string]struct {
		status explain.Status
		boots  explain.Answer
	}{
		"well":               {explain.Status{Plan: one, Applied: true, ReadyEdges: up}, explain.Yes},
		"no edge":            {explain.Status{Plan: one, Applied: true}, explain.No},
		"nothing applied":    {explain.Status{Plan: one, Problems: problem.Problems{refused}}, explain.No},
		"the former plan":    {explain.Status{Plan: one, Running: true, Problems: problem.Problems{refused}}, explain.Unknown},
		"without images":     {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: problem.Problems{images}}, explain.Unknown},
		"without OAuth":      {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: problem.Problems{oauth}}, explain.Yes},
		"without an API":     {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: problem.Problems{api}}, explain.No},
		"no pod of Ignition": {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: problem.Problems{without(network.IgnitionService)}}, explain.No},
		"no konnectivity":    {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: problem.Problems{without(network.KonnectivityService)}}, explain.Yes},
		"no pod of the API":  {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: problem.Problems{without(network.APIService)}}, explain.No},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.status.Report().Boots).To(Equal(c.boots))
		})
	}
}

// TestReadyMeansThatNodesBoot: the condition is False where it is proven that new nodes do not boot, with the reason of the proof. It is True where that
// is only possible, or where nodes lack extras. Without edges to look at, the verdict is the same.
func TestReadyMeansThatNodesBoot(t *testing.T) {
	vlan, storage := served("vlan100", 2), served("storage", 1)
	storage.Primary = false
	plan := network.Plan{Networks: []network.Network{vlan, storage}}
	up := map[string]int{vlan.Name: 2, storage.Name: 1}
	on := func(n network.Network, c problem.Cause) problem.Problem { return n.Attachment.Problem(c, nil) }
	of := func(c problem.Cause) problem.Problem { return problem.New(c, problem.Subject{}, nil) }
	for name, c := range map[string]struct {
		problems problem.Problems
		verdict  explain.Verdict
		boots    explain.Answer
		reason   problem.Reason
	}{
		"well":                             {nil, explain.Serves, explain.Yes, explain.Ready},
		"no registry is reachable":         {problem.Problems{of(problem.RegistryIsPlainHTTP), on(vlan, problem.NoRegistryReachable)}, explain.Fails, explain.No, problem.ImagesUnreachable},
		"no address is left":               {problem.Problems{on(vlan, problem.VMsExceedDHCPRange), on(vlan, problem.PoolExhausted)}, explain.Fails, explain.No, problem.AddressesExhausted},
		"no address is left for a disk":    {problem.Problems{on(storage, problem.PoolExhausted)}, explain.Serves, explain.Yes, explain.ReadyWithWarnings},
		"a registry may be unreachable":    {problem.Problems{of(problem.RegistryWithoutName)}, explain.Serves, explain.Unknown, explain.ReadyWithWarnings},
		"no console":                       {problem.Problems{of(problem.IngressAddressMissing)}, explain.Serves, explain.Yes, explain.ReadyWithWarnings},
		"a part waits":                     {problem.Problems{of(problem.IngressServicePending)}, explain.Waits, explain.Yes, problem.WaitingForEndpoint},
		"a part waits, and no registry is": {problem.Problems{of(problem.IngressServicePending), on(vlan, problem.NoRegistryReachable)}, explain.Fails, explain.No, problem.WaitingForEndpoint},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(explain.VerdictOf(plan.Networks, c.problems)).To(Equal(c.verdict))
			r := explain.Status{Plan: plan, Applied: true, ReadyEdges: up, Problems: c.problems}.Report()
			g.Expect(r.Boots).To(Equal(c.boots))
			g.Expect(r.Ready).To(Equal(c.verdict == explain.Serves))
			g.Expect(r.Reason).To(Equal(c.reason))
		})
	}
	edgeless := explain.Status{Plan: plan, Applied: true}.Report()
	NewWithT(t).Expect([]any{edgeless.Ready, edgeless.Boots, edgeless.Reason}).To(Equal([]any{false, explain.No, problem.EdgeNotReady}))
}

// TestReportHasProblemsAsValues: each with its text. The hash of settings that are unknown is empty.
func TestReportHasProblemsAsValues(t *testing.T) {
	g := NewWithT(t)
	p := without(network.APIService)
	r := explain.Status{Problems: problem.Problems{p}}.Report()
	g.Expect(r.Problems).To(HaveLen(1))
	g.Expect(r.Problems[0].Problem).To(Equal(p))
	line := fmt.Sprintf("\n%s %s: %s\n", p.Level(), p.Reason, r.Problems[0].Text)
	g.Expect(r.Message()).To(And(ContainSubstring(line), HaveSuffix("\n(settings unknown)")))
	g.Expect(r.Settings).To(BeEmpty())
}

// TestReportHasALimit: what does not fit into a ConfigMap is counted, and the condition counts it, too.
func TestReportHasALimit(t *testing.T) {
	g := NewWithT(t)
	var s explain.Status
	for i := range 1000 {
		s.Problems = append(s.Problems, fault(problem.SeverityError, problem.AddressConflict, fmt.Sprint(i, strings.Repeat(" x", 1000))))
	}
	r := s.Report()
	g.Expect(len(r.JSON())).To(BeNumerically("<", 600<<10))
	g.Expect(len(r.Problems) + r.Omitted).To(Equal(1000))
	g.Expect(r.Omitted).To(BeNumerically(">", 0))
	shown := strings.Count(r.Message(), "\nError AddressConflict: ")
	g.Expect(r.Message()).To(ContainSubstring(fmt.Sprintf("\n%d more problems are not shown.", 1000-shown)))
}
