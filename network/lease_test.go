package network

import (
	"net/netip"
	"testing"
	"time"
)

// TestFreeAddresses: when the address of a lease may be given to another client.
func TestFreeAddresses(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	const leaseTime = time.Hour
	lease := func(mac string, after time.Duration) Lease {
		return Lease{Address: netip.MustParseAddr("192.168.100.20"), MAC: mac, Expires: now.Add(after)}
	}
	const mac = "02:00:00:00:00:01"
	for name, c := range map[string]struct {
		lease Lease
		gone  bool
		want  bool
	}{
		"held":                                   {lease(mac, time.Second), false, false},
		"over, but a renewal may not be written": {lease(mac, -leaseTime+time.Second), false, false},
		"over for a lease time":                  {lease(mac, -leaseTime), false, true},
		"held by a VM that is gone":              {lease(mac, time.Hour), true, true},
		"held for a week by a VM that is gone":   {lease(mac, 7*24*time.Hour), true, true},
		"in quarantine":                          {lease("", time.Second), false, false},
		"in quarantine, although its VM is gone": {lease("", time.Second), true, false},
		"in quarantine until now":                {lease("", 0), false, true},
	} {
		if got := c.lease.Free(now, leaseTime, c.gone); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestChangedLeaseTime: a lease counts with the lease time that it was written with, if the plan has another one since.
// What an edge with either plan promises ends before an edge with the other one assigns the address.
func TestChangedLeaseTime(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, written := range []time.Duration{0, 10 * time.Minute, time.Hour} {
		l := Lease{MAC: "02:00:00:00:00:01", Expires: now, LeaseTime: Duration(written)}
		for _, mine := range []time.Duration{10 * time.Minute, time.Hour} {
			for _, peers := range []time.Duration{10 * time.Minute, time.Hour} {
				if written == 0 && mine != peers {
					continue
				}
				if until := l.Promised(mine); l.Free(until, peers, false) || until.Before(now.Add(8*time.Minute)) {
					t.Errorf("written with %s: promised with %s until %s, free with %s", written, mine, until, peers)
				}
			}
		}
	}
	l := Lease{MAC: "02:00:00:00:00:01", Expires: now.AddDate(1, 0, 0), LeaseTime: Duration(LongestLeaseTime * 100)}
	if got := l.Bounded(now); got.Free(now, time.Hour, false) || !got.Free(now.Add(3*LongestLeaseTime), time.Hour, false) {
		t.Errorf("bounded to %s", got.Expires)
	}
}

// TestBoundedExpiry: an expiry that no server writes counts as the latest one that a server writes. A
// shorter one stays as it is, and so does that of an address whose object cannot be read.
func TestBoundedExpiry(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	latest := now.Truncate(time.Second).Add(2 * LongestLeaseTime)
	const mac = "02:00:00:00:00:01"
	a := netip.MustParseAddr("192.168.100.20")
	for name, c := range map[string]struct {
		mac           string
		expires, want time.Time
	}{
		"soon":               {mac, now.Add(time.Hour), now.Add(time.Hour)},
		"as late as written": {mac, latest, latest},
		"in ten years":       {mac, now.AddDate(10, 0, 0), latest},
		"a quarantine":       {"", now.Truncate(time.Second).Add(time.Hour), now.Truncate(time.Second).Add(time.Hour)},
		"a long quarantine":  {"", now.AddDate(10, 0, 0), now.Truncate(time.Second).Add(time.Hour)},
		"a blocked address":  {"", BlockedLease(a).Expires, BlockedLease(a).Expires},
	} {
		if got := (Lease{Address: a, MAC: c.mac, Expires: c.expires}).Bounded(now); !got.Expires.Equal(c.want) {
			t.Errorf("%s: %s", name, got.Expires)
		}
	}
}
