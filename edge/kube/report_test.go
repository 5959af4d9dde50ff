package kube_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/reported"
)

// A gate is a transport to the API server that can be closed. It counts requests.
type gate struct {
	next http.RoundTripper
	shut *atomic.Bool
	// tries counts all requests, writes those that changed an object.
	writes, tries *atomic.Int32
}

func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	g.tries.Add(1)
	if g.shut.Load() {
		return nil, errors.New("the API server is away")
	}
	if r.Method != http.MethodGet {
		g.writes.Add(1)
	}
	return g.next.RoundTrip(r)
}

// testReports: a report is written only when it changes, with the rights of an edge. It is
// not a lease, and an outage delays it.
func testReports(t *testing.T, c cluster) {
	g := NewWithT(t)
	labels := map[string]string{"app.kubernetes.io/name": "oooi-report", "app.kubernetes.io/part-of": "oooi", "app.kubernetes.io/managed-by": "oooi", "hostedcluster.densityops.com/network": "clusters.vlan300"}
	const name, annotation = "oooi-report.oooi-edge-clusters-vlan300-1", "hostedcluster.densityops.com/report"
	var shut atomic.Bool
	var writes, tries atomic.Int32
	config := rest.CopyConfig(c.pod)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return gate{next, &shut, &writes, &tries} })
	k, err := kube.New(config, namespace, "lo", slog.New(slog.NewTextHandler(t.Output(), nil)))
	g.Expect(err).NotTo(HaveOccurred())
	stored := func() string {
		var o coordinationv1.Lease
		if err := c.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &o); err != nil {
			return err.Error()
		}
		for key, value := range labels {
			g.Expect(o.Labels).To(HaveKeyWithValue(key, value))
		}
		return o.Annotations[annotation]
	}
	leases := c.kube(t).Leases(t.Context(), "clusters.vlan300")
	lease := wire.ReportLease{Name: name, Labels: labels, Edge: 1}
	r := k.Reporter(lease)
	go r.Run(t.Context())
	g.Consistently(tries.Load, "300ms").Should(BeZero(), "there is no report yet")
	first := reported.EdgeReport{Edge: 1, Peer: "serving"}
	r.Set(first)
	g.Eventually(stored, "1m").Should(Equal(string(first.JSON())))
	r.Set(first)
	second := reported.EdgeReport{Edge: 1, Peer: "unreachable", AddressesInUse: []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.2"), MAC: "02:00:00:00:00:aa"}}}
	shut.Store(true)
	for range 100 {
		r.Set(first)
		r.Set(second)
	}
	tried := tries.Load()
	g.Eventually(tries.Load, "1m").Should(BeNumerically(">", tried))
	g.Expect(stored()).To(Equal(string(first.JSON())))
	shut.Store(false)
	g.Eventually(stored, "1m").Should(Equal(string(second.JSON())))
	g.Expect(writes.Load()).To(BeEquivalentTo(2))

	second.DHCPServers = []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.66"), MAC: "02:00:00:00:00:bb"}}
	r.SetDHCPServers(second.DHCPServers)
	g.Eventually(stored, "1m").Should(Equal(string(second.JSON())), "the failover agent's part stays")
	g.Expect(writes.Load()).To(BeEquivalentTo(3))

	// The next pod of the same edge.
	was := tries.Load()
	next := k.Reporter(lease)
	next.SetDHCPServers(second.DHCPServers)
	next.Set(second)
	go next.Run(t.Context())
	g.Eventually(tries.Load, "1m").Should(BeNumerically(">", was))
	g.Consistently(writes.Load, "300ms").Should(BeEquivalentTo(3), "the stored report is equal")
	reportsAreRenewed(t, c, k, lease, second, &writes, &tries)
	// A pod whose failover agent does not run.
	alone := k.Reporter(lease)
	go alone.Run(t.Context())
	alone.SetDHCPServers(second.DHCPServers)
	g.Eventually(stored, "1m").Should(Equal(string(reported.EdgeReport{Edge: 1, DHCPServers: second.DHCPServers}.JSON())))
	g.Eventually(leases.Ready, "1m").Should(Succeed())
	g.Expect(leases.All()).To(BeEmpty(), "a report is not a lease")
}

// reportsAreRenewed: the time of a report is renewed while the failover agent reports, and no longer, whatever the DHCP
// server reports.
func reportsAreRenewed(t *testing.T, c cluster, k *kube.Kube, lease wire.ReportLease, report reported.EdgeReport, writes, tries *atomic.Int32) {
	g := NewWithT(t)
	renewed := func() time.Time {
		var o coordinationv1.Lease
		g.Expect(c.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: lease.Name}, &o)).To(Succeed())
		g.Expect(o.Spec.RenewTime).NotTo(BeNil())
		return o.Spec.RenewTime.Time
	}
	g.Expect(renewed()).To(BeTemporally("~", time.Now(), 2*time.Minute))
	eager := k.Reporter(lease)
	eager.Renew = 100 * time.Millisecond
	eager.SetDHCPServers(report.DHCPServers)
	ctx, cancel := context.WithCancel(t.Context())
	var stopped sync.WaitGroup
	stopped.Go(func() { eager.Run(ctx) })
	defer stopped.Wait() // It compares the stored report ten times a second.
	defer cancel()
	first := renewed()
	g.Eventually(func() time.Time { eager.Set(report); return renewed() }, "1m", "20ms").Should(BeTemporally(">", first))
	// A reporter that renews needs two requests for it, and reads ten times a second.
	const reads = 20
	var last, since int32
	g.Eventually(func() int32 {
		eager.SetDHCPServers(report.DHCPServers)
		if tried, written := tries.Load(), writes.Load(); written != last {
			last, since = written, tried
		}
		return tries.Load() - since
	}, "1m", "50ms").Should(BeNumerically(">", reads), "the agent hangs")
}
