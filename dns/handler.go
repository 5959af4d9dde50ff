// This file answers one question: from the plan, else from the upstreams, else it refuses.

package dns

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns/coredns/plugin/pkg/edns"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/dns/shares"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/resolvconf"
)

// A Handler answers the questions of one network's clients. It is safe for
// concurrent use.
type Handler struct {
	options Options
	metrics *Metrics
	strange *tally
	serving atomic.Pointer[serving]
	// forwarding are the questions over UDP that wait for upstreams. Each Run sets a new group.
	forwarding atomic.Pointer[sync.WaitGroup]
	guard      *guard
}

var _ dns.Handler = (*Handler)(nil)

// Options are what a Handler needs besides a plan.
type Options struct {
	// Resolver is the resolv.conf of the pod, for the upstream mode "management".
	Resolver resolvconf.File
	// Dialer opens the sockets to upstreams. Its Control binds them to a device.
	Dialer net.Dialer
	// NetworkDialer opens the sockets to upstreams on the network itself.
	NetworkDialer net.Dialer
	// MACs finds the MACs of clients, which are counted by MAC. Nil: clients are counted by address.
	MACs MACs
	// VMs knows the VMs with leases. Nil: none are known.
	VMs answers.VMs
	// AskedIgnition is called with each client that asks for a name of Ignition. It must return immediately, and may be nil.
	AskedIgnition func(netip.Addr)
	// Log is the logger. Nil: slog.Default().
	Log *slog.Logger
}

// MACs finds the MACs of hosts on the network.
type MACs interface {
	// MACOf returns the MAC of the host that sends from an address of the network. Empty: not known. present reports
	// whether the kernel knows the MAC now. If not, the kernel sends an ARP request before it sends to the address.
	MACOf(netip.Addr) (mac string, present bool)
}

// dialers returns a dialer for each of servers, the upstreams of n.
func (o Options) dialers(n network.Network, servers []netip.AddrPort) []net.Dialer {
	var out []net.Dialer
	for _, at := range servers {
		if answers.OnNetwork(n, at) {
			out = append(out, o.NetworkDialer)
		} else {
			out = append(out, o.Dialer)
		}
	}
	return out
}

// serving holds everything made from one plan.
type serving struct {
	network network.Network
	views   answers.Views
	servers []netip.AddrPort
	// forwarder is nil without upstreams.
	forwarder *forwarder
	// tallies has a tally for each view.
	tallies map[*answers.View]*tally
	// ignition are the names of Ignition, in lower case with trailing dot.
	ignition []string
}

// NewHandler returns a Handler that refuses all questions until Serve.
func NewHandler(m *Metrics, o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &Handler{options: o, metrics: m, strange: m.tally(""), guard: newGuard(m, o.Log)}
	h.serving.Store(&serving{})
	h.forwarding.Store(&sync.WaitGroup{})
	return h
}

// Serve replaces the plan atomically. The edge has no route to the servers in parameter lost, so they are not asked.
// The cache of a view is dropped if the upstreams change, or if one of them moves to or from the network. It is also
// dropped if a client of another view moves to this one. Only one goroutine may call Serve at a time.
func (h *Handler) Serve(n network.Network, lost ...netip.AddrPort) {
	old := h.serving.Load()
	s := &serving{
		network: n,
		views:   answers.NewViews(n, answers.Internal(n, h.options.Resolver)),
		servers: answers.Servers(n, h.options.Resolver),
		tallies: map[*answers.View]*tally{},
	}
	for _, name := range n.IgnitionNames() {
		s.ignition = append(s.ignition, dns.CanonicalName(name))
	}
	same := slices.Equal(old.servers, s.servers)
	for _, at := range s.servers {
		same = same && answers.OnNetwork(old.network, at) == answers.OnNetwork(n, at)
	}
	if same {
		s.forwarder = old.forwarder
	} else {
		if old.forwarder != nil {
			old.forwarder.retire(s.servers)
		}
		if len(s.servers) > 0 {
			s.forwarder = newForwarder(NewUpstream(s.servers, h.options.dialers(n, s.servers), h.metrics, h.options.Log), h.metrics)
		}
	}
	if s.forwarder == nil && n.DNS.Upstreams.Mode != network.UpstreamNone {
		h.options.Log.Warn("no upstream resolver, names outside the plan are refused", "upstreams", n.DNS.Upstreams.Mode)
	}
	forwarded := map[string]bool{}
	for _, v := range s.views {
		s.tallies[v] = h.metrics.tally(v.Name())
		if v.Forwards() {
			forwarded[v.Name()] = old.views.Keeps(v)
		}
	}
	if s.forwarder != nil {
		s.forwarder.upstream.lose(lost)
		s.forwarder.setViews(forwarded)
	}
	h.serving.Store(s)
}

// ServeDNS implements dns.Handler. The answer fits into the size that the client accepts. After a panic it is SERVFAIL.
func (h *Handler) ServeDNS(w dns.ResponseWriter, r *dns.Msg) {
	w = request.NewScrubWriter(r, sized{w})
	if !h.guard.run(func() { h.serve(w, r) }) {
		h.guard.run(func() { _ = w.WriteMsg(failure(r)) })
	}
}

func (h *Handler) serve(w dns.ResponseWriter, r *dns.Msg) {
	start := time.Now()
	if m, err := edns.Version(r); err != nil {
		_ = w.WriteMsg(m)
		h.strange.count(byNone, m.Rcode, start)
		return
	}
	if opt := r.IsEdns0(); opt != nil && opt.UDPSize() > answers.BufferSize {
		// The server truncates answers to the size that the question allows.
		opt.SetUDPSize(answers.BufferSize)
	}
	s := h.serving.Load()
	v := s.views.For(clientOf(w.RemoteAddr()))
	if v == nil {
		h.write(w, r, answers.Reply{Rcode: dns.RcodeRefused}, false, h.strange, byNone, start)
		return
	}
	t, recursive := s.tallies[v], s.recursive(v)
	if r.Opcode != dns.OpcodeQuery {
		h.write(w, r, answers.Reply{Rcode: dns.RcodeNotImplemented}, recursive, t, byNone, start)
		return
	}
	h.asked(s, clientOf(w.RemoteAddr()), dns.CanonicalName(r.Question[0].Name))
	if reply, known := answers.Answer(v, h.options.VMs, r.Question[0]); known {
		h.write(w, r, reply, recursive, t, byPlan, start)
		return
	}
	if !recursive {
		h.write(w, r, answers.Reply{Rcode: dns.RcodeRefused}, false, t, byNone, start)
		return
	}
	from := h.clientAt(clientOf(w.RemoteAddr()))
	send := func(answer *dns.Msg, source by) {
		_ = w.WriteMsg(answer) // A client that is gone needs no answer.
		t.count(source, answer.Rcode, start)
	}
	if answer, source := s.forwarder.known(v.Name(), from, r); answer != nil {
		send(answer, source)
		return
	}
	_, tcp := w.RemoteAddr().(*net.TCPAddr)
	forward := func() {
		ok := h.guard.run(func() {
			answer, source, done := s.forwarder.ask(v.Name(), from, r, tcp)
			defer done()
			send(answer, source)
		})
		if !ok {
			h.guard.run(func() { send(failure(r), byUpstream) })
		}
	}
	if tcp {
		forward() // The next question of this connection waits.
	} else {
		h.forwarding.Load().Go(forward)
	}
}

// asked calls AskedIgnition if name is one of Ignition's. name is in lower case with trailing dot.
func (h *Handler) asked(s *serving, client netip.Addr, name string) {
	if h.options.AskedIgnition != nil && slices.Contains(s.ignition, name) {
		h.options.AskedIgnition(client)
	}
}

// recursive reports whether questions of a view may be forwarded.
func (s *serving) recursive(v *answers.View) bool { return s.forwarder != nil && v.Forwards() }

// clientAt returns the client at address a. A host beyond the network is a client of its own.
func (h *Handler) clientAt(a netip.Addr) shares.Client {
	c, _ := h.senderAt(a, a.As16()[15]%groups)
	if c.MAC == beyond {
		return shares.Client{Address: a}
	}
	return h.ranked(c)
}

// ranked returns c with Known set.
func (h *Handler) ranked(c shares.Client) shares.Client {
	c.Known = c.MAC != "" && h.options.VMs != nil && h.options.VMs.HasMAC(c.MAC)
	return c
}

// beyond stands for the MACs of hosts that are not on the network.
const beyond = "beyond the network"

// senderAt returns the client for a UDP query that arrived in a group of sockets, without Known. A VM can invent
// addresses. So in each group, all addresses of the network without a MAC are one client, and all hosts beyond it another.
// present reports whether an answer need not wait for ARP.
func (h *Handler) senderAt(a netip.Addr, group uint8) (c shares.Client, present bool) {
	if h.options.MACs == nil {
		return shares.Client{Address: a}, true
	}
	mac, present := h.options.MACs.MACOf(a)
	switch {
	case mac != "":
		return shares.Client{MAC: mac}, present
	case h.serving.Load().network.CIDR.Contains(a):
		return shares.Client{Group: group}, false
	}
	return shares.Client{MAC: beyond, Group: group}, true
}

// write sends and counts reply. Data and negative answers are authoritative, refusals are not.
func (h *Handler) write(w dns.ResponseWriter, r *dns.Msg, reply answers.Reply, recursive bool, t *tally, b by, start time.Time) {
	m := new(dns.Msg)
	m.SetRcode(r, reply.Rcode)
	m.Authoritative = b == byPlan && reply.Rcode != dns.RcodeRefused
	m.RecursionAvailable = recursive
	m.Compress = true
	m.Answer, m.Ns = reply.Answer, reply.Authority
	_ = w.WriteMsg(m)
	t.count(b, reply.Rcode, start)
}
