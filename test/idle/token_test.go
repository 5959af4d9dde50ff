package idle

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// TestServersWithoutAToken: DNS and the failover agent, which have no token and see no other
// container's files as writable, follow the plan and the leases, and the agent's report arrives.
func TestServersWithoutAToken(t *testing.T) {
	netns.Require(t, "mount")
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	admin, config := apiserver.ForEdges(t, namespace, there(t, planFile)...)
	b := &build{program: programs.RequireOwn(t, wire.Program)}
	vlan := b.edges(t, config, program, planFile)
	tokenDir := strings.TrimPrefix(wire.TokenDir, "/var") // /var/run is a link, which leads elsewhere from here.
	for _, e := range b.both {
		g.Eventually(func() error { return e.probe(t.Context()) }, "3m", "1s").Should(Succeed())
		for _, name := range []string{"dns", "ntp", wire.Failover, wire.Envoy} {
			g.Expect(fmt.Sprintf("/proc/%d/root%s/token", e.processes[name], tokenDir)).NotTo(BeAnExistingFile(), name)
		}
		g.Expect(fmt.Sprintf("/proc/%d/root%s/token", e.processes["dhcp"], tokenDir)).To(BeAnExistingFile())
	}

	t.Run("reports", func(t *testing.T) {
		g := NewWithT(t)
		g.Eventually(func() (reports []reported.EdgeReport) {
			var all coordinationv1.LeaseList
			g.Expect(admin.List(t.Context(), &all, client.InNamespace(namespace), client.MatchingLabels{wire.LabelName: wire.NameReport})).To(Succeed())
			for _, l := range all.Items {
				r, err := reported.Read([]byte(l.Annotations[wire.AnnotationReport]))
				g.Expect(err).NotTo(HaveOccurred())
				reports = append(reports, r)
			}
			return reports
		}, "1m", "200ms").Should(ConsistOf(
			And(HaveField("Edge", 1), HaveField("Peer", reported.PeerServing)), And(HaveField("Edge", 2), HaveField("Peer", reported.PeerServing))))
	})
	t.Run("a name of a VM", func(t *testing.T) {
		g := NewWithT(t)
		mac, seconds, now := machineMAC(3), int32(7200), metav1.NowMicro()
		g.Expect(admin.Create(t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: wire.LeaseName("clusters.vlan100", netip.MustParseAddr("192.168.100.33")), Labels: wire.LeaseLabels("clusters.vlan100"),
				Annotations: map[string]string{wire.AnnotationMAC: mac, wire.AnnotationVM: "amber-3"},
			},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &mac, LeaseDurationSeconds: &seconds, RenewTime: &now},
		})).To(Succeed())
		vm := netns.New(t)
		vlan.Attach(t, vm, "eth0", "", "192.168.100.33/24")
		g.Eventually(func() (text string) {
			vm.Do(t, func() {
				c := dns.Client{Timeout: time.Second} // It asks again.
				if r, _, err := c.Exchange(new(dns.Msg).SetQuestion("33.100.168.192.in-addr.arpa.", dns.TypePTR), "192.168.100.3:53"); err == nil {
					text = r.String()
				}
			})
			return text
		}, "1m", "200ms").Should(ContainSubstring("amber-3"))
	})
	t.Run("a plan", func(t *testing.T) {
		g := NewWithT(t)
		var o corev1.ConfigMap
		g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: wire.PlanConfigMap}, &o)).To(Succeed())
		o.Data[wire.PlanKey] = strings.ReplaceAll(o.Data[wire.PlanKey], `"leaseTime": "1h0m0s"`, `"leaseTime": "2h0m0s"`)
		g.Expect(admin.Update(t.Context(), &o)).To(Succeed())
		for _, e := range b.both {
			for _, name := range []string{"dhcp", "dns", "ntp", "proxy", wire.Failover} {
				g.Eventually(e.log(t, name)).Should(ContainSubstring("plan changed"), name)
			}
		}
	})
}
