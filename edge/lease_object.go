// This file converts between a lease and its Lease object. It never talks to the API
// server.

package edge

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// leaseObject returns l as it is written at now. The MAC is the holder; renewTime plus the
// duration is the expiry.
func leaseObject(name string, l network.Lease, now time.Time) *coordinationv1.Lease {
	holder := l.MAC
	if holder == "" {
		holder = declined
	}
	seconds := max(1, int32(min(l.Expires.Sub(now)/time.Second, 1<<31-1)))
	renewed := metav1.NewMicroTime(l.Expires.Add(-time.Duration(seconds) * time.Second))
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name:        wire.LeaseName(name, l.Address),
			Labels:      wire.LeaseLabels(name),
			Annotations: map[string]string{wire.AnnotationMAC: l.MAC, wire.AnnotationVM: l.VM},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}
}

// readLease returns the lease in o. An object without readable fields blocks its address
// for all clients, because its holder is unknown.
func readLease(o *coordinationv1.Lease) (network.Lease, error) {
	a, err := wire.LeaseAddress(o.Name)
	if err != nil {
		return network.Lease{}, fmt.Errorf("lease %s: %w", o.Name, err)
	}
	if o.Spec.HolderIdentity == nil || *o.Spec.HolderIdentity == "" || o.Spec.RenewTime == nil || o.Spec.LeaseDurationSeconds == nil {
		return network.Lease{Address: a, Expires: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
	}
	l := network.Lease{
		Address: a, MAC: *o.Spec.HolderIdentity, VM: o.Annotations[wire.AnnotationVM],
		Expires: o.Spec.RenewTime.Add(time.Duration(*o.Spec.LeaseDurationSeconds) * time.Second).UTC().Truncate(time.Second),
	}
	if l.MAC == declined {
		l.MAC = ""
	}
	return l, nil
}
