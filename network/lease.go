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
	// MAC in lower case with colons. It alone identifies the client, since the client
	// identifier changes between a node's initrd and its root. Empty: a client found
	// the address in use (DHCPDECLINE), and it is in quarantine until Expires.
	MAC string `json:"mac"`
	// VM is the name of the cluster's VM with this MAC. Empty: an unknown client.
	VM string `json:"vm,omitempty"`
	// Expires is never before the end of the client's lease. It is written ahead, so
	// most renewals write nothing. Whole seconds.
	Expires time.Time `json:"expires"`
	// Version is that of the stored object. A client may release its lease and get an equal one within the
	// same second. Only the version distinguishes them. Empty: not known, or the store has none.
	Version string `json:"-"`
	// LeaseTime is the lease time of the network when the lease was written. The plan may have another one since.
	// Zero: the store does not keep it.
	LeaseTime Duration `json:"leaseTime,omitempty"`
}

// AsWritten returns l without what the store adds.
func (l Lease) AsWritten() Lease {
	l.Version, l.LeaseTime = "", 0
	return l
}

// BlockedLease returns a lease that no client has and that never ends: what is stored for the
// address cannot be read.
func BlockedLease(a netip.Addr) Lease {
	return Lease{Address: a, Expires: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Blocked reports whether l is a BlockedLease.
func (l Lease) Blocked() bool { return l.AsWritten() == BlockedLease(l.Address) }

// Held reports whether the client has the address at now.
func (l Lease) Held(now time.Time) bool { return now.Before(l.Expires) }

// Free reports whether the address may be assigned to another client at now. It may a
// full lease time after Expires, since a renewal may have been granted but not
// written. Of two lease times the longer one counts: that of the plan, and that with which the
// lease was written. An address in quarantine is free from Expires on. The address of a VM that is
// gone is free once that is certain: no VM of its name has existed for five minutes, so none uses it.
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

// LongestLeaseTime is the longest lease time that a network may have.
const LongestLeaseTime = 7 * 24 * time.Hour

// Bounded returns l as it counts for a server that reads it at now. No server writes an expiry
// more than two lease times ahead, or one Quarantine. So a later one was written by a server with a wrong clock,
// or edited, and counts as the latest possible one. A BlockedLease stays as it is.
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

// Promised returns until when the client may have the address if no later expiry can be
// written. It is the end of Free, less an eighth of the lease time: so much may the clocks
// of two edges differ. The shorter one of two lease times counts: that of the plan, and that with which it was written.
func (l Lease) Promised(leaseTime time.Duration) time.Time {
	if l.LeaseTime > 0 {
		leaseTime = min(leaseTime, time.Duration(l.LeaseTime))
	}
	return l.Expires.Add(leaseTime - leaseTime/8)
}

// Shortened returns name if it has at most limit bytes, else its beginning and a hash
// of the whole name. The limit is at least 16: 63 for labels, 253 for object names.
func Shortened(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:limit-len(hash)-1], "-._") + "-" + hash
}
