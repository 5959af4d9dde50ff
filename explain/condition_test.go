package explain_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// served is a network that VMs boot from.
func served(name string, edges int) network.Network {
	n := network.Network{
		Name: "clusters." + name, Attachment: network.Attachment{Namespace: "clusters", Name: name}, Primary: true,
		Services: []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
		NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: netip.MustParseAddr("192.168.100.3"),
		DHCP: network.DHCP{LeaseTime: network.Duration(time.Hour)},
	}
	for i := range edges {
		n.Edges = append(n.Edges, network.Edge{Number: i + 1})
	}
	return n
}

func fault(severity problem.Severity, reason problem.Reason, detail string) problem.Problem {
	return problem.Problem{Reason: reason, Severity: severity, Args: problem.Args{"detail": {detail}}}
}

// TestCondition: what a reader of the HostedCluster sees first, the verdict, and what
// follows.
func TestCondition(t *testing.T) {
	one := network.Plan{Networks: []network.Network{served("vlan100", 2)}}
	two := network.Plan{Networks: []network.Network{served("vlan100", 2), served("storage", 2)}}
	refused := fault(problem.SeverityError, problem.CIDRMissing, "no CIDR.")
	waits := fault(problem.SeverityWaiting, problem.WaitingForEndpoint, "Route oauth has no host.")
	waits.Subject = problem.Subject{Kind: "Endpoint", Name: "oauth"}
	images := fault(problem.SeverityWarning, problem.ImagesUnreachable, "no images.")
	typo := fault(problem.SeverityWarning, problem.AnnotationUnknown, "no such key.")
	lost := fault(problem.SeverityWarning, problem.EdgeUnavailable, "edge two lost.")
	late := fault(problem.SeverityWarning, problem.FailoverDegraded, "slow.")
	early := fault(problem.SeverityWaiting, problem.WaitingForControlPlane, "no API.")
	hint := fault(problem.SeverityInfo, problem.NTPMissing, "no time.")
	for name, c := range map[string]struct {
		status explain.Status
		reason problem.Reason
		lines  []string
	}{
		"well": {explain.Status{Plan: one, Applied: true, ReadyEdges: map[string]int{"clusters.vlan100": 2}}, "Ready",
			[]string{"Nodes can boot: DHCP, DNS and proxy are ready on network clusters/vlan100 (192.168.100.0/24) (2 of 2 edges)."}},
		"a hint only": {explain.Status{Plan: one, Applied: true, ReadyEdges: map[string]int{"clusters.vlan100": 2}, Problems: problem.Problems{hint}}, "Ready",
			[]string{"Nodes can boot: ", "Info NTPMissing: No time."}},
		"gravest first, each once": {explain.Status{Plan: one, Applied: true, ReadyEdges: map[string]int{"clusters.vlan100": 1}, Problems: problem.Problems{hint, typo, images, typo}}, "ReadyWithWarnings",
			[]string{"Nodes may not become Ready. DHCP, DNS and proxy are ready on ", "Warning ImagesUnreachable: No images.", "Warning AnnotationUnknown: No such key.", "Info NTPMissing: No time."}},
		"a part waits": {explain.Status{Plan: one, Applied: true, Running: true, ReadyEdges: map[string]int{"clusters.vlan100": 2}, Problems: problem.Problems{images, waits}}, "WaitingForEndpoint",
			[]string{"Nodes may not become Ready. OAuth is not served yet: logins fail. DHCP, DNS and proxy are ready on ", "Waiting WaitingForEndpoint: Route oauth has no host.", "Warning ImagesUnreachable: No images."}},
		"no edge yet": {explain.Status{Plan: one, Applied: true, Problems: problem.Problems{fault(problem.SeverityWaiting, problem.AddressCheckPending, "checking.")}}, "AddressCheckPending",
			[]string{"Nodes cannot boot yet: no edge is ready on network clusters/vlan100 (192.168.100.0/24) (0 of 2 edges).", "Waiting AddressCheckPending: Checking."}},
		"all edges lost on one of two": {explain.Status{Plan: two, Applied: true, Running: true, ReadyEdges: map[string]int{"clusters.vlan100": 2}, Problems: problem.Problems{fault(problem.SeverityError, problem.EdgeUnavailable, "edge lost.")}}, "EdgeUnavailable",
			[]string{"Nodes on network clusters/storage cannot boot: no edge is ready on network clusters/storage (192.168.100.0/24); DHCP, DNS and proxy are ready on " +
				"network clusters/vlan100 (192.168.100.0/24) (2 of 2 edges on network clusters/vlan100, 0 of 2 edges on network clusters/storage).", "Error EdgeUnavailable: Edge lost."}},
		"refused, and nothing else": {explain.Status{Plan: one, Problems: problem.Problems{images, waits, refused}}, "CIDRMissing",
			[]string{"Nothing is applied: the configuration has an error. Nodes cannot boot.", "Error CIDRMissing: No CIDR."}},
		"refused while it runs": {explain.Status{Plan: one, Running: true, Problems: problem.Problems{refused}}, "CIDRMissing",
			[]string{"The new configuration is not applied. Edges keep serving the previous one.", "Error CIDRMissing: No CIDR."}},
		"refused while one edge is lost": {explain.Status{Plan: one, Running: true, Problems: problem.Problems{images, lost, late, waits, refused}}, "CIDRMissing",
			[]string{"The new configuration is not applied. Edges keep serving the previous one.", "Error CIDRMissing: No CIDR.", "Warning EdgeUnavailable: Edge two lost.", "Warning FailoverDegraded: Slow."}},
		"refused while all edges are lost": {explain.Status{Plan: one, Running: true, Problems: problem.Problems{refused, fault(problem.SeverityError, problem.EdgeNotReady, "no edge.")}}, "CIDRMissing",
			[]string{"The new configuration is not applied. At least one network has no ready edge.", "Error CIDRMissing: No CIDR.", "Error EdgeNotReady: No edge."}},
		"waits while all edges are lost": {explain.Status{Plan: one, Running: true, Problems: problem.Problems{images, early, fault(problem.SeverityError, problem.EdgeNotReady, "no edge.")}}, "EdgeNotReady",
			[]string{"The new configuration is not applied. At least one network has no ready edge.", "Error EdgeNotReady: No edge.", "Waiting WaitingForControlPlane: No API."}},
		"too early": {explain.Status{Plan: one, Problems: problem.Problems{images, fault(problem.SeverityWaiting, problem.WaitingForControlPlane, "no API.")}}, "WaitingForControlPlane",
			[]string{"Nothing is applied yet. Nodes cannot boot until the items below exist.", "Waiting WaitingForControlPlane: No API."}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.status.Settings = "0123abcd"
			got := c.status.Report()
			g.Expect(got.Reason).To(Equal(c.reason))
			g.Expect(got.Ready).To(Equal(c.reason == explain.Ready || c.reason == explain.ReadyWithWarnings))
			want := append(c.lines, "(settings 0123abcd)")
			if c.status.Applied {
				want = append(c.lines, "No external hosts are allowed.", "(settings 0123abcd)")
			}
			lines := strings.Split(got.Message(), "\n")
			g.Expect(lines).To(HaveLen(len(want)), got.Message())
			for i := range want {
				g.Expect(lines[i]).To(HavePrefix(want[i]))
			}
			g.Expect(got.Event()).NotTo(ContainSubstring("settings"))
		})
	}
}

// TestCauseBeforeItsEffect: of equally severe problems, those that others may follow from come first, in whatever order they were found.
func TestCauseBeforeItsEffect(t *testing.T) {
	for _, c := range []struct {
		severity      problem.Severity
		cause, effect problem.Reason
	}{
		{problem.SeverityWarning, problem.AddressInUse, problem.EdgeImpaired},
		{problem.SeverityWarning, problem.AddressInUse, problem.EdgesPartitioned},
		{problem.SeverityWarning, problem.EdgeDuplicated, problem.EdgesServeDifferentPlans},
		{problem.SeverityWarning, problem.RangeTooSmall, problem.AddressesExhausted},
		{problem.SeverityError, problem.NotApplied, problem.EdgeNotReady},
	} {
		got := explain.Ordered(problem.Problems{fault(c.severity, c.effect, "effect"), fault(c.severity, c.cause, "cause")})
		NewWithT(t).Expect([]problem.Reason{got[0].Reason, got[1].Reason}).To(Equal([]problem.Reason{c.cause, c.effect}))
	}
}

// TestSameHintOnSeveralNetworks: one line names them all.
func TestSameHintOnSeveralNetworks(t *testing.T) {
	g := NewWithT(t)
	var ps problem.Problems
	for _, n := range []string{"clusters/vlan100", "clusters/vlan200", "clusters/vlan100"} {
		ps = append(ps, problem.Problem{Reason: problem.NTPMissing, Cause: "NoTimeServer", Severity: problem.SeverityInfo,
			Subject: problem.Subject{Kind: "Network", Name: n}, Args: problem.Args{"network": {n}}})
	}
	got := explain.Ordered(ps)
	g.Expect(got).To(HaveLen(1))
	g.Expect(got[0].Args["network"]).To(HaveExactElements("clusters/vlan100", "clusters/vlan200"))
	g.Expect(ps[0].Args["network"]).To(HaveExactElements("clusters/vlan100"), "the input is not changed")
}

// TestConditionHasALimit: however much is wrong, a reader gets at most 4 KiB, whole
// lines, the count of what is left out, and the settings.
func TestConditionHasALimit(t *testing.T) {
	for _, size := range []int{10, 300, 40000} {
		g := NewWithT(t)
		s := explain.Status{Settings: "0123abcd"}
		for i := range 200 {
			s.Problems = append(s.Problems, fault(problem.SeverityError, problem.AddressConflict, fmt.Sprintf("%d %s.", i, strings.Repeat("ä", size))))
		}
		got := s.Report()
		g.Expect(len(got.Message())).To(And(BeNumerically("<=", 4096), BeNumerically(">", 2500)))
		g.Expect(got.Message()).NotTo(ContainSubstring("\ufffd"))
		g.Expect(got.Message()).To(MatchRegexp(`\n\d+ more problems are not shown\. .* run: kubectl get .* \| oooi plan -f -\n\(settings 0123abcd\)$`))
		g.Expect(len(got.Event())).To(BeNumerically("<=", 1024))
	}
}

// TestAllowedHosts: which external hosts VMs reach is told, once, and bounded.
func TestAllowedHosts(t *testing.T) {
	g := NewWithT(t)
	n := served("vlan100", 1)
	for i := range 300 {
		n.Backends = append(n.Backends, network.Backend{Kind: network.BackendExternal, Name: fmt.Sprintf("cdn%03d.quay.io:443", i)})
	}
	s := explain.Status{Plan: network.Plan{Networks: []network.Network{n, n}}, Applied: true, ReadyEdges: map[string]int{n.Name: 1}}
	g.Expect(s.Report().Message()).To(ContainSubstring("\nAllowed external hosts: cdn000.quay.io:443, cdn001.quay.io:443, "))
	g.Expect(s.Report().Message()).To(MatchRegexp(`cdn\d+\.quay\.io:443 and \d+ more\.\n`))
	g.Expect(len(s.Report().Message())).To(BeNumerically("<", 3000))
	s.Applied = false
	g.Expect(s.Report().Message()).NotTo(ContainSubstring("quay"), "nothing is applied")
}

// TestNetworkChanged: what VMs notice is told, and nothing else.
func TestNetworkChanged(t *testing.T) {
	g := NewWithT(t)
	was := served("vlan100", 1)
	was.Listeners = []network.Listener{{Address: was.ServiceVIP, Port: 443, Default: "a:443"}, {Address: was.ServiceVIP, Port: 8443, Default: "git:443"}}
	g.Expect(explain.NetworkChanged(was, was)).To(BeEmpty())
	longer := was
	longer.DHCP.LeaseTime = network.Duration(2 * time.Hour)
	g.Expect(explain.NetworkChanged(was, longer)).To(BeEmpty())
	moved := was
	moved.NextHopVIP = netip.MustParseAddr("192.168.100.6")
	g.Expect(explain.NetworkChanged(was, moved)).To(HaveExactElements(
		"Network clusters/vlan100 changes: next-hop VIP 192.168.100.2 becomes 192.168.100.6. Connections through its edges are closed. VMs receive the new addresses when they renew their lease, within 30m."))
	closed := was
	closed.Listeners = was.Listeners[:1]
	g.Expect(explain.NetworkChanged(was, closed)).To(HaveExactElements("Network clusters/vlan100 no longer answers at 192.168.100.3:8443. Connections to there are closed."))
}

// TestOpenToAnyone: what is open to anyone is in the condition, also if pods reach several networks.
func TestOpenToAnyone(t *testing.T) {
	g := NewWithT(t)
	var s explain.Status
	for i, n := range []string{"clusters/vlan100", "clusters/vlan200", "clusters/vlan100"} {
		p := problem.Problem{Reason: problem.AccessOpened, Cause: problem.AccessOpen, Severity: problem.SeverityInfo,
			Subject: problem.Subject{Kind: "Network", Name: n}, Args: problem.Args{"network": {n}, "namespaces": {"blue"}, "destinations": {fmt.Sprintf("nodes:%d", 22+i)}, "service": {"oooi-access.blue"}}}
		if i == 2 {
			p.Cause, p.Args = problem.LoadBalancersOpen, problem.Args{"network": {n}, "services": {"openshift-ingress/router-default"}}
		}
		s.Problems = append(s.Problems, p)
	}
	text := s.Report().Message()
	g.Expect(text).To(ContainSubstring("Anyone who reaches a load balancer"))
	g.Expect(text).To(ContainSubstring("Management access is open on further networks, too."))
}
