// This file decides which client loses when a resource is full: the one that holds most of it. It is pure, and
// it is used for packets, connections, upstream questions and the memory of the cache.

package dns

import (
	"container/heap"
	"container/list"
	"net/netip"
)

// A client is what the server counts by: a MAC, or an address of which no MAC is known. One with neither stands for
// hosts on the network of which no MAC is known: a VM can invent their addresses.
type client struct {
	mac     string
	address netip.Addr
	// group of sockets in which the questions of hosts without a MAC arrive.
	group uint8
	// known: a VM with a lease has the MAC.
	known bool
}

// shares are what clients hold of one resource. A client that comes to a full resource takes from the one that
// holds most, which loses its oldest holding. A VM can invent MACs, each of which holds little. So clients that are not
// known get half of a full resource, and lose first to a known one that holds as much.
type shares[T any] struct {
	limit, used int
	// settled: a client that holds most gets nothing new while the resource is full. Otherwise the new
	// holding replaces its oldest one.
	settled bool
	clients map[client]*share[T]
	// known and others have the shares of clients that are known, and of others.
	known, others class[T]
	// came counts the clients that came.
	came uint64
}

// A class is a part of the clients.
type class[T any] struct {
	held int
	// most has the shares, the one that loses next first.
	most largest[T]
}

// A share is what one client holds.
type share[T any] struct {
	client client
	// came is smaller for a client that came earlier.
	came uint64
	held int
	// holdings are *holding[T], the oldest first.
	holdings list.List
	index    int
}

// A holding is one value that a client holds.
type holding[T any] struct {
	value  T
	weight int
	// share is nil once the holding is lost or given back.
	share *share[T]
	at    *list.Element
}

func newShares[T any](limit int, settled bool) *shares[T] {
	return &shares[T]{limit: limit, settled: settled, clients: map[client]*share[T]{}}
}

// take adds a holding of c. It returns nil if c gets none, and what clients lose for it.
func (s *shares[T]) take(c client, weight int, value T) (h *holding[T], lost []T) {
	own := s.clients[c]
	if own == nil {
		s.came++
		own = &share[T]{client: c, came: s.came}
		s.clients[c] = own
		heap.Push(&s.class(c).most, own)
	}
	h = &holding[T]{value: value, weight: weight, share: own}
	h.at = own.holdings.PushBack(h)
	s.change(own, weight)
	for s.used > s.limit {
		from := s.loser()
		if s.settled && from == own {
			s.give(h)
			return nil, lost
		}
		oldest := from.first()
		s.give(oldest)
		lost = append(lost, oldest.value)
	}
	return h, lost
}

func (s *shares[T]) class(c client) *class[T] {
	if c.known {
		return &s.known
	}
	return &s.others
}

// loser returns the share that loses next: the largest one. Of equal ones, those of known clients lose last, and that of
// the client that came first loses first: it has had the most time. It is nil if nothing is held.
func (s *shares[T]) loser() *share[T] {
	known, other := s.known.first(), s.others.first()
	switch {
	case known == nil:
		return other
	case other != nil && (2*s.others.held > s.limit || other.held >= known.held):
		return other
	}
	return known
}

func (c *class[T]) first() *share[T] {
	if len(c.most) == 0 {
		return nil
	}
	return c.most[0]
}

// first is the oldest holding.
func (own *share[T]) first() *holding[T] { return own.holdings.Front().Value.(*holding[T]) }

// give gives a holding back. It does nothing if the holding is lost already.
func (s *shares[T]) give(h *holding[T]) {
	own := h.share
	if own == nil {
		return
	}
	own.holdings.Remove(h.at)
	h.share = nil
	s.change(own, -h.weight)
	if own.holdings.Len() == 0 {
		heap.Remove(&s.class(own.client).most, own.index)
		delete(s.clients, own.client)
	}
}

// touch makes a holding the youngest of its client.
func (s *shares[T]) touch(h *holding[T]) {
	if h.share != nil {
		h.share.holdings.MoveToBack(h.at)
	}
}

// oldest returns the oldest holding of c, nil if it has none.
func (s *shares[T]) oldest(c client) *holding[T] {
	own := s.clients[c]
	if own == nil {
		return nil
	}
	return own.first()
}

func (s *shares[T]) change(own *share[T], weight int) {
	s.used += weight
	own.held += weight
	in := s.class(own.client)
	in.held += weight
	heap.Fix(&in.most, own.index)
}

// largest is a heap.Interface of shares, the largest one first.
type largest[T any] []*share[T]

func (l largest[T]) Len() int { return len(l) }
func (l largest[T]) Less(i, j int) bool {
	return l[i].held > l[j].held || l[i].held == l[j].held && l[i].came < l[j].came
}
func (l largest[T]) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].index, l[j].index = i, j
}

// Push implements heap.Interface.
func (l *largest[T]) Push(x any) {
	own := x.(*share[T])
	own.index = len(*l)
	*l = append(*l, own)
}

// Pop implements heap.Interface.
func (l *largest[T]) Pop() any {
	last := len(*l) - 1
	own := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	return own
}

// turns is a queue in which clients take turns. A client waits for one value of each other client, however many
// the others have queued.
type turns[T any] struct {
	shares *shares[T]
	// order has each client that may have a value, the next one first.
	order   list.List
	waiting map[client]bool
}

func newTurns[T any](limit int) *turns[T] {
	return &turns[T]{shares: newShares[T](limit, true), waiting: map[client]bool{}}
}

// push queues a value of c. It returns how many values are lost, this one included.
func (t *turns[T]) push(c client, value T) (lost int) {
	h, dropped := t.shares.take(c, 1, value)
	if h == nil {
		return 1
	}
	if !t.waiting[c] {
		t.waiting[c] = true
		t.order.PushBack(c)
	}
	return len(dropped)
}

// pop returns the next value. False: the queue is empty.
func (t *turns[T]) pop() (value T, ok bool) {
	for t.order.Len() > 0 {
		next := t.order.Front()
		c := next.Value.(client)
		h := t.shares.oldest(c)
		if h == nil {
			t.order.Remove(next)
			delete(t.waiting, c)
			continue
		}
		t.shares.give(h)
		t.order.MoveToBack(next)
		return h.value, true
	}
	return value, false
}
