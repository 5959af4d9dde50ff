package controllers

import (
	"maps"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestServicesRollNoEdge: with the word loadbalancers, edges have container access, and no Service that comes or goes changes their pods.
func TestServicesRollNoEdge(t *testing.T) {
	g := NewWithT(t)
	_, plan := storyThere(t, "load-balancers", func(*gather.World) {})
	n := plan.Networks[0]
	template := func(n network.Network) string {
		return desired.Hash(desired.EdgePod(n, n.Edges[0], testOptions.Release, "x"))
	}
	before := template(n)
	for _, services := range [][]network.BalancedService{nil, {{Name: "a", Ports: []uint16{1}}}} {
		for _, here := range []bool{true, false} {
			n.Access.LoadBalancers = &network.BalancedAccess{Here: here, Services: services}
			g.Expect(template(n)).To(Equal(before))
		}
	}
	n.Access = network.Access{LoadBalancers: &network.BalancedAccess{}}
	g.Expect(template(n)).To(Equal(before), "nothing but load balancers is open")
	g.Expect(desired.EdgePod(n, n.Edges[0], testOptions.Release, "x").Spec.Containers).To(ContainElement(HaveField("Name", wire.Access)))
	n.Access = network.Access{}
	g.Expect(template(n)).NotTo(Equal(before))
	var names []string
	for _, c := range desired.EdgePod(n, n.Edges[0], testOptions.Release, "x").Spec.Containers {
		names = append(names, c.Name)
	}
	g.Expect(names).NotTo(ContainElement(wire.Access))
}

// TestAnyoneReachesLoadBalancers: the NetworkPolicy admits everyone to the ports of load balancers, and to no others. If one has ranges of
// clients, these get in.
func TestAnyoneReachesLoadBalancers(t *testing.T) {
	g := NewWithT(t)
	_, plan := storyThere(t, "load-balancers", func(*gather.World) {})
	all := plan.Networks[0].Access.Balanced()
	g.Expect(all).NotTo(BeEmpty())
	rules := desired.AccessPolicy(plan).Spec.Ingress
	g.Expect(rules).To(HaveLen(2))
	g.Expect(rules[1].From).To(BeEmpty())
	var open []uint16
	for _, p := range rules[1].Ports {
		open = append(open, uint16(p.Port.IntVal))
	}
	g.Expect(open).To(Equal(all))
	g.Expect(rules[0].From).To(HaveLen(1))

	some := netip.MustParsePrefix("192.0.2.0/24")
	plan.Networks[0].Access.LoadBalancers.Services = []network.BalancedService{
		{Name: "a", Ports: []uint16{31001}, Sources: []netip.Prefix{some}},
		{Name: "b", Ports: []uint16{31002}},
		{Name: "c", Ports: []uint16{31003}, Sources: []netip.Prefix{some}},
		{Name: "d", Ports: []uint16{31004}, Sources: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), some}},
	}
	found := map[string][]int32{}
	for _, rule := range desired.AccessPolicy(plan).Spec.Ingress[1:] {
		from := ""
		for _, p := range rule.From {
			from += *p.IPBlock.CIDR + " "
		}
		for _, p := range rule.Ports {
			found[from] = append(found[from], p.Port.IntVal)
		}
	}
	g.Expect(found).To(Equal(map[string][]int32{"": {31002}, "192.0.2.0/24 ": {31001, 31003}, "10.0.0.0/8 192.0.2.0/24 ": {31004}}))
	plan.Networks[0].Access = network.Access{LoadBalancers: &network.BalancedAccess{Here: true}}
	g.Expect(desired.AccessPolicy(plan)).To(BeNil())
}

// TestLeads: what is done about a Service depends on where it leads, on edges, and on what is behind it.
func TestLeads(t *testing.T) {
	g := NewWithT(t)
	w, plan := storyThere(t, "load-balancers", func(*gather.World) {})
	n := plan.Networks[0]
	const web = "a11111111111111111111111111111111"
	plan.Networks[0].Access.LoadBalancers = &network.BalancedAccess{Here: true, Services: []network.BalancedService{{Name: web, HostedService: "shop/web", Ports: []uint16{31080}}, {Name: "gone", Ports: []uint16{1}}}}
	edge := func(number int, available bool) gather.Edge {
		return gather.Edge{Role: gather.RoleEdge, Network: wire.NetworkLabel(n.Name), Number: number, Seen: rollout.Seen{Available: available}}
	}
	report := func(number int, ports ...uint16) gather.EdgeReport {
		return gather.EdgeReport{Network: wire.NetworkLabel(n.Name), Report: reported.Report{Edge: number, Balanced: ports}}
	}
	ours := wire.NetworkLabels(wire.NameEdge, n)
	with := func(selector map[string]string, edges []gather.Edge, reports []gather.EdgeReport, all ...services.Slice) decide.Leading {
		v := w
		v.Services = nil
		for _, s := range w.Services {
			if s.Name == web {
				s.Spec.Selector = selector
			}
			v.Services = append(v.Services, s)
		}
		v.Edges, v.EdgeReports, v.Slices = edges, reports, all
		return decide.View{World: v}.Leads(plan)
	}
	vms := services.Slice{Name: "vms", Service: web, ManagedBy: services.VMSlices}
	left := services.Slice{Name: "left", Service: web, ManagedBy: services.SelectorSlices, OfEdges: true}
	both, said := []gather.Edge{edge(1, true), edge(2, true)}, []gather.EdgeReport{report(1, 31080), report(2, 31080, 1)}
	one := []decide.LedService{{Name: web, UID: ""}}

	x := with(nil, both, said, vms)
	g.Expect(x.Lead).To(Equal(one))
	g.Expect(x.Selector).To(Equal(ours))
	g.Expect(x.Slices).To(Equal([]services.Slice{vms}))
	for what, c := range map[string]struct {
		edges   []gather.Edge
		reports []gather.EdgeReport
	}{
		"an edge has not": {both, []gather.EdgeReport{report(1, 31080), report(2)}}, "an edge is silent": {both, said[:1]},
		"no edge runs": {[]gather.Edge{edge(1, false)}, said}, "no edge": {nil, said},
		"an older pod says so": {both, []gather.EdgeReport{report(1, 31080), {Network: wire.NetworkLabel(n.Name), Report: reported.Report{Edge: 2, Yields: true, Balanced: []uint16{31080}}}}},
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

	plan.Networks[0].Access.LoadBalancers = nil
	x = with(ours, both, said, left, vms)
	g.Expect(x.Back).To(Equal(one))
	g.Expect(x.Endpoints).To(Equal([]string{web}))
	g.Expect(x.Slices).To(Equal([]services.Slice{left}))
	g.Expect(x.Kept().Back).To(BeEmpty(), "an Error gives nothing back")
	g.Expect(x.Kept().Slices).To(BeEmpty())
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
	service := func(name string, labels map[string]string) corev1.Service {
		s := corev1.Service{Spec: corev1.ServiceSpec{Selector: wire.NamedLabels(wire.NameEdge)}}
		s.Name, s.Labels = name, labels
		return s
	}
	copied := map[string]string{settings.LabelHostedService: "web"}
	const ingress = "default-ingress-passthrough-service-x"
	x := decide.Leading{}.With([]corev1.Service{service("a1", copied), service(ingress, nil), service("z1", copied)}, nil, nil)
	g.Expect(x.Back).To(Equal([]decide.LedService{{Name: ingress}, {Name: "a1"}, {Name: "z1"}}))
}
