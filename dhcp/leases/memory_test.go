package leases_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dhcpmessages"
)

// TestMemory: a write in place of anything but the current lease changes nothing.
func TestMemory(t *testing.T) {
	g := NewWithT(t)
	var m leases.Memory
	a, other, none := dhcpmessages.Held("20", dhcpmessages.MAC1, time.Hour), dhcpmessages.Held("20", dhcpmessages.MAC2, time.Hour), network.Lease{}
	current := func() network.Lease { l, _ := m.At(a.Address); return l }
	g.Expect(m.Replace(t.Context(), a, a)).To(MatchError(fs.ErrExist), "there is no lease")
	g.Expect(m.Replace(t.Context(), none, a)).To(Succeed())
	first := current()
	g.Expect(first.AsWritten()).To(Equal(a))
	g.Expect(m.Replace(t.Context(), none, other)).To(MatchError(fs.ErrExist))
	longer := dhcpmessages.Held("20", dhcpmessages.MAC1, 2*time.Hour)
	g.Expect(m.Replace(t.Context(), first, longer)).To(Succeed())
	g.Expect(m.Replace(t.Context(), first, other)).To(MatchError(fs.ErrExist))
	g.Expect(m.Remove(t.Context(), first)).To(Succeed())
	g.Expect(current().AsWritten()).To(Equal(longer), "the removed lease was replaced before")
	g.Expect(m.Remove(t.Context(), current())).To(Succeed())
	g.Expect(current()).To(BeZero())
	g.Expect(m.Replace(t.Context(), none, other)).To(Succeed())
}

// TestEqualLeaseInMemory: the removal of a lease that was replaced by an equal one does nothing.
func TestEqualLeaseInMemory(t *testing.T) {
	g := NewWithT(t)
	var m leases.Memory
	l := dhcpmessages.Held("20", dhcpmessages.MAC1, time.Hour)
	g.Expect(m.Replace(t.Context(), network.Lease{}, l)).To(Succeed())
	was, _ := m.At(l.Address)
	g.Expect(m.Replace(t.Context(), was, l)).To(Succeed())
	g.Expect(m.Remove(t.Context(), was)).To(Succeed())
	_, ok := m.At(l.Address)
	g.Expect(ok).To(BeTrue())
}

// TestMemoryTogether: while many writers replace one lease, each lease is replaced once.
func TestMemoryTogether(t *testing.T) {
	g := NewWithT(t)
	var m leases.Memory
	const writers, rounds = 8, 5000
	var replaced sync.Map // by version
	var wrote atomic.Int64
	var all sync.WaitGroup
	for w := range writers {
		next := dhcpmessages.Held("20", fmt.Sprintf("02:00:00:00:00:%02x", w), time.Hour)
		all.Go(func() {
			for range rounds {
				was, _ := m.At(next.Address)
				switch err := m.Replace(t.Context(), was, next); {
				case err == nil:
					wrote.Add(1)
					if _, twice := replaced.LoadOrStore(was.Version, nil); twice {
						t.Errorf("version %q was replaced twice", was.Version)
						return
					}
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	last, _ := m.At(dhcpmessages.At("20"))
	g.Expect(last.Version).To(Equal(strconv.FormatInt(wrote.Load(), 10)))
}
