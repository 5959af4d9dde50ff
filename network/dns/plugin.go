// This file is the CoreDNS plugin. It answers from the plan, else from the upstreams,
// else it refuses.

package dns

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/cache"
	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/network"
)

// A Handler answers the questions of one network's clients. It is safe for
// concurrent use.
type Handler struct {
	options Options
	metrics *Metrics
	strange *tally
	serving atomic.Pointer[serving]
}

var _ plugin.Handler = (*Handler)(nil)

// Options are the environment of a Handler.
type Options struct {
	// Resolver is the one of the pod, for the upstream mode "management".
	Resolver Resolver
	// Dialer opens the sockets to upstreams. Its Control binds them to a device.
	Dialer net.Dialer
	// VMs that have leases. Nil: none are known.
	VMs VMs
	// Log is the logger. Nil: slog.Default().
	Log *slog.Logger
}

// serving holds everything made from one plan.
type serving struct {
	network  network.Network
	views    Views
	servers  []netip.AddrPort
	upstream *Upstream
	// behind has, by view, the tally and the cache in front of the upstream.
	behind map[*View]behind
}

type behind struct {
	tally *tally
	// cache is nil without upstreams.
	cache *cache.Cache
}

// NewHandler returns a Handler that refuses all questions until Serve.
func NewHandler(m *Metrics, o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &Handler{options: o, metrics: m, strange: m.tally("")}
	h.serving.Store(&serving{})
	return h
}

// Serve replaces the plan atomically. Questions in progress use the previous plan. The
// cache survives while the upstreams are the same. One caller at a time.
func (h *Handler) Serve(n network.Network) {
	old := h.serving.Load()
	s := &serving{
		network: n,
		views:   NewViews(n, Internal(n, h.options.Resolver)),
		servers: Servers(n, h.options.Resolver),
		behind:  map[*View]behind{},
	}
	same := slices.Equal(old.servers, s.servers)
	if same {
		s.upstream = old.upstream
	} else if len(s.servers) > 0 {
		s.upstream = NewUpstream(s.servers, h.options.Dialer, h.metrics, h.options.Log)
	}
	if s.upstream == nil && n.DNS.Upstreams.Mode != network.UpstreamNone {
		h.options.Log.Warn("no upstream resolver, names outside the plan are refused", "upstreams", n.DNS.Upstreams.Mode)
	}
	for _, v := range s.views {
		b := behind{tally: h.metrics.tally(v.name)}
		if s.upstream != nil {
			b.cache = cache.New()
			b.cache.Next = s.upstream
		}
		for w, kept := range old.behind {
			if same && w.name == v.name && slices.Equal(w.clients, v.clients) {
				b.cache = kept.cache
			}
		}
		s.behind[v] = b
	}
	h.serving.Store(s)
}

// Name implements plugin.Handler.
func (h *Handler) Name() string { return "oooi" }

// ServeDNS implements plugin.Handler.
func (h *Handler) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	start := time.Now()
	if opt := r.IsEdns0(); opt != nil && opt.UDPSize() > bufferSize {
		// The server truncates answers to the size that the question allows.
		opt.SetUDPSize(bufferSize)
	}
	s := h.serving.Load()
	v := s.views.For(clientOf(w.RemoteAddr()))
	if v == nil {
		return h.write(w, r, Reply{Rcode: dns.RcodeRefused}, false, h.strange, byNone, start)
	}
	b := s.behind[v]
	recursive := b.cache != nil
	if r.Opcode != dns.OpcodeQuery {
		return h.write(w, r, Reply{Rcode: dns.RcodeNotImplemented}, recursive, b.tally, byNone, start)
	}
	if reply, known := Answer(v, h.options.VMs, r.Question[0]); known {
		return h.write(w, r, reply, recursive, b.tally, byPlan, start)
	}
	if !recursive {
		return h.write(w, r, Reply{Rcode: dns.RcodeRefused}, false, b.tally, byNone, start)
	}
	seen := &rcodeWriter{ResponseWriter: w}
	// The upstream has logged a new error already.
	if rcode, _ := b.cache.ServeDNS(ctx, seen, r); !plugin.ClientWrite(rcode) && !seen.written {
		return h.write(w, r, Reply{Rcode: rcode}, true, b.tally, byUpstream, start)
	}
	b.tally.count(byUpstream, seen.rcode, start)
	return dns.RcodeSuccess, nil
}

// write sends and counts reply. Data and negative answers are authoritative, refusals
// are not.
func (h *Handler) write(w dns.ResponseWriter, r *dns.Msg, reply Reply, recursive bool, t *tally, b by, start time.Time) (int, error) {
	m := new(dns.Msg)
	m.SetRcode(r, reply.Rcode)
	m.Authoritative = b == byPlan && reply.Rcode != dns.RcodeRefused
	m.RecursionAvailable = recursive
	m.Compress = true
	m.Answer, m.Ns = reply.Answer, reply.Authority
	err := w.WriteMsg(m)
	t.count(b, reply.Rcode, start)
	return dns.RcodeSuccess, err
}

// rcodeWriter records the response code that the cache writes.
type rcodeWriter struct {
	dns.ResponseWriter
	written bool
	rcode   int
}

// WriteMsg implements dns.ResponseWriter.
func (w *rcodeWriter) WriteMsg(m *dns.Msg) error {
	w.written, w.rcode = true, m.Rcode
	return w.ResponseWriter.WriteMsg(m)
}
