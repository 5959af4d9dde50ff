package explain_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// without is the problem that a Service of the control plane has no pod.
func without(service string) network.Problem {
	return network.NewProblem(network.NoEdgeReachesEndpoint, network.Subject{Kind: "Service", Name: service}, network.Args{"service": service})
}

// TestBoots: whether nodes boot is a value, whatever the summary says.
func TestBoots(t *testing.T) {
	one := network.Plan{Networks: []network.Network{served("vlan100", 2)}}
	up := map[string]int{"clusters.vlan100": 2}
	images := problem(network.SeverityWarning, network.ImagesUnreachable, "no images.")
	refused := problem(network.SeverityError, network.CIDRMissing, "no CIDR.")
	api := problem(network.SeverityWaiting, network.WaitingForControlPlane, "no API.")
	oauth := problem(network.SeverityWaiting, network.WaitingForEndpoint, "Route oauth has no host.")
	oauth.Subject = network.Subject{Kind: "Endpoint", Name: "oauth"}
	for name, c := range map[string]struct {
		status explain.Status
		boots  explain.Answer
	}{
		"well":               {explain.Status{Plan: one, Applied: true, ReadyEdges: up}, explain.Yes},
		"no edge":            {explain.Status{Plan: one, Applied: true}, explain.No},
		"nothing applied":    {explain.Status{Plan: one, Problems: network.Problems{refused}}, explain.No},
		"the former plan":    {explain.Status{Plan: one, Running: true, Problems: network.Problems{refused}}, explain.Unknown},
		"without images":     {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{images}}, explain.Unknown},
		"without OAuth":      {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{oauth}}, explain.Yes},
		"without an API":     {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{api}}, explain.No},
		"no pod of Ignition": {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{without(network.IgnitionService)}}, explain.No},
		"no pod of the API":  {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{without(network.APIService)}}, explain.No},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.status.Report().Boots).To(Equal(c.boots))
		})
	}
}

// TestReportHasProblemsAsValues: each with its text. The hash of settings that are unknown is empty.
func TestReportHasProblemsAsValues(t *testing.T) {
	g := NewWithT(t)
	p := without(network.APIService)
	r := explain.Status{Problems: network.Problems{p}}.Report()
	g.Expect(r.Problems).To(HaveLen(1))
	g.Expect(r.Problems[0].Problem).To(Equal(p))
	g.Expect(r.Message()).To(And(ContainSubstring("\n"+explain.Line(p)+"\n"), HaveSuffix("\n(settings unknown)")))
	g.Expect(explain.Line(p)).To(HaveSuffix(": " + r.Problems[0].Text))
	g.Expect(r.Settings).To(BeEmpty())
}

// TestReportHasALimit: what does not fit into a ConfigMap is counted, and the condition counts it, too.
func TestReportHasALimit(t *testing.T) {
	g := NewWithT(t)
	var s explain.Status
	for i := range 1000 {
		s.Problems = append(s.Problems, problem(network.SeverityError, network.AddressConflict, fmt.Sprint(i, strings.Repeat(" x", 1000))))
	}
	r := s.Report()
	g.Expect(len(r.JSON())).To(BeNumerically("<", 600<<10))
	g.Expect(len(r.Problems) + r.Omitted).To(Equal(1000))
	g.Expect(r.Omitted).To(BeNumerically(">", 0))
	shown := strings.Count(r.Message(), "\nError AddressConflict: ")
	g.Expect(r.Message()).To(ContainSubstring(fmt.Sprintf("\n%d more problems are not shown.", 1000-shown)))
}
