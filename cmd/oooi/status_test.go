package main

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/network"
)

var statusAt = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// running is an API server with hosted cluster clusters/blue, and with objects.
func running(t *testing.T, more ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(errors.Join(hyperv1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme))).To(Succeed())
	blue := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "blue", Annotations: map[string]string{"hostedcluster.densityops.com/network": "auto"}}}
	blue.Status.Conditions = []metav1.Condition{{
		Type: "hostedcluster.densityops.com/NetworkReady", Status: metav1.ConditionTrue, Reason: "ReadyWithWarnings", LastTransitionTime: metav1.NewTime(statusAt),
		Message: "Nodes can boot.\nWarning NTPMissing: a.\nthree\nfour\nfive\nsix\nseven\n(settings 01234567)",
	}}
	other := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "not-ours"}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(more, blue, other)...).Build()
}

func leaseIn(ns, address, mac, vm string, after time.Duration) *coordinationv1.Lease {
	o := leaseobject.Of("clusters.vlan100", network.Lease{Address: netip.MustParseAddr(address), MAC: mac, VM: vm, Expires: statusAt.Add(after)}, time.Hour, statusAt)
	o.Namespace = ns
	return o
}

// TestStatus: the first lines of the condition, and each lease in a row. An object that cannot be read blocks its address.
func TestStatus(t *testing.T) {
	g := NewWithT(t)
	broken := leaseIn("clusters-blue", "192.168.100.24", "02:00:00:00:00:05", "blue-worker-3", time.Hour)
	broken.Spec.HolderIdentity = nil
	api := running(t,
		leaseIn("clusters-blue", "192.168.100.100", "02:00:00:00:00:03", "", 2*time.Hour),
		leaseIn("clusters-blue", "192.168.100.20", "02:00:00:00:00:01", "blue-worker-1", 2*time.Hour),
		leaseIn("clusters-blue", "192.168.100.21", "", "", time.Hour),
		leaseIn("clusters-blue", "192.168.100.22", "02:00:00:00:00:02", "blue-worker-2", -time.Hour),
		leaseIn("clusters-red", "192.168.100.23", "02:00:00:00:00:04", "red-worker-1", time.Hour),
		broken,
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "kube-controller-manager"}},
	)
	for _, cluster := range []string{"", "clusters/blue"} {
		var out bytes.Buffer
		g.Expect(status(t.Context(), &out, api, cluster, statusAt)).To(Succeed())
		g.Expect("\n" + out.String()).To(Equal(`
HostedCluster clusters/blue
NetworkReady: True (ReadyWithWarnings) since 2026-03-04T05:06:07Z
  Nodes can boot.
  Warning NTPMissing: a.
  three
  four
  five
  six
  (2 more lines are in the condition)
NETWORK            ADDRESS           VM              MAC                 EXPIRES                STATE
clusters.vlan100   192.168.100.20    blue-worker-1   02:00:00:00:00:01   2026-03-04T07:06:07Z   assigned
clusters.vlan100   192.168.100.21    -               -                   2026-03-04T06:06:07Z   declined
clusters.vlan100   192.168.100.22    blue-worker-2   02:00:00:00:00:02   2026-03-04T04:06:07Z   expired
clusters.vlan100   192.168.100.24    -               -                   9999-01-01T00:00:00Z   blocked
clusters.vlan100   192.168.100.100   -               02:00:00:00:00:03   2026-03-04T07:06:07Z   assigned
`))
	}
}

// TestStatusOfOthers: what cannot be shown is named.
func TestStatusOfOthers(t *testing.T) {
	api := running(t)
	for cluster, says := range map[string]string{
		"clusters/green": "HostedCluster clusters/green: ",
		"blue":           "--cluster blue: want NAMESPACE/NAME",
		"clusters/":      "--cluster clusters/: want NAMESPACE/NAME",
	} {
		NewWithT(t).Expect(status(t.Context(), &bytes.Buffer{}, api, cluster, statusAt)).To(MatchError(ContainSubstring(says)))
	}
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(status(t.Context(), &out, api, "clusters/not-ours", statusAt)).To(Succeed())
	g.Expect(out.String()).To(Equal("HostedCluster clusters/not-ours\nNetworkReady: not reported. Check that the operator runs.\nNo DHCP leases.\n"))
}
