package leaseobject_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

var writtenAt = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

func leaseOf(mac, vm string, after time.Duration) network.Lease {
	return network.Lease{Address: netip.MustParseAddr("192.168.100.20"), MAC: mac, VM: vm, Expires: writtenAt.Add(after).Truncate(time.Second)}
}

// TestLeaseObject: what `kubectl get leases` and `-o yaml` show of a lease, and that it is
// read back as it was.
func TestLeaseObject(t *testing.T) {
	const mac = "02:00:00:00:00:01"
	long := strings.Repeat("a-long-name.", 10) + "worker-1"
	for what, c := range map[string]struct {
		lease    network.Lease
		holder   string
		vm       string
		duration time.Duration
	}{
		"a VM":                    {leaseOf(mac, "blue-worker-1", 2*time.Hour), "blue-worker-1", "blue-worker-1", time.Hour},
		"a VM with a long name":   {leaseOf(mac, long, 2*time.Hour), long, network.Shortened(long, 63), time.Hour},
		"an unknown client":       {leaseOf(mac, "", 2*time.Hour), mac, "", time.Hour},
		"a declined address":      {leaseOf("", "", time.Hour), "declined", "", time.Hour - time.Second},
		"written late":            {leaseOf(mac, "blue-worker-1", 10*time.Minute), "blue-worker-1", "blue-worker-1", 10*time.Minute - time.Second},
		"a VM of this name":       {leaseOf(mac, "declined", 2*time.Hour), "declined", "declined", time.Hour},
		"a name that is no label": {leaseOf(mac, "blue worker", 2*time.Hour), "blue worker", "", time.Hour},
		"an expired one":          {leaseOf(mac, "blue-worker-1", -time.Hour), "blue-worker-1", "blue-worker-1", time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			o := leaseobject.Of("clusters.vlan100", c.lease, time.Hour, writtenAt)
			g.Expect(o.Name).To(Equal("oooi.clusters.vlan100.192.168.100.20"))
			g.Expect(*o.Spec.HolderIdentity).To(Equal(c.holder))
			g.Expect(o.Labels).To(And(HaveKeyWithValue("hostedcluster.densityops.com/address", "192.168.100.20"), HaveKeyWithValue("velero.io/exclude-from-backup", "true")))
			g.Expect(o.Labels["hostedcluster.densityops.com/vm"]).To(Equal(c.vm))
			g.Expect(o.Labels["hostedcluster.densityops.com/mac"]).To(Equal(strings.ReplaceAll(c.lease.MAC, ":", "-")))
			for _, value := range o.Labels {
				g.Expect(validation.IsValidLabelValue(value)).To(BeEmpty())
			}
			g.Expect(*o.Spec.LeaseDurationSeconds).To(BeEquivalentTo(c.duration / time.Second))
			g.Expect(o.Spec.RenewTime.Add(time.Duration(*o.Spec.LeaseDurationSeconds) * time.Second)).To(BeTemporally("==", c.lease.Expires))
			read, err := leaseobject.Read(o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read.AsWritten()).To(Equal(c.lease))
			if c.lease.MAC != "" {
				g.Expect(read.LeaseTime).To(BeEquivalentTo(c.duration), "the lease time that it was written with")
			}
		})
	}
}

// TestReadLeaseOfOthers: an object that is broken blocks its address.
func TestReadLeaseOfOthers(t *testing.T) {
	const mac = "02:00:00:00:00:01"
	seconds, renewed := int32(3600), metav1.NewMicroTime(writtenAt.Truncate(time.Second))
	expires := renewed.Add(time.Hour)
	a := netip.MustParseAddr("192.168.100.20")
	blocked := network.Lease{Address: a, Expires: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	notes := func(mac, vm string) map[string]string {
		return map[string]string{wire.AnnotationMAC: mac, wire.AnnotationVM: vm}
	}
	for what, c := range map[string]struct {
		holder string
		notes  map[string]string
		lease  network.Lease
	}{
		"the MAC is the holder, no annotation": {mac, map[string]string{wire.AnnotationVM: "blue-1"}, blocked},
		"declined":                             {"declined", notes("", ""), network.Lease{Address: a, Expires: expires}},
		"a MAC that is none":                   {"blue-1", notes("02:00\x1b[2J", "blue-1"), blocked},
		"a VM without its MAC":                 {"blue-1", notes("", "blue-1"), blocked},
		"a holder of others, no annotations":   {"me", nil, blocked},
		"no holder":                            {"", notes(mac, "blue-1"), blocked},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			o := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "oooi.clusters.vlan100.192.168.100.20", Annotations: c.notes},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: &c.holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed}}
			read, err := leaseobject.Read(o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read.AsWritten()).To(Equal(c.lease))
		})
	}
}
