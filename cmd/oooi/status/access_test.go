package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/blue"
)

// openFacts are of a cluster whose edges let callers in. Load balancer shop/new does not forward to edges yet.
func openFacts() Facts {
	f := blueFacts()
	n := &f.Plan.Networks[0]
	n.Access = blue.Access()
	f.Led = map[string]bool{"a1": true, "a2": false}
	one, two := wire.EdgeReportLease(*n, n.Edges[0]).Name, wire.EdgeReportLease(*n, n.Edges[1]).Name
	for name, ports := range map[string][]uint16{one: {31080, 31443}, two: {31080, 31443, 31999}} {
		r := f.Reports[name]
		r.Balanced = ports
		f.Reports[name] = r
	}
	return f
}

// accessText is what the report says about the first network, without the other lines.
func accessText(t *testing.T, f Facts, all bool) string {
	t.Helper()
	var out bytes.Buffer
	OutputOf(f, blue.At).Networks[0].Access.text(&out, all)
	return out.String()
}

// TestStatusAccess: what is open, and for which callers. The report of an edge that is not ready does not count.
func TestStatusAccess(t *testing.T) {
	g := NewWithT(t)
	text := accessText(t, openFacts(), false)
	g.Expect("\n" + text).To(Equal(`
  OPEN TO CALLERS       TARGET                                                            PLAIN TCP
  db.example.com:5432   192.168.100.60                                                    oooi-access.clusters-blue.svc:5432
  apps:443              *.apps.blue.example.com -> VMs with a DHCP lease, at port 30443   -
  nodes:10250           each VM of the cluster with a DHCP lease                          -
  Callers use http://oooi-access.clusters-blue.svc:3128. Pods of these namespaces are admitted: clusters-blue, backup, openshift-monitoring, and those of the ingress and of monitoring, which HyperShift's own policies admit.
  Callers need no token.
  LOAD BALANCER   SERVICE   NODE PORTS     FORWARDS TO EDGES   OPEN AT EDGES
  shop/web        a1        31080, 31443   yes                 1
  shop/new        a2        31999          no                  none
  Anyone who reaches a load balancer reaches VMs with a DHCP lease.
`))
	var whole bytes.Buffer
	g.Expect(OutputOf(openFacts(), blue.At).write(&whole, "text", false, true)).To(Succeed())
	g.Expect(whole.String()).To(ContainSubstring(text))

	f := openFacts()
	f.Led, f.Plan.Networks[0].Access.Accounts, f.Plan.Networks[0].Access.Audience = nil, []string{"backup/tool"}, "oooi-access.clusters-blue"
	text = accessText(t, f, false)
	g.Expect(text).To(ContainSubstring("  Callers need a token of backup/tool for audience oooi-access.clusters-blue.\n"))
	g.Expect(text).To(MatchRegexp(`shop/web +a1 +31080, 31443 +unknown +1\n`), "Services cannot be read")

	f.Plan.Networks[0].Access = network.Access{LoadBalancers: &network.BalancedAccess{}}
	g.Expect(accessText(t, f, false)).To(Equal("  Load balancers of the hosted cluster forward to edges of another network.\n"))
	f.Plan.Networks[0].Access.LoadBalancers.Here = true
	g.Expect(accessText(t, f, false)).To(Equal("  The hosted cluster has no load balancer that can forward to edges.\n"))
	g.Expect(accessText(t, blueFacts(), false)).To(BeEmpty())
}

// TestStatusOfManyLoadBalancers: those that do not forward to edges are shown, and all are counted.
func TestStatusOfManyLoadBalancers(t *testing.T) {
	g, f := NewWithT(t), openFacts()
	for i := range 20 {
		name := fmt.Sprintf("b%d", i)
		b := f.Plan.Networks[0].Access.LoadBalancers
		b.Services = append(b.Services, network.BalancedService{Name: name, HostedService: "shop/" + name, Ports: []uint16{31080}})
		f.Led[name] = true
	}
	g.Expect(accessText(t, f, false)).To(And(ContainSubstring("shop/new"), Not(ContainSubstring("shop/b7")),
		ContainSubstring("  22 load balancers: 1 are not known to forward to edges. --all shows each.\n")))
	g.Expect(accessText(t, f, true)).To(And(ContainSubstring("shop/new"), ContainSubstring("shop/b7"), Not(ContainSubstring("--all"))))
}

// TestStatusAccessJSON: the names that scripts rely on, and no field without access.
func TestStatusAccessJSON(t *testing.T) {
	g := NewWithT(t)
	got := func(f Facts) any {
		b, err := json.Marshal(OutputOf(f, blue.At).Networks[0])
		g.Expect(err).NotTo(HaveOccurred())
		var n map[string]any
		g.Expect(json.Unmarshal(b, &n)).To(Succeed())
		return n["access"]
	}
	g.Expect(got(blueFacts())).To(BeNil())
	a := got(openFacts()).(map[string]any)
	g.Expect(a).To(And(HaveLen(5), HaveKeyWithValue("proxy", "http://oooi-access.clusters-blue.svc:3128"), HaveKeyWithValue("accounts", []any{}),
		HaveKeyWithValue("namespaces", []any{"clusters-blue", "backup", "openshift-monitoring"})))
	g.Expect(a["destinations"].([]any)[0]).To(Equal(map[string]any{"name": "db.example.com:5432", "target": "192.168.100.60", "plainTCP": "oooi-access.clusters-blue.svc:5432"}))
	g.Expect(a["loadBalancers"].([]any)).To(Equal([]any{
		map[string]any{"service": "a1", "hostedService": "shop/web", "ports": []any{31080.0, 31443.0}, "forwardsToEdges": "yes", "edges": []any{1.0}},
		map[string]any{"service": "a2", "hostedService": "shop/new", "ports": []any{31999.0}, "forwardsToEdges": "no", "edges": []any{}},
	}))
}
