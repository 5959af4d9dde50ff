// This file holds Lease, what is remembered of an address that was given, and
// the two questions about time that everybody must answer alike. It never reads
// a clock.

package network

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"time"
)

// A Lease is one address given to one MAC, as it is stored.
type Lease struct {
	Address netip.Addr `json:"address"`
	// MAC in lower case with colons. It alone says whose the lease is, since a
	// client identifier changes between a node's initrd and its root. Empty: the
	// address is nobody's until Expires, because a client found it in use
	// (DHCPDECLINE).
	MAC string `json:"mac"`
	// VM is the name of the cluster's VM with this MAC. Empty: not one
	// of the cluster's.
	VM string `json:"machine,omitempty"`
	// Expires is never before what the client was told. It is written ahead, so
	// that most renewals write nothing. Whole seconds.
	Expires time.Time `json:"expires"`
}

// Held says whether the address is the client's at now.
func (l Lease) Held(now time.Time) bool { return now.Before(l.Expires) }

// Free says whether the address may be given to another client at now: a full
// lease time after it expired, since a renewal may have been granted while it
// could not be written; at once where its machine is gone, or where it was
// nobody's.
func (l Lease) Free(now time.Time, leaseTime time.Duration, gone bool) bool {
	if gone || l.MAC == "" {
		return !l.Held(now)
	}
	return !now.Before(l.Expires.Add(leaseTime))
}

// Shortened is name where it has at most limit bytes, else its beginning and a
// hash of all of it: the same for the same name, for labels (63) and object
// names (253). The limit is at least 16.
func Shortened(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:limit-len(hash)-1], "-._") + "-" + hash
}
