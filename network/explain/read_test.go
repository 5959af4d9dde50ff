package explain_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// without is the problem that a Service of the control plane has no pod.
func without(service string) network.Problem {
	return network.NewProblem(network.NoEdgeReachesEndpoint, network.Subject{Kind: "Service", Name: service}, network.Args{"service": service})
}

// TestReadCondition: what Condition writes is read again, and tells whether nodes boot.
func TestReadCondition(t *testing.T) {
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
		reason network.Reason
	}{
		"well":               {explain.Status{Plan: one, Applied: true, ReadyEdges: up}, explain.Yes, ""},
		"no edge":            {explain.Status{Plan: one, Applied: true}, explain.No, ""},
		"nothing applied":    {explain.Status{Plan: one, Problems: network.Problems{refused}}, explain.No, network.CIDRMissing},
		"the former plan":    {explain.Status{Plan: one, Running: true, Problems: network.Problems{refused}}, explain.Unknown, network.CIDRMissing},
		"without images":     {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{images}}, explain.Unknown, network.ImagesUnreachable},
		"without OAuth":      {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{oauth}}, explain.Yes, network.WaitingForEndpoint},
		"without an API":     {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{api}}, explain.No, network.WaitingForControlPlane},
		"no pod of Ignition": {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{without(network.IgnitionService)}}, explain.No, network.WaitingForEndpoint},
		"no pod of the API":  {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Problems: network.Problems{without(network.APIService)}}, explain.No, network.WaitingForEndpoint},
		"settings unknown":   {explain.Status{Plan: one, Applied: true, ReadyEdges: up, Settings: "unknown"}, explain.Yes, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			settings := "0123abcd"
			if c.status.Settings == "unknown" {
				settings = ""
			} else {
				c.status.Settings = settings
			}
			condition := c.status.Condition()
			told := explain.ReadCondition(condition.Message)
			g.Expect(told.Settings).To(Equal(settings))
			g.Expect(told.Boots()).To(Equal(c.boots), told.Summary)
			g.Expect(c.status.Stored().Boots).To(Equal(c.boots), "as a value")
			if c.reason == "" {
				g.Expect(told.Problems).To(BeEmpty())
				return
			}
			p := c.status.Problems[0]
			g.Expect(told.Problems[0].Reason).To(Equal(c.reason))
			g.Expect(explain.Line(p)).To(Equal(string(p.Level()) + " " + string(p.Reason) + ": " + told.Problems[0].Text))
		})
	}
	g := NewWithT(t)
	g.Expect(explain.ReadCondition("")).To(Equal(explain.Told{}))
	g.Expect(explain.ReadCondition("words of a newer operator").Boots()).To(Equal(explain.Unknown))
}
