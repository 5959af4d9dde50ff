// This file asks upstream resolvers, and probes those that do not answer. Which servers are asked is decided in
// health.go, and which names are forwarded in upstream_servers.go.

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
)

const (
	// nextAfter is when the next server is asked, too.
	nextAfter = 400 * time.Millisecond
	// giveUp on all servers. This is less than the 5 s after which a client retries.
	giveUp = 3500 * time.Millisecond
	// leastAttempts for one question.
	leastAttempts = 3
	// probeTime is how long an answer to a probe is awaited, and probeEvery how often a dead server is probed.
	probeTime, probeEvery = 500 * time.Millisecond, time.Second
	// bufferSize in octets fits into a packet of every network (DNS flag day 2020).
	bufferSize = 1232
)

// errAllDown: no server is asked, because none lives.
var errAllDown = errors.New("no upstream resolver answers")

// An Upstream asks servers. It starts with the one that answered last, and asks the next one if that one fails or
// is slow. A server that is known to be dead is only probed.
type Upstream struct {
	servers []netip.AddrPort
	// dialers has one for each of servers.
	dialers []net.Dialer
	metrics *Metrics
	log     *slog.Logger
	// ctx ends some time after retire.
	ctx  context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	retired bool
	first   int
	health  []health
	probing []bool
}

// NewUpstream asks servers (at least one), each through sockets of its dialer. The caller calls retire once.
func NewUpstream(servers []netip.AddrPort, dialers []net.Dialer, m *Metrics, log *slog.Logger) *Upstream {
	u := &Upstream{
		servers: servers, dialers: dialers, metrics: m, log: log,
		health: make([]health, len(servers)), probing: make([]bool, len(servers)),
	}
	u.ctx, u.stop = context.WithCancel(context.Background())
	for _, s := range servers {
		m.serverUp(s, true)
	}
	return u
}

// retire ends all probes, and all questions once they have had their time. Other servers are asked from now on.
func (u *Upstream) retire(now []netip.AddrPort) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.retired = true
	for _, s := range u.servers {
		if !slices.Contains(now, s) {
			u.metrics.serverGone(s)
		}
	}
	time.AfterFunc(giveUp, u.stop)
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

// ask returns the first answer by transport ("udp" or "tcp"). SERVFAIL and REFUSED count only if no server has a
// better one. It ends all other questions.
func (u *Upstream) ask(ctx context.Context, m *dns.Msg, transport string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, giveUp)
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
			answer, err := u.exchange(ctx, server, m.Copy(), transport)
			outcomes <- outcome{server, answer, err}
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
			// Servers that were asked and did not answer in time may be dead.
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
	if err == nil && !answers(m, answer) {
		err = errors.New("answer does not match the question")
	}
	at := u.servers[server].String()
	switch {
	case err == nil:
		u.saw(server, true)
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

// send sends m through a socket of its own, so that its port cannot be predicted (RFC 5452).
func (u *Upstream) send(ctx context.Context, server int, m *dns.Msg, transport string) (*dns.Msg, error) {
	c := dns.Client{Net: transport, Dialer: &u.dialers[server], UDPSize: bufferSize, Timeout: giveUp}
	conn, err := c.DialContext(ctx, u.servers[server].String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	answer, _, err := c.ExchangeWithConnContext(ctx, m, conn)
	return answer, err
}

// answers reports whether answer belongs to m: others are forged or stale.
func answers(m, answer *dns.Msg) bool {
	if !answer.Response || answer.Id != m.Id || len(answer.Question) != 1 {
		return false
	}
	q, a := m.Question[0], answer.Question[0]
	return q.Qtype == a.Qtype && q.Qclass == a.Qclass && dns.CanonicalName(q.Name) == dns.CanonicalName(a.Name)
}

// suspect probes a server in the background, until it answers.
func (u *Upstream) suspect(server int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.probing[server] || u.retired {
		return
	}
	u.probing[server] = true
	go u.probe(server)
}

// probe asks for the root's servers, which each resolver knows.
func (u *Upstream) probe(server int) {
	for {
		ctx, cancel := context.WithTimeout(u.ctx, probeTime)
		m := new(dns.Msg).SetQuestion(".", dns.TypeNS)
		answer, err := u.send(ctx, server, m, "udp")
		if err != nil {
			<-ctx.Done() // A refusal comes at once.
		}
		cancel()
		u.saw(server, err == nil && answers(m, answer))
		u.mu.Lock()
		if u.health[server] == (health{}) || u.retired {
			u.probing[server] = false
			u.mu.Unlock()
			return
		}
		down := u.health[server].down()
		u.mu.Unlock()
		if down {
			select {
			case <-u.ctx.Done():
			case <-time.After(probeEvery):
			}
		}
	}
}

// saw notes whether a server answered, and logs when it starts or stops to live.
func (u *Upstream) saw(server int, answered bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.health[server].down()
	u.health[server] = u.health[server].after(answered)
	down := u.health[server].down()
	if before == down || u.retired {
		return
	}
	at := u.servers[server]
	u.metrics.serverUp(at, !down)
	if down {
		u.log.Warn("an upstream resolver does not answer", "server", at)
	} else {
		u.log.Info("an upstream resolver answers again", "server", at)
	}
	if all := slices.Clone(u.health); down && allDown(all) {
		u.log.Warn("no upstream resolver answers, cached answers are served for an hour", "servers", len(all))
	}
}
