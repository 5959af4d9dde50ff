// Package shares decides which client loses when a resource is full: the client that holds most. It does no I/O.
package shares

import (
	"container/heap"
	"container/list"
	"net/netip"
)

// A Client is a MAC, or an address without a known MAC. A Client with neither stands for all hosts of a group without a known
// MAC, since a VM can invent their addresses.
type Client struct {
	MAC     string
	Address netip.Addr
	// Group is the group of sockets at which the questions of hosts without a known MAC arrive.
	Group uint8
	// Known: MAC is the MAC of a VM with a lease.
	Known bool
}

// Shares tracks how much of one resource each client holds. When it is full and a client takes more, the client that holds
// most loses its oldest holding. A VM can invent MACs, each of which holds little. So all unknown clients together get at most
// half of a full resource. An unknown client also loses before a known one that holds as much.
type Shares[T any] struct {
	limit, used int
	// settled: while the resource is full, the client that holds most gets nothing new. Otherwise it loses its oldest holding.
	settled bool
	clients map[Client]*share[T]
	// The shares of the clients that are known, and of the others.
	known, others class[T]
	// Field came counts the clients that ever took a holding.
	came uint64
}

// A class has the shares of a part of the clients.
type class[T any] struct {
	held int
	// Field most has the shares, sorted so that the first one loses next.
	most largest[T]
}

// A share has all holdings of one client.
type share[T any] struct {
	client Client
	// Field came is the client's rank by arrival: smaller is earlier.
	came uint64
	held int
	// holdings has a *Holding[T] for each holding, the oldest first.
	holdings list.List
	index    int
}

// A Holding is one value that a client holds, with its weight.
type Holding[T any] struct {
	Value  T
	weight int
	// share is nil once the holding is lost or given back.
	share *share[T]
	at    *list.Element
}

// New returns the Shares of a resource. limit is the total weight that clients may hold. If settled is true, the client
// that holds most gets nothing new while the resource is full. Otherwise it loses its oldest holding.
func New[T any](limit int, settled bool) *Shares[T] {
	return &Shares[T]{limit: limit, settled: settled, clients: map[Client]*share[T]{}}
}

// Take adds a holding of c, or returns nil if c gets none. Result lost has the values of the holdings that clients lose for
// it.
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

// loser returns the share that loses next: the largest. Of equal ones, known clients lose last, and the client that came first
// loses first. An unknown client also loses while unknown clients hold more than half of the limit. Nil: nothing is held.
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

// first returns the oldest holding.
func (own *share[T]) first() *Holding[T] { return own.holdings.Front().Value.(*Holding[T]) }

// Give gives h back. It does nothing if h is already lost or given back.
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

// Used returns how much all clients hold together.
func (s *Shares[T]) Used() int { return s.used }

// Resize sets the limit. Result lost has the values of the holdings that clients lose for it.
func (s *Shares[T]) Resize(limit int) (lost []T) {
	s.limit = limit
	for s.used > limit {
		oldest := s.loser().first()
		s.Give(oldest)
		lost = append(lost, oldest.Value)
	}
	return lost
}

// OldestOfEach returns the oldest value of each client, in no order.
func (s *Shares[T]) OldestOfEach() (out []T) {
	for _, own := range s.clients {
		out = append(out, own.first().Value)
	}
	return out
}

// Client returns the client that holds h.
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

// Turns is a queue in which a client's next value waits for at most one value of each other client, however many these have
// queued.
type Turns[T any] struct {
	shares *Shares[T]
	// order has each client that may have queued values, the next one first.
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
