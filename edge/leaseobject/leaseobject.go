// Package leaseobject converts between a DHCP lease and its Lease object, as `kubectl get
// leases` shows it.
package leaseobject

import (
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// Declined is the holder of an address that a client found in use (DHCPDECLINE).
const Declined = "declined"

// Of returns the Lease object for l, a lease on the named network, as it is written at now. The
// holder is the VM, or the MAC of an unknown client. renewTime plus the duration is the expiry, and
// the duration is at most leaseTime, which clients get. So renewTime may be after now: renewals
// until then write nothing.
func Of(networkName string, l network.Lease, leaseTime time.Duration, now time.Time) *coordinationv1.Lease {
	holder := l.VM
	switch {
	case l.MAC == "":
		holder = Declined
	case holder == "":
		holder = l.MAC
	}
	left := l.Expires.Sub(now)
	if leaseTime > 0 && left > leaseTime {
		left = leaseTime
	}
	seconds := max(1, int32(min(left/time.Second, 1<<31-1)))
	renewed := metav1.NewMicroTime(l.Expires.Add(-time.Duration(seconds) * time.Second))
	labels := wire.Written(wire.LeaseLabels(networkName))
	for key, value := range map[string]string{
		wire.LabelAddress: l.Address.String(), wire.LabelMAC: strings.ReplaceAll(l.MAC, ":", "-"), wire.LabelVM: network.Shortened(l.VM, validation.LabelValueMaxLength),
	} {
		if value != "" && len(validation.IsValidLabelValue(value)) == 0 {
			labels[key] = value
		}
	}
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name:        wire.LeaseName(networkName, l.Address),
			Labels:      labels,
			Annotations: map[string]string{wire.AnnotationMAC: l.MAC, wire.AnnotationVM: l.VM},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}
}

// Read returns the lease in o. An object without readable fields, or with an invalid MAC,
// blocks its address for all clients: its client is unknown.
func Read(o *coordinationv1.Lease) (network.Lease, error) {
	a, err := wire.LeaseAddress(o.Name)
	if err != nil {
		return network.Lease{}, fmt.Errorf("lease %s: %w", o.Name, err)
	}
	blocked := network.BlockedLease(a)
	if o.Spec.HolderIdentity == nil || *o.Spec.HolderIdentity == "" || o.Spec.RenewTime == nil || o.Spec.LeaseDurationSeconds == nil {
		return blocked, nil
	}
	l := network.Lease{
		Address: a, MAC: o.Annotations[wire.AnnotationMAC], VM: o.Annotations[wire.AnnotationVM],
		Expires: o.Spec.RenewTime.Add(time.Duration(*o.Spec.LeaseDurationSeconds) * time.Second).UTC().Truncate(time.Second),
	}
	switch holder := *o.Spec.HolderIdentity; {
	case l.MAC != "" && !network.IsMAC(l.MAC):
		return blocked, nil
	case l.MAC != "":
	case holder == Declined:
		l.VM = ""
		return l, nil
	default:
		return blocked, nil
	}
	l.LeaseTime = network.Duration(time.Duration(*o.Spec.LeaseDurationSeconds) * time.Second)
	return l, nil
}
