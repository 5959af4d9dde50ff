// This file simulates rolling replacements of NodePools in virtual time: nodes come and go as Cluster
// API makes them, each with a new name and a new MAC, and the DHCP server serves them. It shows that the
// size that the plan demands of a range is enough, and that one address less is not.

package reply_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// goneAfter is the time after which a VM without an object is gone for certain.
	goneAfter = 5 * time.Minute
	// longestRetry is the longest pause of a client between two tries (RFC 2131 section 4.1).
	longestRetry = 64 * time.Second
	tick         = time.Second
)

// A nodePool is replaced node by node, or several at a time.
type nodePool struct{ nodes, surge int }

// A worker is one VM of a NodePool. It never releases its address.
type worker struct {
	name, mac string
	pool      int
	fresh     bool // Made by the update
	address   netip.Addr
	// asks is the time of its first DHCPDISCOVER, and next that of its next message.
	asks, next time.Time
	pause      time.Duration
	ready      time.Time // Zero: it has no address yet
	ends       time.Time // Its object is deleted. Zero: it stays
}

// A rollout is the VMs of all NodePools and their server.
type rollout struct {
	t       *testing.T
	n       network.Network
	pools   []nodePool
	store   *leases.Memory
	clock   time.Time
	random  *rand.Rand
	made    int
	workers []*worker
	deleted map[string]time.Time
	// longest is the longest time for which a VM has waited for its address.
	longest time.Duration
}

func (r *rollout) VM(mac string) (string, netip.Addr, bool) {
	for _, w := range r.workers {
		if w.mac == mac {
			return w.name, netip.Addr{}, true
		}
	}
	return "", netip.Addr{}, false
}

func (r *rollout) All() iter.Seq2[string, netip.Addr] {
	return func(yield func(string, netip.Addr) bool) {
		for _, w := range r.workers {
			if !yield(w.mac, netip.Addr{}) {
				return
			}
		}
	}
}

func (r *rollout) Gone(name string) bool {
	at, ok := r.deleted[name]
	return ok && r.clock.Sub(at) >= goneAfter
}

func (r *rollout) Reporter(netip.Addr) string { return "" }
func (r *rollout) Ready() error               { return nil }

// minutes returns a random time from a to b minutes.
func (r *rollout) minutes(a, b int) time.Duration {
	return time.Duration(a)*time.Minute + time.Duration(r.random.Int64N(int64(b-a)*int64(time.Minute)))
}

func (r *rollout) create(pool int, fresh bool) *worker {
	r.made++
	w := &worker{
		name: fmt.Sprint("blue-", pool, "-", r.made), mac: fmt.Sprintf("02:00:00:0e:%02x:%02x", r.made>>8, r.made&0xff),
		pool: pool, fresh: fresh, asks: r.clock.Add(r.minutes(0, 1)), pause: 4 * time.Second,
	}
	w.next = w.asks
	r.workers = append(r.workers, w)
	return w
}

// says is one message of w, and what the server writes for it.
func (r *rollout) says(m *dhcpv4.DHCPv4) reply.Verdict {
	k := reply.Known{Leases: r.store, VMs: r, Complete: true, Fresh: true, Offered: func(netip.Addr) string { return "" }}
	k.PoolRemaining = func() int { return reply.PoolRemaining(r.n, k, r.clock) }
	v := reply.Decide(r.n, k, m, r.clock)
	if v.Next.Address.IsValid() {
		if err := r.store.Replace(r.t.Context(), v.Was, v.Next); err != nil {
			r.t.Fatal(err)
		}
	}
	if v.Remove.Address.IsValid() {
		_ = r.store.Remove(r.t.Context(), v.Remove)
	}
	return v
}

// run lets w do what is due: boot or renew.
func (r *rollout) run(w *worker) {
	if r.clock.Before(w.next) {
		return
	}
	if !w.address.IsValid() {
		r.longest = max(r.longest, r.clock.Sub(w.asks))
		offered := r.says(message(discover, w.mac))
		if offered.Answer == nil {
			w.next, w.pause = r.clock.Add(w.pause), min(2*w.pause, longestRetry)
			return
		}
		v := r.says(message(request, w.mac, server(us), asks(offered.Address.String())))
		if v.Outcome != reply.Granted {
			r.t.Fatalf("%s: %s %s after an offer", w.name, v.Outcome, v.Why)
		}
		w.address, w.ready = v.Address, r.clock.Add(r.minutes(3, 6))
	} else if v := r.says(message(request, w.mac, dhcpv4.WithClientIP(w.address.AsSlice()))); v.Outcome != reply.Granted {
		r.t.Fatalf("%s: renewal of %s is %s", w.name, w.address, v.Outcome)
	}
	w.next = r.clock.Add(time.Duration(r.n.DHCP.LeaseTime) / 2)
}

// update does what Cluster API does now: delete old nodes while enough are ready, and make new ones
// while there are fewer VMs than nodes and surge. A VM counts until its object is gone. It reports
// whether all nodes are new and ready.
func (r *rollout) update() bool {
	done := true
	for i, pool := range r.pools {
		all, fresh, ready := 0, 0, 0
		var old []*worker
		for _, w := range r.workers {
			if w.pool != i {
				continue
			}
			all++
			isReady := !w.ready.IsZero() && !r.clock.Before(w.ready)
			if w.ends.IsZero() && isReady {
				ready++
			}
			if w.fresh {
				fresh++
				done = done && isReady
			} else if w.ends.IsZero() {
				old = append(old, w)
			}
		}
		for ; len(old) > 0 && ready > pool.nodes; ready-- {
			old[0].ends, old = r.clock.Add(r.minutes(1, 3)), old[1:] // It is drained first.
		}
		for ; all < pool.nodes+pool.surge && fresh < pool.nodes; all, fresh = all+1, fresh+1 {
			r.create(i, true)
		}
		done = done && fresh == pool.nodes && len(old) == 0
	}
	var left []*worker
	for _, w := range r.workers {
		if w.ends.IsZero() || r.clock.Before(w.ends) {
			left = append(left, w)
		} else {
			r.deleted[w.name] = r.clock
		}
	}
	r.workers = left
	return done
}

// replace runs a replacement of all nodes in a range with that many addresses, until it is complete
// or a VM has waited for limit. It returns the longest time that a VM waited for an address.
func replace(t *testing.T, seed uint64, pools []nodePool, leaseTime time.Duration, addresses int, limit time.Duration) time.Duration {
	t.Helper()
	n, _ := ranged(pools, leaseTime, addresses)
	store := &leases.Memory{}
	r := &rollout{
		t: t, n: n, pools: pools, store: store, clock: now,
		random: rand.New(rand.NewPCG(seed, 7)), deleted: map[string]time.Time{},
	}
	for i, pool := range pools {
		for range pool.nodes {
			w := r.create(i, false)
			w.asks, w.next = r.clock, r.clock
			r.run(w)
			w.ready = r.clock
		}
	}
	r.longest = 0
	for r.longest < limit && !r.update() {
		r.clock = r.clock.Add(tick)
		for _, w := range r.workers {
			r.run(w)
		}
	}
	return r.longest
}

// ranged returns a network with a range of that many addresses for pools, and whether its plan says that
// the range is too small.
func ranged(pools []nodePool, leaseTime time.Duration, addresses int) (n network.Network, tooSmall bool) {
	vms := 0
	for _, p := range pools {
		vms += p.nodes + p.surge
	}
	decision := derive.Derive(network.Request{
		Cluster: network.Cluster{Namespace: "clusters", Name: "blue", Domain: "blue.example.com"}, Edges: 1,
		Networks: []network.NetworkRequest{{
			Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100"}, Primary: true, VMs: vms,
			CIDR:     netip.MustParsePrefix("192.168.100.0/24"),
			Settings: network.Settings{LeaseTime: network.Duration(leaseTime), DHCPRange: network.Range{First: at("10"), Last: at(fmt.Sprint(9 + addresses))}},
		}},
	}, network.Facts{}, network.Plan{}, nil)
	for _, p := range decision.Problems {
		tooSmall = tooSmall || p.Reason == problem.RangeTooSmall
	}
	plan, _ := decision.Plan()
	return plan.Networks[0], tooSmall
}

// demanded returns the smallest number of addresses that the plan does not call too small.
func demanded(pools []nodePool) int {
	for size := 1; ; size++ {
		if _, tooSmall := ranged(pools, time.Hour, size); !tooSmall {
			return size
		}
	}
}

// TestRollingReplacement: with as many addresses as the plan demands, no VM of a rolling replacement waits for its address much longer than
// a deleted VM keeps its own. With one address less, a VM waits. Neither result depends on the lease time.
func TestRollingReplacement(t *testing.T) {
	const keeps = goneAfter + longestRetry + tick
	for name, c := range map[string]struct {
		pools []nodePool
		// longest: VMs that wait at the same time compete for each address, so one may miss a few.
		longest time.Duration
	}{
		"three nodes":                      {[]nodePool{{3, 1}}, keeps},
		"twelve nodes":                     {[]nodePool{{12, 1}}, keeps},
		"twelve nodes, three at a time":    {[]nodePool{{12, 3}}, 3 * keeps},
		"three NodePools at the same time": {[]nodePool{{4, 1}, {6, 2}, {3, 1}}, 3 * keeps},
	} {
		pools := c.pools
		size := demanded(pools)
		for _, leaseTime := range []time.Duration{time.Hour, 12 * time.Hour} {
			for seed := range uint64(5) {
				if wait := replace(t, seed, pools, leaseTime, size, time.Hour); wait > c.longest {
					t.Errorf("%s, leases of %s, seed %d: with %d addresses, a VM waited for %s", name, leaseTime, seed, size, wait)
				}
				if wait := replace(t, seed, pools, leaseTime, size-1, time.Hour); wait <= keeps {
					t.Errorf("%s, leases of %s, seed %d: with %d addresses, no VM waited for more than %s", name, leaseTime, seed, size-1, wait)
				}
			}
		}
	}
}
