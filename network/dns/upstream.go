// This file queries upstream resolvers. It decides the order and the timing. Which names
// are forwarded is decided in resolver.go.

package dns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"
)

const (
	// nextAfter is when the next server is queried, too.
	nextAfter = 400 * time.Millisecond
	// giveUp on one server. With nextAfter for the earlier ones, this is less than the
	// 5 s after which a client retries.
	giveUp = 3500 * time.Millisecond
	// maxQuestions at the same time in total, maxQuestionsEach for one client. Each
	// takes a socket.
	maxQuestions     = 512
	maxQuestionsEach = 64
	// bufferSize in octets fits into a packet of every network (DNS flag day 2020).
	bufferSize = 1232
)

// Upstream is a CoreDNS plugin that queries servers. It starts with the one that
// answered last, and tries the next if that one fails or is slow.
type Upstream struct {
	servers []netip.AddrPort
	dialer  net.Dialer
	metrics *Metrics
	log     *slog.Logger
	asking  *quota
	first   atomic.Int32
	// down: the failure of the server is logged already.
	down []atomic.Bool
}

var _ plugin.Handler = (*Upstream)(nil)

// NewUpstream queries servers (at least one) through sockets of dialer.
func NewUpstream(servers []netip.AddrPort, dialer net.Dialer, m *Metrics, log *slog.Logger) *Upstream {
	return &Upstream{
		servers: servers, dialer: dialer, metrics: m, log: log,
		asking: newQuota(maxQuestions, maxQuestionsEach), down: make([]atomic.Bool, len(servers)),
	}
}

// Name implements plugin.Handler.
func (u *Upstream) Name() string { return "upstream" }

// ServeDNS implements plugin.Handler. If no server answers, the code is SERVFAIL, with
// an error if the servers failed.
func (u *Upstream) ServeDNS(_ context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	client := clientOf(w.RemoteAddr())
	if !u.asking.take(client) {
		u.metrics.upstream("", "busy")
		return dns.RcodeServerFailure, nil
	}
	defer u.asking.free(client)
	answer, err := u.ask(question(r))
	if err != nil {
		return dns.RcodeServerFailure, err
	}
	return dns.RcodeSuccess, w.WriteMsg(passed(r, answer))
}

// question returns the upstream question for r. EDNS options are hop by hop (RFC 6891,
// section 6.1.1), so none is forwarded. It always requests recursion, since the answer
// is cached for other clients.
func question(r *dns.Msg) *dns.Msg {
	m := new(dns.Msg)
	m.SetQuestion(r.Question[0].Name, r.Question[0].Qtype)
	m.CheckingDisabled, m.AuthenticatedData = r.CheckingDisabled, r.AuthenticatedData
	opt := r.IsEdns0()
	m.SetEdns0(bufferSize, opt != nil && opt.Do())
	return m
}

// passed returns an upstream's answer as the answer to r.
func passed(r, answer *dns.Msg) *dns.Msg {
	m := answer.Copy()
	m.Id, m.Question = r.Id, r.Question
	m.RecursionDesired = r.RecursionDesired
	m.Authoritative, m.RecursionAvailable, m.Compress = false, true, true
	m.Extra = m.Extra[:0]
	for _, rr := range answer.Extra {
		if rr.Header().Rrtype != dns.TypeOPT {
			m.Extra = append(m.Extra, rr)
		}
	}
	return m
}

type outcome struct {
	server int
	answer *dns.Msg
	err    error
}

// ask returns the first answer. SERVFAIL and REFUSED count only if no server has a
// better one. Slower servers are awaited in the background, to notice their failures.
func (u *Upstream) ask(m *dns.Msg) (*dns.Msg, error) {
	outcomes := make(chan outcome, len(u.servers))
	first := int(u.first.Load())
	asked := 0
	next := func() {
		server := (first + asked) % len(u.servers)
		asked++
		go func() {
			answer, err := u.exchange(u.servers[server], m.Copy())
			u.note(server, err)
			outcomes <- outcome{server, answer, err}
		}()
	}
	next()
	slow := time.NewTicker(nextAfter)
	defer slow.Stop()
	var worse outcome
	for failed := 0; failed < len(u.servers); {
		select {
		case <-slow.C:
			if asked < len(u.servers) {
				next()
			}
		case o := <-outcomes:
			if o.err == nil && o.answer.Rcode != dns.RcodeServerFailure && o.answer.Rcode != dns.RcodeRefused {
				u.first.Store(int32(o.server))
				return o.answer, nil
			}
			failed++
			if worse.answer == nil {
				worse = o
			}
			if asked < len(u.servers) {
				next()
			}
		}
	}
	return worse.answer, worse.err
}

// exchange queries one server, with TCP if the answer is truncated over UDP.
func (u *Upstream) exchange(server netip.AddrPort, m *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	defer cancel()
	var answer *dns.Msg
	var err error
	for _, transport := range []string{"udp", "tcp"} {
		client := dns.Client{Net: transport, Dialer: &u.dialer, UDPSize: bufferSize, Timeout: giveUp}
		answer, _, err = client.ExchangeContext(ctx, m, server.String())
		if err != nil || !answer.Truncated {
			break
		}
	}
	if err == nil && !answers(m, answer) {
		err = errors.New("answer does not match the question")
	}
	if err != nil {
		u.metrics.upstream(server.String(), "failed")
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	u.metrics.upstream(server.String(), rcodeName(answer.Rcode))
	return answer, nil
}

// answers reports whether answer belongs to m: others are forged or stale.
func answers(m, answer *dns.Msg) bool {
	if !answer.Response || answer.Id != m.Id || len(answer.Question) != 1 {
		return false
	}
	q, a := m.Question[0], answer.Question[0]
	return q.Qtype == a.Qtype && q.Qclass == a.Qclass && dns.CanonicalName(q.Name) == dns.CanonicalName(a.Name)
}

// note logs when a server starts or stops failing.
func (u *Upstream) note(server int, err error) {
	failing := err != nil
	if u.down[server].Swap(failing) == failing {
		return
	}
	if failing {
		u.log.Warn("an upstream resolver does not answer", "server", u.servers[server], "err", err)
	} else {
		u.log.Info("an upstream resolver answers again", "server", u.servers[server])
	}
}
