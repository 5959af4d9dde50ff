package kube

import (
	"errors"
	"testing"
	"time"
)

// TestGone: a VM is gone five minutes after its deletion, or after the first list without it. It is not
// while VMs cannot be watched, and if a VM of its name exists again.
func TestGone(t *testing.T) {
	clock := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	d := deletions{now: func() time.Time { return clock }}
	is := func(when, name string, want bool) {
		t.Helper()
		if got := d.gone(name); got != want {
			t.Errorf("%s: %s is gone: %v", when, name, got)
		}
	}
	pass := func(p time.Duration) { clock = clock.Add(p) }
	pass(goneAfter)
	is("nothing was read", "blue-0", false)
	d.answered(nil)
	d.listed()
	is("read just now", "blue-0", false)
	pass(goneAfter - time.Second)
	d.listed()
	is("almost five minutes ago", "blue-0", false)
	pass(time.Second)
	is("five minutes ago", "blue-0", true)
	d.deleted("blue-1")
	is("just now", "blue-1", false)
	is("another one is deleted", "blue-0", true)
	pass(goneAfter - time.Second)
	is("almost five minutes ago", "blue-1", false)
	pass(time.Second)
	is("five minutes ago", "blue-1", true)
	d.answered(errors.New("no route to host"))
	is("not watched", "blue-1", false)
	pass(time.Hour)
	is("still not watched", "blue-1", false)
	d.answered(nil)
	is("watched again, but news may follow", "blue-1", false)
	d.created("blue-1")
	d.deleted("blue-1")
	pass(relisting)
	is("it existed meanwhile", "blue-1", false)
	is("it did not exist meanwhile", "blue-0", true)
	d.deleted("blue-2")
	d.created("blue-2")
	d.deleted("blue-3")
	pass(2 * goneAfter)
	d.deleted("blue-4")
	if len(d.at) != 1 {
		t.Errorf("%d deletions are remembered", len(d.at))
	}
}
