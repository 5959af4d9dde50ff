package operatorbench

import (
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestLeaderChanges: a replica that waits leads after the leader ends, and does what is asked meanwhile. A leader that is told
// to stop gives its Lease up: the next one does not wait until it expires.
func TestLeaderChanges(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.addClusters(t, 2)
	w.playDeployments(t)
	l := w.launcher(t)
	l.elects = true
	leads := l.start(t)
	g.Eventually(func() int { _, ready := leads.ready(); return ready }, patience, "100ms").Should(Equal(2))

	for _, x := range []struct {
		name    string
		signal  syscall.Signal
		givesUp bool
		wish    wish
	}{
		{"told to stop", syscall.SIGTERM, true, wish{"auto", 2, 41 * time.Minute}},
		{"killed", syscall.SIGKILL, false, wish{"auto", 1, 42 * time.Minute}},
	} {
		waits := l.start(t)
		g.Eventually(waits.watches, patience, "100ms").Should(BeNumerically(">", 5), "it reads what the leader reads")
		leaders := w.leaders(t)
		g.Eventually(leaders, patience).Should(HaveLen(1))
		before, began := leaders(), time.Now()
		g.Expect(leads.Process.Signal(x.signal)).To(Succeed())
		w.asks(t, w.names[0], x.wish)
		next := HaveExactElements(before[0], Not(BeEmpty()))
		if x.givesUp {
			next = HaveExactElements(before[0], "", Not(BeEmpty()))
		}
		g.Eventually(leaders, patience, "20ms").Should(next, x.name)
		t.Logf("the leader is %s: another one leads after %s", x.name, time.Since(began).Round(time.Millisecond))
		g.Eventually(func() string { return w.differs(t, w.names[0], x.wish) }, patience, "100ms").Should(BeEmpty(), x.name)
		t.Logf("and has done what is asked after %s", time.Since(began).Round(time.Millisecond))
		leads = waits
	}
}

// leaders returns which replicas have led since now, one after the other. Empty: none did.
func (w *world) leaders(t *testing.T) func() []string {
	t.Helper()
	g := NewWithT(t)
	watching, err := client.NewWithWatch(w.Env.Config, client.Options{Scheme: w.Admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	changes, err := watching.Watch(t.Context(), &coordinationv1.LeaseList{}, client.InNamespace("oooi-system"), client.MatchingFields{"metadata.name": "oooi.densityops.com"})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(changes.Stop)
	var all []string
	return func() []string {
		for {
			select {
			case e := <-changes.ResultChan():
				lease, ok := e.Object.(*coordinationv1.Lease)
				g.Expect(ok).To(BeTrue(), "%v", e)
				holder := ""
				if lease.Spec.HolderIdentity != nil {
					holder = *lease.Spec.HolderIdentity
				}
				if len(all) == 0 || all[len(all)-1] != holder {
					all = append(all, holder)
				}
			default:
				return all
			}
		}
	}
}

// watches is how many kinds m watches.
func (m *manager) watches() int {
	all, _ := m.values("oooi_kind_watched") // None yet while it starts.
	n := 0
	for _, x := range all {
		n += int(x.GetGauge().GetValue())
	}
	return n
}
