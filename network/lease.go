// This file holds Lease, the stored state of an assigned address, and the rules of its
// expiry. It never reads a clock. It also shortens names of VMs.

package network

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"time"
)

// A Lease is one address assigned to one MAC, as stored.
type Lease struct {
	Address netip.Addr `json:"address"`
	// MAC is in lower case with colons. It alone identifies the client, since the client identifier changes between a node's
	// initrd and its root. Empty: a client found the address in use (DHCPDECLINE), and it is in quarantine until Expires.
	MAC string `json:"mac"`
	// VM is the name of the cluster's VM with this MAC. Empty: an unknown client.
	VM string `json:"vm,omitempty"`
	// Expires is never before the end of the client's lease. Servers write a later time than that, so that most
	// renewals write nothing. It has whole seconds.
	Expires time.Time `json:"expires"`
	// Version is the version of the stored object. A client may release its lease and get an equal one within the
	// same second; only the version distinguishes the two. Empty: unknown, or the store has no versions.
	Version string `json:"-"`
	// LeaseTime is the lease time of the network when the lease was written. The plan may have changed since. Zero:
	// the store does not keep it.
	LeaseTime Duration `json:"leaseTime,omitempty"`
}

// AsWritten returns l without the fields that the store adds.
func (l Lease) AsWritten() Lease {
	l.Version, l.LeaseTime = "", 0
	return l
}

// BlockedLease returns a lease that belongs to no client and never ends. It stands for a stored lease that cannot be
// read, so that its address is not assigned.
func BlockedLease(a netip.Addr) Lease {
	return Lease{Address: a, Expires: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Blocked reports whether l is a BlockedLease.
func (l Lease) Blocked() bool { return l.AsWritten() == BlockedLease(l.Address) }

// Held reports whether the client still has the address at the time now.
func (l Lease) Held(now time.Time) bool { return now.Before(l.Expires) }

// Free reports whether the address may be assigned to another client at the time now. A lease is free one lease time
// after Expires, since a renewal may have been granted but not written. Here, the lease time is the longer of
// leaseTime, that of the plan, and l.LeaseTime. An address in quarantine is free from Expires on. gone is true if no VM
// of this name has existed for five minutes. Then the address is free immediately.
func (l Lease) Free(now time.Time, leaseTime time.Duration, gone bool) bool {
	switch {
	case l.MAC == "":
		return !l.Held(now)
	case gone:
		return true
	}
	return !now.Before(l.Expires.Add(max(leaseTime, time.Duration(l.LeaseTime))))
}

// Quarantine is how long a declined address is not assigned.
const Quarantine = time.Hour

const LongestLeaseTime = 7 * 24 * time.Hour

// Bounded returns l as a server must read it at the time now. Servers write an expiry at most two lease times ahead, or
// one Quarantine. A later expiry, edited or from a wrong clock, becomes the latest possible one. A BlockedLease does
// not change.
func (l Lease) Bounded(now time.Time) Lease {
	longest := Quarantine
	switch {
	case l.Blocked():
		return l
	case l.MAC != "":
		l.LeaseTime = min(l.LeaseTime, Duration(LongestLeaseTime))
		longest = 2 * LongestLeaseTime // The lease time may have been longer.
	}
	if latest := now.UTC().Truncate(time.Second).Add(longest); l.Expires.After(latest) {
		l.Expires = latest
	}
	return l
}

// Promised returns until when the client may use the address if no later expiry can be written. That is when Free
// becomes true, less an eighth of the lease time: the clocks of two edges may differ by that much. The lease time is
// the shorter of leaseTime, that of the plan, and l.LeaseTime.
func (l Lease) Promised(leaseTime time.Duration) time.Time {
	if l.LeaseTime > 0 {
		leaseTime = min(leaseTime, time.Duration(l.LeaseTime))
	}
	return l.Expires.Add(leaseTime - leaseTime/8)
}

// Shortened returns name, or its beginning and a hash if it has more than limit bytes. The limit is at least 16: 63 for
// labels, 253 for object names.
func Shortened(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:limit-len(hash)-1], "-._") + "-" + hash
}

// IsMAC reports whether s is a MAC of six bytes as oooi writes it: in lower case with colons.
func IsMAC(s string) bool {
	if len(s) != len("02:00:00:00:00:01") {
		return false
	}
	for i := range len(s) {
		hex := s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'f'
		if i%3 == 2 && s[i] != ':' || i%3 < 2 && !hex {
			return false
		}
	}
	return true
}
