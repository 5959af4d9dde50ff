// This file translates a lease to its object and back. It never talks to the API
// server.

package edge

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/network"
)

// leaseName is "oooi.<network>.<address>". The address is read from the name
// alone, so that what else an object says can't give an address twice.
func leaseName(name string, a netip.Addr) string {
	return network.Shortened("oooi."+name, 253-len(".255.255.255.255")) + "." + a.String()
}

func addressOf(objectName string) (netip.Addr, error) {
	parts := strings.Split(objectName, ".")
	return netip.ParseAddr(strings.Join(parts[max(0, len(parts)-4):], "."))
}

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
			Name:        leaseName(name, l.Address),
			Labels:      leaseLabels(name),
			Annotations: map[string]string{annotationMAC: l.MAC, annotationMachine: l.Machine},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}
}

// readLease is what o says. An object that somebody made unreadable keeps its
// address from everybody: who has it is not known.
func readLease(o *coordinationv1.Lease) (network.Lease, error) {
	a, err := addressOf(o.Name)
	if err != nil {
		return network.Lease{}, fmt.Errorf("lease %s: %w", o.Name, err)
	}
	if o.Spec.HolderIdentity == nil || *o.Spec.HolderIdentity == "" || o.Spec.RenewTime == nil || o.Spec.LeaseDurationSeconds == nil {
		return network.Lease{Address: a, Expires: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
	}
	l := network.Lease{
		Address: a, MAC: *o.Spec.HolderIdentity, Machine: o.Annotations[annotationMachine],
		Expires: o.Spec.RenewTime.Add(time.Duration(*o.Spec.LeaseDurationSeconds) * time.Second).UTC().Truncate(time.Second),
	}
	if l.MAC == nobody {
		l.MAC = ""
	}
	return l, nil
}
