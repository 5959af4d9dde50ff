package decide

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// copyOf is the copy of a Service of the hosted cluster. Without one, it is that of the ingress.
func copyOf(name, service string, selector map[string]string) (out corev1.Service) {
	out.Name, out.Spec.Selector = name, selector
	if service != "" {
		out.Labels = map[string]string{settings.LabelHostedService: service}
	}
	return out
}

// TestLeads: what is done about a Service depends on where it leads, on edges, and on what is behind it.
func TestLeads(t *testing.T) {
	g := NewWithT(t)
	n := network.Network{Name: "clusters.vlan100"}
	const web = "a11111111111111111111111111111111"
	n.Access.LoadBalancers = &network.BalancedAccess{Here: true, Services: []network.BalancedService{{Name: web, HostedService: "shop/web", Ports: []uint16{31080}}, {Name: "gone", Ports: []uint16{1}}}}
	edge := func(number int, available bool) gather.Edge {
		return gather.Edge{Role: gather.RoleEdge, Network: wire.NetworkLabel(n.Name), Number: number, Seen: rollout.Seen{Available: available}}
	}
	report := func(number int, ports ...uint16) gather.NetworkReport {
		return gather.NetworkReport{Network: wire.NetworkLabel(n.Name), EdgeReport: reported.EdgeReport{Edge: number, Balanced: ports}}
	}
	ours := wire.NetworkLabels(wire.NameEdge, n)
	with := func(selector map[string]string, edges []gather.Edge, reports []gather.NetworkReport, all ...services.Slice) Leading {
		v := view{World: gather.World{Edges: edges, EdgeReports: reports}}
		v.Services, v.Slices = []corev1.Service{copyOf(web, "shop/web", selector)}, all
		return v.leads(network.Plan{Networks: []network.Network{n}})
	}
	vms := services.Slice{Name: "vms", Service: web, ManagedBy: services.VMSlices}
	left := services.Slice{Name: "left", Service: web, ManagedBy: services.SelectorSlices, OfEdges: true}
	both, said := []gather.Edge{edge(1, true), edge(2, true)}, []gather.NetworkReport{report(1, 31080), report(2, 31080, 1)}
	one := []LedService{{Name: web, UID: ""}}

	x := with(nil, both, said, vms)
	g.Expect(x.Lead).To(Equal(one))
	g.Expect(x.Selector).To(Equal(ours))
	g.Expect(x.Slices).To(Equal([]services.Slice{vms}))
	for what, c := range map[string]struct {
		edges   []gather.Edge
		reports []gather.NetworkReport
	}{
		"an edge has not": {both, []gather.NetworkReport{report(1, 31080), report(2)}}, "an edge is silent": {both, said[:1]},
		"no edge runs": {[]gather.Edge{edge(1, false)}, said}, "no edge": {nil, said},
		"an older pod says so": {both, []gather.NetworkReport{report(1, 31080), {Network: wire.NetworkLabel(n.Name), EdgeReport: reported.EdgeReport{Edge: 2, Yields: true, Balanced: []uint16{31080}}}}},
	} {
		x = with(nil, c.edges, c.reports, vms)
		g.Expect(x.Lead).To(BeEmpty(), what)
		g.Expect(x.Slices).To(BeEmpty(), what)
		g.Expect(x.Problems).To(ConsistOf(HaveField("Cause", problem.LoadBalancersNotLed)), what)
	}
	g.Expect(with(nil, nil, nil, left).Slices).To(BeEmpty(), "it leads to edges again in a moment")
	g.Expect(with(nil, []gather.Edge{edge(1, true), edge(2, false)}, said[:1]).Lead).To(Equal(one), "an edge that does not run is not waited for")

	x = with(ours, nil, nil, vms, left)
	g.Expect(append(x.Lead, x.Back...)).To(BeEmpty(), "it leads there")
	g.Expect(x.Problems).To(BeEmpty())
	g.Expect(x.Slices).To(Equal([]services.Slice{vms}))
	former := maps.Clone(ours)
	former[wire.LabelNetwork] = "former"
	x = with(former, both, said[:1], vms)
	g.Expect(append(x.Lead, x.Back...)).To(BeEmpty(), "the network is another one, and an edge of it has not opened the port")
	g.Expect(x.Slices).To(Equal([]services.Slice{vms}))
	g.Expect(x.Problems).To(ConsistOf(HaveField("Cause", problem.LoadBalancersNotLed)))
	g.Expect(with(former, both, said).Lead).To(Equal(one), "the network is another one")
	x = with(ours, both, said[:1])
	g.Expect(append(x.Lead, x.Back...)).To(BeEmpty(), "a port that edges open later")

	n.Access.LoadBalancers = nil
	x = with(ours, both, said, left, vms)
	g.Expect(x.Back).To(Equal(one))
	g.Expect(x.Endpoints).To(Equal([]string{web}))
	g.Expect(x.Slices).To(Equal([]services.Slice{left}))
	g.Expect(x.kept().Back).To(BeEmpty(), "an Error gives nothing back")
	g.Expect(x.kept().Slices).To(BeEmpty())
	mirrored := services.Slice{Name: "left", Service: web, ManagedBy: services.MirrorSlices, OfEdges: true}
	x = with(nil, both, said, left, mirrored)
	g.Expect(x.Slices).To(Equal([]services.Slice{left}), "left from before")
	g.Expect(x.Endpoints).To(Equal([]string{web}))
	left.OfEdges = false
	x = with(nil, both, said, left, vms)
	g.Expect(x.Slices).To(BeEmpty(), "of others")
	g.Expect(x.Endpoints).To(BeEmpty())
}

// TestIngressIsGivenBackFirst: HyperShift watches copies, and writes the addresses of VMs to the Service of the ingress, too, when one changes.
func TestIngressIsGivenBackFirst(t *testing.T) {
	g := NewWithT(t)
	ours := wire.NamedLabels(wire.NameEdge)
	const ingress = "default-ingress-passthrough-service-x"
	x := Leading{}.With([]corev1.Service{copyOf("a1", "web", ours), copyOf(ingress, "", ours), copyOf("z1", "web", ours)}, nil, nil)
	g.Expect(x.Back).To(Equal([]LedService{{Name: ingress}, {Name: "a1"}, {Name: "z1"}}))
}
