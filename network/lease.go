// This file holds Lease, the stored state of an assigned address, and the rules of its
// expiry. It never reads a clock.

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
	VM string `json:"machine,omitempty"`
	// Expires is never before the end of the client's lease. It is written ahead, so
	// most renewals write nothing. Whole seconds.
	Expires time.Time `json:"expires"`
}

// Held reports whether the client has the address at now.
func (l Lease) Held(now time.Time) bool { return now.Before(l.Expires) }

// Free reports whether the address may be assigned to another client at now. It may a
// full lease time after Expires, since a renewal may have been granted but not
// written. After Expires suffices if the VM is gone or the address was in quarantine.
func (l Lease) Free(now time.Time, leaseTime time.Duration, gone bool) bool {
	if gone || l.MAC == "" {
		return !l.Held(now)
	}
	return !now.Before(l.Expires.Add(leaseTime))
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
