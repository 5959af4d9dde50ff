package shares

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"
)

func named(mac string) Client { return Client{MAC: mac} }

// TestTheOneThatHoldsMostLoses: a new client of a full resource gets its share from the client that holds most.
func TestTheOneThatHoldsMostLoses(t *testing.T) {
	g := NewWithT(t)
	s := New[int](10, true)
	for i := range 10 {
		h, lost := s.Take(named("flood"), 1, i)
		g.Expect(h).NotTo(BeNil())
		g.Expect(lost).To(BeEmpty())
	}
	h, lost := s.Take(named("flood"), 1, 10)
	g.Expect(h).To(BeNil(), "it holds most, and gets nothing more")
	g.Expect(lost).To(BeEmpty())
	for i := range 5 {
		h, lost = s.Take(named("other"), 1, 100+i)
		g.Expect(h).NotTo(BeNil())
		g.Expect(lost).To(Equal([]int{i}), "the oldest one of the flood")
		if i == 4 {
			break
		}
	}
	h, lost = s.Take(named("other"), 1, 105)
	g.Expect(h).To(BeNil(), "both hold equal shares")
	g.Expect(lost).To(BeEmpty())
	h, lost = s.Take(named("third"), 1, 200)
	g.Expect(h).NotTo(BeNil())
	g.Expect(lost).To(HaveLen(1))
	s.Give(h)
	s.Give(h)
	g.Expect(s.used).To(Equal(9), "what is given back twice counts once")
}

// TestAnOwnHoldingIsReplaced: a client that holds most loses the entry that it used least recently, as in the cache.
func TestAnOwnHoldingIsReplaced(t *testing.T) {
	g := NewWithT(t)
	s := New[int](10, false)
	a, _ := s.Take(named("one"), 4, 1)
	_, _ = s.Take(named("one"), 4, 2)
	s.Touch(a)
	_, lost := s.Take(named("one"), 4, 3)
	g.Expect(lost).To(Equal([]int{2}))
	_, lost = s.Take(named("two"), 11, 4)
	g.Expect(lost).To(ContainElement(4), "what is larger than the resource never stays")
}

// TestLawsOfShares: whatever clients take and give back, no limit is exceeded, the sums are right, and a client
// loses something only if no other one holds more.
func TestLawsOfShares(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := New[int](1+random.IntN(40), random.IntN(2) == 0)
		var held []*Holding[int]
		for i := range 400 {
			if len(held) > 0 && random.IntN(3) == 0 {
				at := random.IntN(len(held))
				s.Give(held[at])
				held = append(held[:at], held[at+1:]...)
				continue
			}
			c := named(string(rune('a' + random.IntN(6))))
			most := 0
			for _, own := range s.clients {
				most = max(most, own.held)
			}
			before := map[Client]int{}
			for x, own := range s.clients {
				before[x] = own.held
			}
			h, lost := s.Take(c, 1, i)
			if h != nil {
				held = append(held, h)
			}
			for x, had := range before {
				now := 0
				if own := s.clients[x]; own != nil {
					now = own.held
				}
				if now < had && had < most {
					t.Fatalf("seed %d: a client lost one of %d while another one had %d", seed, had, most)
				}
			}
			if h == nil && before[c]+1 < most {
				t.Fatalf("seed %d: a client with %d got nothing while another one had %d", seed, before[c], most)
			}
			if len(lost) > 1 {
				t.Fatalf("seed %d: %d were lost for one", seed, len(lost))
			}
			sum := 0
			for _, own := range s.clients {
				sum += own.held
				if own.held != own.holdings.Len() || s.others.most[own.index] != own {
					t.Fatalf("seed %d: a share is counted wrong", seed)
				}
			}
			if sum != s.used || s.used > s.limit {
				t.Fatalf("seed %d: %d used, %d held, limit %d", seed, s.used, sum, s.limit)
			}
		}
	}
}

// TestClientsTakeTurns: a client with one packet waits for one packet of each other one.
func TestClientsTakeTurns(t *testing.T) {
	g := NewWithT(t)
	q := NewTurns[string](6)
	lost := 0
	for range 100 {
		lost += q.Push(named("flood"), "flood")
	}
	g.Expect(lost).To(Equal(94))
	g.Expect(q.Push(named("one"), "one")).To(Equal(1), "the flood loses one")
	g.Expect(q.Push(named("two"), "two")).To(Equal(1))
	var got []string
	for v, ok := q.Pop(); ok; v, ok = q.Pop() {
		got = append(got, v)
	}
	g.Expect(got).To(Equal([]string{"flood", "one", "two", "flood", "flood", "flood"}))
	g.Expect(q.waiting).To(BeEmpty())
	g.Expect(q.shares.clients).To(BeEmpty())
}

// TestForgedMACs: hundreds of MACs that no VM with a lease has, each with one slot, leave an honest VM half of the
// resource. A known VM that floods leaves the others half of it, too.
func TestForgedMACs(t *testing.T) {
	g := NewWithT(t)
	vm, static := Client{MAC: "vm", Known: true}, named("static")
	s := New[string](512, true)
	forge := func(count int) {
		for i := range count {
			s.Take(named(fmt.Sprint("forged ", i)), 1, "forged")
		}
	}
	held := func(c Client) int {
		if own := s.clients[c]; own != nil {
			return own.held
		}
		return 0
	}
	forge(600)
	for i := range 10 {
		h, lost := s.Take(vm, 1, "honest")
		g.Expect(h).NotTo(BeNil())
		g.Expect(lost).To(Equal([]string{"forged"}))
		forge(2000)
		g.Expect(held(vm)).To(Equal(i + 1))
	}
	h, _ := s.Take(static, 1, "honest")
	g.Expect(h).NotTo(BeNil(), "it takes from the one that came first")

	for range 2000 {
		s.Take(vm, 1, "flood")
	}
	g.Expect(held(vm)).To(Equal(256))
}
