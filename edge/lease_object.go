// This file translates a lease to its object and back. It never talks to the API
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

// leaseObject is l as it is written at now: the MAC is the holder, and renewTime
// plus duration is when it expires.
func leaseObject(name string, l network.Lease, now time.Time) *coordinationv1.Lease {
	holder := l.MAC
	if holder == "" {
		holder = nobody
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

// readLease is what o says. An object that somebody made unreadable keeps its
// address from everybody: who has it is not known.
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
	if l.MAC == nobody {
		l.MAC = ""
	}
	return l, nil
}
