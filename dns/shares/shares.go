// Package shares decides which client loses when a resource is full: the one that holds most of it. It is pure, and
// it is used for packets, connections, upstream questions and the memory of the cache.
package shares

import (
	"container/heap"
	"container/list"
	"net/netip"
)

// A Client is what the server counts by: a MAC, or an address without a known MAC. One with neither stands for hosts on
// the network without a known MAC: a VM can invent their addresses.
type Client struct {
	MAC     string
	Address netip.Addr
	// Group of sockets in which the questions of hosts without a MAC arrive.
	Group uint8
	// Known: a VM with a lease has the MAC.
	Known bool
}

// Shares are what clients hold of one resource. A client that comes to a full resource takes from the one that
// holds most, which loses its oldest holding. A VM can invent MACs, each of which holds little. So clients that are not
// known get half of a full resource, and lose first to a known one that holds as much.
type Shares[T any] struct {
	limit, used int
	// settled: a client that holds most gets nothing new while the resource is full. Otherwise the new
	// holding replaces its oldest one.
	settled bool
	clients map[Client]*share[T]
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
	client Client
	// came is smaller for a client that came earlier.
	came uint64
	held int
	// holdings are *Holding[T], the oldest first.
	holdings list.List
	index    int
}

// A Holding is one value that a client holds.
type Holding[T any] struct {
	Value  T
	weight int
	// share is nil once the holding is lost or given back.
	share *share[T]
	at    *list.Element
}

// New returns a resource with a limit. Settled: a client that holds most gets nothing new while it is full.
func New[T any](limit int, settled bool) *Shares[T] {
	return &Shares[T]{limit: limit, settled: settled, clients: map[Client]*share[T]{}}
}

// Take adds a holding of c. It returns nil if c gets none, and what clients lose for it.
func (s *Shares[T]) Take(c Client, weight int, value T) (h *Holding[T], lost []T) {
	own := s.clients[c]
	if own == nil {
		s.came++
		own = &share[T]{client: c, came: s.came}
		s.clients[c] = own
		heap.Push(&s.class(c).most, own)
	}
	h = &Holding[T]{Value: value, weight: weight, share: own}
	h.at = own.holdings.PushBack(h)
	s.change(own, weight)
	for s.used > s.limit {
		from := s.loser()
		if s.settled && from == own {
			s.Give(h)
			return nil, lost
		}
		oldest := from.first()
		s.Give(oldest)
		lost = append(lost, oldest.Value)
	}
	return h, lost
}

func (s *Shares[T]) class(c Client) *class[T] {
	if c.Known {
		return &s.known
	}
	return &s.others
}

// loser returns the share that loses next: the largest one. Among equals, known clients lose last, and the client that
// came first loses first: it has had the most time. It is nil if nothing is held.
func (s *Shares[T]) loser() *share[T] {
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
func (own *share[T]) first() *Holding[T] { return own.holdings.Front().Value.(*Holding[T]) }

// Give gives a holding back. It does nothing if the holding is lost already.
func (s *Shares[T]) Give(h *Holding[T]) {
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

// Touch makes a holding the youngest of its client.
func (s *Shares[T]) Touch(h *Holding[T]) {
	if h.share != nil {
		h.share.holdings.MoveToBack(h.at)
	}
}

// Oldest returns the oldest holding of c, nil if it has none.
func (s *Shares[T]) Oldest(c Client) *Holding[T] {
	own := s.clients[c]
	if own == nil {
		return nil
	}
	return own.first()
}

// Used is what all clients hold.
func (s *Shares[T]) Used() int { return s.used }

// Resize sets the limit. It returns what clients lose for it.
func (s *Shares[T]) Resize(limit int) (lost []T) {
	s.limit = limit
	for s.used > limit {
		oldest := s.loser().first()
		s.Give(oldest)
		lost = append(lost, oldest.Value)
	}
	return lost
}

// OldestOfEach is the oldest value of each client, in no order.
func (s *Shares[T]) OldestOfEach() (out []T) {
	for _, own := range s.clients {
		out = append(out, own.first().Value)
	}
	return out
}

// Client is the one that holds h.
func (h *Holding[T]) Client() Client { return h.share.client }

func (s *Shares[T]) change(own *share[T], weight int) {
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

// Turns is a queue in which clients take turns. A client waits for one value of each other client, however many
// the others have queued.
type Turns[T any] struct {
	shares *Shares[T]
	// order has each client that may have a value, the next one first.
	order   list.List
	waiting map[Client]bool
}

// NewTurns returns a queue with a limit.
func NewTurns[T any](limit int) *Turns[T] {
	return &Turns[T]{shares: New[T](limit, true), waiting: map[Client]bool{}}
}

// Push queues a value of c. It returns how many values are lost, this one included.
func (t *Turns[T]) Push(c Client, value T) (lost int) {
	h, dropped := t.shares.Take(c, 1, value)
	if h == nil {
		return 1
	}
	if !t.waiting[c] {
		t.waiting[c] = true
		t.order.PushBack(c)
	}
	return len(dropped)
}

// Pop returns the next value. False: the queue is empty.
func (t *Turns[T]) Pop() (value T, ok bool) {
	for t.order.Len() > 0 {
		next := t.order.Front()
		c := next.Value.(Client)
		h := t.shares.Oldest(c)
		if h == nil {
			t.order.Remove(next)
			delete(t.waiting, c)
			continue
		}
		t.shares.Give(h)
		t.order.MoveToBack(next)
		return h.Value, true
	}
	return value, false
}
