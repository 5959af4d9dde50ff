package dhcp_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// A schedule is one random history of two edges and their clients: edges are cut off from the API
// server, crash, restart with the leases of their file, and are replaced. They learn late what
// others write and remove, and their clocks differ.
type schedule struct {
	t     *testing.T
	r     *rand.Rand
	seed  uint64
	step  int
	clock time.Time
	n     network.Network
	api   *apiServer
	edges [2]*lawEdge
	// saved is a backup of the API server, and past decides when it is made and restored.
	saved *apiServer
	past  *rand.Rand
	// clients by MAC, and which of them may use an address until when.
	clients map[string]*lawClient
	uses    map[netip.Addr]network.Lease
	// lossy: messages and answers get lost. Deep: a write is under way.
	lossy, deep bool
	acting      *lawClient // whose step it is
	granted     int
	err         error
}

// A lawEdge is one edge. Its clock is fast by skew. Up: it runs. Peer: it was told that its peer
// serves clients.
type lawEdge struct {
	server *dhcp.Server
	store  *cutStore
	skew   time.Duration
	up     bool
	peer   bool
	// plan is the plan as it knows it.
	plan network.Network
	file []network.Lease
}

// A lawClient keeps to RFC 2131. Its kernel sends to one of the edges, via. It remembers the last address
// that it had, even if it released or declined it.
type lawClient struct {
	mac        string
	has        netip.Addr
	remembered netip.Addr
	end        time.Time
	via        int
}

func (c *lawClient) bound(now time.Time) bool { return c.has.IsValid() && now.Before(c.end) }

func newSchedule(t *testing.T, seed uint64, addresses int) *schedule {
	s := &schedule{
		t: t, r: rand.New(rand.NewPCG(seed, 3)), past: rand.New(rand.NewPCG(seed, 5)), seed: seed, clock: now, n: twice(), lossy: seed%2 == 0,
		api:     &apiServer{objects: map[netip.Addr]object{}},
		clients: map[string]*lawClient{}, uses: map[netip.Addr]network.Lease{},
	}
	s.n.DHCP.Range = network.Range{First: at("10"), Last: at(strconv.Itoa(9 + addresses))}
	for i := range s.edges {
		s.edges[i] = &lawEdge{plan: s.n, skew: time.Duration(s.r.IntN(75)-37) * time.Second}
		s.starts(i, nil)
		s.edges[i].store.lists()
	}
	for i := range 12 {
		mac := fmt.Sprintf("02:00:00:00:00:%02x", i)
		s.clients[mac] = &lawClient{mac: mac, via: s.r.IntN(2)}
	}
	return s
}

// starts runs edge i with the leases in its file.
func (s *schedule) starts(i int, file []network.Lease) {
	e := s.edges[i]
	cut := e.store != nil && e.store.cut
	e.store = &cutStore{
		api: s.api, versions: map[netip.Addr]int{}, written: map[netip.Addr]time.Time{}, missing: map[netip.Addr]bool{}, cut: cut, meanwhile: s.meanwhile,
		leaseTime: func() network.Duration { return e.plan.DHCP.LeaseTime },
		now:       func() time.Time { return s.clock }, lost: func() bool { return s.lossy && s.r.IntN(20) == 0 },
	}
	for _, l := range file {
		l.Version = ""
		e.store.Put(l)
	}
	metrics := dhcp.NewMetrics(prometheus.NewRegistry())
	e.server = (&dhcp.Server{
		Network: func() network.Network { return e.plan }, Store: e.store, VMs: reply.NoVMs{}, Metrics: metrics,
		Log: slog.New(slog.DiscardHandler), Edge: i + 1, PeerServes: func() bool { return e.peer },
		Now: func() time.Time { return s.clock.Add(e.skew) },
	}).Start()
	e.up = true
}

// meanwhile is what happens before a write reaches the API server.
func (s *schedule) meanwhile() {
	if s.deep || s.r.IntN(8) > 0 {
		return
	}
	s.deep = true
	s.clock = s.clock.Add(time.Duration(s.r.IntN(4000)) * time.Millisecond)
	if c := s.anyClient(); c != s.acting {
		s.acts(c)
	}
	s.deep = false
}

func (s *schedule) anyClient() *lawClient {
	macs := slices.Sorted(maps.Keys(s.clients))
	return s.clients[macs[s.r.IntN(len(macs))]]
}

// fresh reports whether edge i runs and knows the API server's answers.
func (s *schedule) fresh(i int) bool {
	e := s.edges[i]
	return e.up && e.store.complete && e.store.Fresh() == nil
}

// faults changes what edge i reaches and knows.
func (s *schedule) faults(i int) {
	e := s.edges[i]
	switch s.r.IntN(60) {
	case 0:
		e.store.cut = true
	case 1, 2:
		e.store.cut = false
	case 3:
		e.up = false
	case 4, 5:
		if !e.up {
			s.starts(i, e.file)
		}
	case 6:
		s.starts(i, e.file)
	case 7:
		s.starts(i, nil)
	}
	if !e.store.complete && s.r.IntN(4) == 0 {
		e.store.lists()
	}
	if e.up {
		if s.r.IntN(3) == 0 {
			e.store.hears(s.r.IntN(10))
		}
		e.store.hearsUntil(s.clock.Add(-watchDelay))
		if s.r.IntN(3) == 0 {
			e.file = e.store.All()
		}
	}
	if !e.store.cut && e.store.complete {
		e.store.readsMissing()
		e.store.answered = s.clock
	}
	if s.r.IntN(200) == 0 {
		s.n.DHCP.LeaseTime = network.Duration([]time.Duration{10 * time.Minute, 20 * time.Minute, time.Hour}[s.r.IntN(3)])
	}
	if !e.store.cut && s.r.IntN(4) == 0 {
		e.plan.DHCP.LeaseTime = s.n.DHCP.LeaseTime
	}
	if e.up && s.r.IntN(5) == 0 {
		e.server.Tend(s.t.Context())
	}
	if s.r.IntN(4) > 0 {
		e.peer = s.fresh(1 - i)
	}
}

// restores sets the API server back to its backup while both edges know all leases. Clients act before each edge has
// listed the older state, and before it has written again what is lost.
func (s *schedule) restores() {
	for _, e := range s.edges {
		if !e.up || !e.store.complete || e.store.cut {
			return
		}
	}
	for _, e := range s.edges {
		e.store.hears(len(s.api.changes))
		e.store.unwatched = true
	}
	b := s.saved.backup()
	s.api.objects, s.api.changes = b.objects, b.changes
	act := func() {
		for range s.past.IntN(4) {
			s.clock = s.clock.Add(time.Second)
			s.acting = s.anyClient()
			s.acts(s.acting)
		}
	}
	for _, i := range s.past.Perm(2) {
		act()
		s.edges[i].store.lists()
		act()
		s.edges[i].store.readsMissing()
	}
}

// backups makes a backup, or restores it.
func (s *schedule) backups() {
	switch s.past.IntN(200) {
	case 0:
		s.clock = s.clock.Add(time.Second)
		s.saved = s.api.backup()
		s.clock = s.clock.Add(time.Second)
	case 1:
		if s.saved != nil {
			s.restores()
		}
	}
}

// runs returns the first broken law of a schedule.
func (s *schedule) runs(steps int) error {
	for s.step = range steps {
		s.clock = s.clock.Add(time.Duration(s.r.IntN(60)) * time.Second)
		s.faults(0)
		s.faults(1)
		s.backups()
		s.acting = s.anyClient()
		if s.acts(s.acting); s.err != nil {
			return s.err
		}
	}
	if s.granted < steps/10 {
		s.fails("only %d of %d got anything", s.granted, steps)
	}
	return s.err
}

// TestLawsOfTwoEdges: no client gets an address that another client may use. No client is refused the address that it may use. Each client
// gets an answer while one edge reaches the API server. OOOI_LAW_SEEDS sets how many histories are tried; OOOI_UNIT has few of them.
func TestLawsOfTwoEdges(t *testing.T) {
	t.Parallel()
	seeds := 12
	if os.Getenv("OOOI_UNIT") != "" {
		seeds = 4
	}
	if more, err := strconv.Atoi(os.Getenv("OOOI_LAW_SEEDS")); err == nil {
		seeds = more
	}
	broken := 0
	for seed := range uint64(seeds) {
		addresses := 8
		if seed%4 > 1 {
			addresses = 60
		}
		if err := newSchedule(t, seed, addresses).runs(3000); err != nil {
			t.Error(err)
			if broken++; broken == 20 {
				t.Fatalf("after %d of %d histories", seed+1, seeds)
			}
		}
	}
}
