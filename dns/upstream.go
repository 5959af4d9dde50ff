// This file asks upstream resolvers, and probes those that do not answer.

package dns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/dns/shares"
)

const (
	// nextAfter is the time without an answer after which the next server is asked.
	nextAfter = 400 * time.Millisecond
	// giveUp is the time limit for all servers together. It is less than the 5 s after which a client retries.
	giveUp = 3500 * time.Millisecond
	// leastAttempts is how often an unanswered question is sent at least.
	leastAttempts = 3
	// probeTime is how long a probe waits. probeEvery is the pause between two probes of a dead server.
	probeTime, probeEvery = 500 * time.Millisecond, time.Second
)

var (
	// errAllDown: no server is asked, since all are known to be dead.
	errAllDown = errors.New("no upstream resolver answers")
	errPanic   = errors.New("panic")
)

// An Upstream asks servers. It starts with the server that answered last. If a server fails or is slow, the next one is
// asked, too. A server that is known to be dead is only probed.
type Upstream struct {
	servers []netip.AddrPort
	// dialers has a dialer for each of servers.
	dialers []net.Dialer
	metrics *Metrics
	log     *slog.Logger
	guard   *guard
	// giveUp and probeTime may be longer in tests.
	giveUp, probeTime time.Duration
	// ctx ends some time after retire.
	ctx  context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	retired bool
	first   int
	health  []health
	probing []bool
	// answered has the last question that each server answered, except for the root. Nil: none.
	answered []*question
	// clients has the last questions of some clients.
	clients sample
}

// NewUpstream returns an Upstream that asks servers (at least one), each through its dialer. Call retire once.
func NewUpstream(servers []netip.AddrPort, dialers []net.Dialer, m *Metrics, log *slog.Logger) *Upstream {
	u := &Upstream{
		servers: servers, dialers: dialers, metrics: m, log: log, guard: newGuard(m, log), giveUp: giveUp, probeTime: probeTime,
		health: make([]health, len(servers)), probing: make([]bool, len(servers)), answered: make([]*question, len(servers)), clients: newSample(),
	}
	u.ctx, u.stop = context.WithCancel(context.Background())
	for _, s := range servers {
		m.serverUp(s, true)
	}
	return u
}

// retire ends all probes, and after giveUp all questions. Parameter now has the servers of the next Upstream.
func (u *Upstream) retire(now []netip.AddrPort) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.retired = true
	for _, s := range u.servers {
		if !slices.Contains(now, s) {
			u.metrics.serverGone(s)
		}
	}
	time.AfterFunc(u.giveUp, u.stop)
}

// lose sets the servers to which the edge has no route now. They are not asked. A server with a route again counts as
// alive, until questions show otherwise.
func (u *Upstream) lose(lost []netip.AddrPort) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, at := range u.servers {
		if away := slices.Contains(lost, at); away != u.health[i].lost {
			u.set(i, health{lost: away})
		}
	}
}

// wants records q as the last question of c, for probes.
func (u *Upstream) wants(c shares.Client, q question) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clients.add(c, q)
}

// down reports whether all servers are known to be dead.
func (u *Upstream) down() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return allDown(u.health)
}

type outcome struct {
	server int
	answer *dns.Msg
	err    error
}

// ask returns the first answer over transport ("udp" or "tcp"). It prefers any other answer to SERVFAIL and REFUSED.
func (u *Upstream) ask(ctx context.Context, m *dns.Msg, transport string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, u.giveUp)
	defer cancel()
	defer context.AfterFunc(u.ctx, cancel)()
	u.mu.Lock()
	in := order(u.health, u.first)
	u.mu.Unlock()
	if len(in) == 0 {
		return nil, errAllDown
	}
	outcomes := make(chan outcome, max(len(in), leastAttempts))
	waiting, tried := 0, 0
	next := func() {
		server, ok := attempt(in, tried)
		if !ok {
			return
		}
		tried, waiting = tried+1, waiting+1
		go func() {
			o := outcome{server: server, err: errPanic}
			u.guard.run(func() { o.answer, o.err = u.exchange(ctx, server, m.Copy(), transport) })
			outcomes <- o
		}()
	}
	next()
	slow := time.NewTicker(nextAfter)
	defer slow.Stop()
	worse := outcome{err: errors.New("no answer in time")}
	for waiting > 0 {
		select {
		case <-ctx.Done():
			return worse.answer, worse.err
		case <-slow.C:
			// The servers asked so far may be dead.
			for _, server := range in[:min(tried, len(in))] {
				u.suspect(server)
			}
			next()
		case o := <-outcomes:
			waiting--
			if o.err == nil && o.answer.Rcode != dns.RcodeServerFailure && o.answer.Rcode != dns.RcodeRefused {
				u.mu.Lock()
				u.first = o.server
				u.mu.Unlock()
				return o.answer, nil
			}
			if worse.answer == nil {
				worse = o
			}
			if tried < len(in) {
				next()
			}
		}
	}
	return worse.answer, worse.err
}

// exchange asks one server.
func (u *Upstream) exchange(ctx context.Context, server int, m *dns.Msg, transport string) (*dns.Msg, error) {
	answer, err := u.send(ctx, server, m, transport)
	if err == nil && !belongs(m, answer) {
		err = errors.New("answer does not match the question")
	}
	at := u.servers[server].String()
	switch {
	case err == nil:
		u.answers(server, asksFor(m))
		u.metrics.upstream(at, rcodeName(answer.Rcode))
		return answer, nil
	case errors.Is(ctx.Err(), context.Canceled):
		u.metrics.upstream(at, "canceled")
	default:
		u.suspect(server)
		u.metrics.upstream(at, "failed")
	}
	return nil, fmt.Errorf("%s: %w", at, err)
}

// send sends m through a new socket, so that the port cannot be predicted (RFC 5452).
func (u *Upstream) send(ctx context.Context, server int, m *dns.Msg, transport string) (*dns.Msg, error) {
	c := dns.Client{Net: transport, Dialer: &u.dialers[server], UDPSize: answers.BufferSize, Timeout: u.giveUp}
	conn, err := c.DialContext(ctx, u.servers[server].String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	answer, _, err := c.ExchangeWithConnContext(ctx, m, conn)
	return answer, err
}

// belongs reports whether answer belongs to m, and is neither forged nor stale.
func belongs(m, answer *dns.Msg) bool {
	if !answer.Response || answer.Id != m.Id || len(answer.Question) != 1 {
		return false
	}
	q, a := m.Question[0], answer.Question[0]
	return q.Qtype == a.Qtype && q.Qclass == a.Qclass && dns.CanonicalName(q.Name) == dns.CanonicalName(a.Name)
}

// suspect probes a server in the background until it answers.
func (u *Upstream) suspect(server int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.probing[server] || u.retired || u.health[server].lost {
		return
	}
	u.probing[server] = true
	go func() {
		u.guard.run(func() { u.probe(server) })
		u.mu.Lock()
		defer u.mu.Unlock()
		u.probing[server] = false
	}()
}

func (u *Upstream) probe(server int) {
	for {
		before, questions := u.probes(server)
		if !u.lives(server, questions) {
			u.misses(server, before)
		}
		u.mu.Lock()
		now, retired := u.health[server], u.retired
		u.mu.Unlock()
		if !now.suspected() || retired {
			return
		}
		if now.down() {
			select {
			case <-u.ctx.Done():
			case <-time.After(probeEvery):
			}
		}
	}
}

// probes returns the questions of the next probe. The first probe asks for the root's servers, which each resolver knows.
// After a miss, a probe also repeats the last question that the server answered (result before), and questions of
// clients. The server may drop questions for the root.
func (u *Upstream) probes(server int) (before *question, all []question) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all = []question{{name: ".", rrtype: dns.TypeNS}}
	before = u.answered[server]
	if u.health[server].misses == 0 {
		return before, all
	}
	if before != nil {
		all = append(all, *before)
	}
	return before, append(all, u.clients.questions()...)
}

// lives reports whether a server answers one of the questions within probeTime.
func (u *Upstream) lives(server int, questions []question) bool {
	ctx, cancel := context.WithTimeout(u.ctx, u.probeTime)
	defer cancel()
	answered := make(chan question, len(questions))
	for _, q := range questions {
		go u.guard.run(func() {
			m := query(q)
			if answer, err := u.send(ctx, server, m, "udp"); err == nil && belongs(m, answer) {
				answered <- q
			}
		})
	}
	select {
	case <-ctx.Done(): // There is no early end: a server may refuse some questions immediately, and answer another.
		return false
	case q := <-answered:
		u.answers(server, q)
		return true
	}
}

// answers records that a server answered a question.
func (u *Upstream) answers(server int, q question) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if q.name != "." {
		u.answered[server] = &q
	}
	u.set(server, u.health[server].after(true))
}

// misses records that a server did not answer a probe, unless the server has answered another question since. Parameter
// before is from method probes.
func (u *Upstream) misses(server int, before *question) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.answered[server] == before {
		u.set(server, u.health[server].after(false))
	}
}

// set replaces the health of a server, and logs when it starts or stops answering. The caller holds the lock.
func (u *Upstream) set(server int, now health) {
	before := u.health[server]
	u.health[server] = now
	if before.down() == now.down() || u.retired {
		return
	}
	at := u.servers[server]
	u.metrics.serverUp(at, !now.down())
	switch {
	case now.lost:
		u.log.Warn("no route to an upstream resolver", "server", at)
	case now.down():
		u.log.Warn("an upstream resolver does not answer", "server", at)
	case before.lost:
		u.log.Info("the route to an upstream resolver is back", "server", at)
	default:
		u.log.Info("an upstream resolver answers again", "server", at)
	}
	if now.down() && allDown(u.health) {
		u.log.Warn("no upstream resolver answers, cached answers are served for an hour", "servers", len(u.health))
	}
}
