package dhcp_test

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/netns"
)

// gauges are the values of a metric, by its label.
func gauges(t *testing.T, r *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			label := ""
			for _, l := range m.GetLabel() {
				label = l.GetValue()
			}
			if f.GetName() == name {
				out[label] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}

// TestExhaustedPool: a VM that gets no address is in the report, with the counts of the pool
// and since when. The report ends when an address is free.
func TestExhaustedPool(t *testing.T) {
	t.Parallel()
	netns.Require(t, "udhcpc")
	w := NewWithT(t)
	n := blue()
	n.DHCP.Range = network.Range{First: at("20"), Last: at("21")}
	memory := &leases.Memory{}
	// Another client found a host at the second address.
	w.Expect(memory.Replace(t.Context(), network.Lease{}, network.Lease{Address: at("21"), Expires: time.Now().Add(time.Hour).Truncate(time.Second)})).To(Succeed())
	var server *dhcp.Server
	s := serveFrom(t, n, memory, func(d *dhcp.Server) { server = d })
	report := func() reported.DHCPReport { r, _ := server.Report(time.Now()); return r }
	one := s.guest(mac1)
	stop := one.start("udhcpc", one.udhcpc("-R")...)
	w.Eventually(one.address).Should(Equal("192.168.100.20"))
	w.Expect(report().Exhausted).To(BeZero(), "each client has an address")
	w.Expect(report().InUse).To(ConsistOf(reported.UsedAddress{Address: at("21")}))

	before := time.Now()
	two := s.guest(mac2)
	w.Expect(two.run("udhcpc", two.udhcpc("-n", "-q", "-t", "2", "-T", "1")...)).NotTo(Succeed())
	x := report().Exhausted
	w.Expect(x.PoolUse).To(Equal(reported.PoolUse{Size: 2, Assigned: 1, Declined: 1}))
	w.Expect(x.Since).To(And(BeTemporally(">=", before.Truncate(time.Second)), BeTemporally("<=", time.Now())))
	later, _ := server.Report(time.Now().Add(time.Minute))
	w.Expect(later.Exhausted).To(Equal(x), "since the first client")

	reports := make(chan reported.DHCPReport, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go server.Follow(ctx, func(r reported.DHCPReport) { reports <- r })
	w.Eventually(reports).Should(Receive(HaveField("Exhausted", x)))
	w.Expect(gauges(t, s.counted, "oooi_dhcp_addresses")).To(Equal(map[string]float64{"assigned": 1, "declined": 1, "free": 0}))
	w.Expect(gauges(t, s.counted, "oooi_dhcp_addresses_in_use")).To(HaveKeyWithValue("", 1.0))

	stop(syscall.SIGTERM)
	held, _ := memory.At(at("20"))
	w.Expect(memory.Remove(t.Context(), held)).To(Succeed(), "as when it expires")
	w.Eventually(func() reported.PoolExhaustion { return report().Exhausted }).Should(BeZero())
}

// A refusing store cannot be written while it refuses.
type refusing struct {
	*leases.Memory
	why atomic.Pointer[error]
}

func (r *refusing) Replace(ctx context.Context, was, next network.Lease) error {
	if why := r.why.Load(); why != nil {
		return *why
	}
	return r.Memory.Replace(ctx, was, next)
}

// TestLeasesThatAreRefused: once the store has rejected leases for 30 s, the report contains the error of the store, until a lease is
// written.
func TestLeasesThatAreRefused(t *testing.T) {
	t.Parallel()
	netns.Require(t, "udhcpc")
	w := NewWithT(t)
	memory := &leases.Memory{}
	store := &refusing{Memory: memory}
	var quota error = &leases.WriteError{Reason: "a ResourceQuota is exceeded", Err: errors.New("leases oooi.x is forbidden: exceeded quota")}
	store.why.Store(&quota)
	var server *dhcp.Server
	s := serveFrom(t, blue(), store, func(d *dhcp.Server) { server = d })
	after := func(d time.Duration) reported.LeasesUnwritten {
		r, _ := server.Report(time.Now().Add(d))
		return r.NotWritten
	}
	one, before := s.guest(mac1), time.Now()
	asked := func() types.GomegaMatcher {
		return And(BeTemporally(">=", before.Truncate(time.Second)), BeTemporally("<=", time.Now()))
	}
	w.Expect(one.run("udhcpc", one.udhcpc("-n", "-q", "-t", "1", "-T", "1")...)).NotTo(Succeed())
	w.Expect(after(0)).To(BeZero(), "an API server may restart")
	w.Expect(after(31 * time.Second).Error).To(Equal("a ResourceQuota is exceeded"))
	w.Expect(after(31*time.Second).RenewalsSince).To(BeZero(), "a new lease")
	w.Expect(after(31 * time.Second).Since).To(asked())
	w.Expect(after(time.Hour)).To(BeZero(), "no client asked since")

	store.why.Store(nil)
	two := s.guest(mac2) // The first one has spent its writes.
	w.Expect(two.run("udhcpc", two.udhcpc("-n", "-q", "-t", "1", "-T", "60")...)).To(Succeed())
	w.Expect(after(31 * time.Second)).To(BeZero())

	// The lease is written by SELECTING again, so the store refuses one that it has.
	store.why.Store(&quota)
	before = time.Now()
	w.Expect(two.run("udhcpc", two.udhcpc("-n", "-q", "-t", "1", "-T", "1")...)).NotTo(Succeed())
	w.Expect(after(31 * time.Second).RenewalsSince).To(asked())
}
