// This file caches the answers of upstream resolvers for one view. It reads no clock: the caller passes the time, and locks.

package dns

import (
	"slices"
	"time"

	"github.com/coredns/coredns/plugin/pkg/dnsutil"
	"github.com/coredns/coredns/plugin/pkg/response"
	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/dns/shares"
)

const (
	// cacheBytes is the size of all caches together. Views have equal parts.
	cacheBytes = 16 << 20
	// entryBytes is the size of an entry in bytes, without its answer and its name.
	entryBytes = 512
	// maxCached is the size of the largest answer in the cache, in octets.
	maxCached = 4096
	// maxTTL limits the TTL of an answer. maxNegativeTTL limits the TTL of an answer that denies the name or the type.
	maxTTL, maxNegativeTTL = time.Hour, 30 * time.Minute
	// failedFor is how long a question is not sent again after upstreams failed (RFC 9520 section 3.2: 1 s to 5 min).
	failedFor = 5 * time.Second
	// staleFor is how long an expired answer is served while no upstream answers, with the TTL staleTTL (RFC 8767 section 4:
	// 30 s).
	staleFor, staleTTL = time.Hour, 30
)

// A question is sent to upstreams, and is the key of the cache.
type question struct {
	// name is in lower case.
	name   string
	rrtype uint16
	// do and cd are the DO and CD bits, which change the answer (RFC 4035 sections 3.2.1 and 3.2.2).
	do, cd bool
}

// A state is whether a cached answer can be served.
type state int

const (
	// unknown: no answer.
	unknown state = iota
	// fresh: the answer is valid.
	fresh
	// failed: upstreams failed a moment ago, and there is no answer.
	failed
	// stale: the answer is served only if no upstream answers.
	stale
	// staleNow: the answer is stale, and upstreams failed a moment ago, so it is served immediately.
	staleNow
)

// A cache holds answers up to a limit in bytes. Each answer uses the share of the client that asked first.
type cache struct {
	answers *shares.Shares[*entry]
	entries map[question]*shares.Holding[*entry]
}

// An entry is the cached answer to one question. It is immutable: a new entry replaces it.
type entry struct {
	question question
	// wire is the packed answer. Nil: upstreams failed, and there was no answer before.
	wire            []byte
	stored, expires time.Time
	// failedUntil is the time before which upstreams are not asked again.
	failedUntil time.Time
}

func newCache(limit int) *cache {
	return &cache{answers: shares.New[*entry](limit, false), entries: map[question]*shares.Holding[*entry]{}}
}

// find returns the entry of q and its state, or nil and unknown if there is no entry.
func (c *cache) find(q question, now time.Time) (*entry, state) {
	h := c.entries[q]
	if h == nil {
		return nil, unknown
	}
	e := h.Value
	failing := now.Before(e.failedUntil)
	switch {
	case e.wire != nil && now.Before(e.expires):
		c.answers.Touch(h)
		return e, fresh
	case e.wire != nil && now.Before(e.expires.Add(staleFor)):
		c.answers.Touch(h)
		if failing {
			return e, staleNow
		}
		return e, stale
	case failing:
		return e, failed
	}
	c.remove(h)
	return nil, unknown
}

// store caches wire, the packed answer to q, for ttl. It uses the share of the client in parameter by. store returns how
// many other answers it evicts.
func (c *cache) store(q question, by shares.Client, wire []byte, ttl time.Duration, now time.Time) (lost int) {
	return c.put(by, &entry{question: q, wire: wire, stored: now, expires: now.Add(ttl)})
}

// fail records that upstreams failed to answer q. It keeps an expired answer that may still be served. It returns how many
// other answers it evicts.
func (c *cache) fail(q question, by shares.Client, now time.Time) (lost int) {
	e := &entry{question: q, failedUntil: now.Add(failedFor)}
	if h := c.entries[q]; h != nil {
		e.wire, e.stored, e.expires = h.Value.wire, h.Value.stored, h.Value.expires
		by = h.Client()
	}
	return c.put(by, e)
}

func (c *cache) put(by shares.Client, e *entry) (lost int) {
	if h := c.entries[e.question]; h != nil {
		c.remove(h)
	}
	h, dropped := c.answers.Take(by, len(e.wire)+len(e.question.name)+entryBytes, e)
	c.entries[e.question] = h
	for _, d := range dropped {
		delete(c.entries, d.question)
	}
	return len(dropped)
}

func (c *cache) remove(h *shares.Holding[*entry]) {
	delete(c.entries, h.Value.question)
	c.answers.Give(h)
}

// resize sets how many bytes the cache may have. It returns how many answers it evicts.
func (c *cache) resize(limit int) (lost int) {
	dropped := c.answers.Resize(limit)
	for _, d := range dropped {
		delete(c.entries, d.question)
	}
	return len(dropped)
}

// message returns the answer of an entry. Stale answers have a short TTL.
func (e *entry) message(s state, now time.Time) (*dns.Msg, error) {
	m := new(dns.Msg)
	if err := m.Unpack(e.wire); err != nil {
		return nil, err
	}
	age := uint32(max(0, now.Sub(e.stored)) / time.Second)
	for _, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
		for _, rr := range section {
			h := rr.Header()
			h.Ttl = min(h.Ttl, uint32(maxTTL/time.Second))
			h.Ttl -= min(h.Ttl, age)
			if s == stale || s == staleNow {
				h.Ttl = staleTTL
			}
		}
	}
	return m, nil
}

// lifetime returns how long an upstream's answer is valid. Zero: it is not cached.
func lifetime(m *dns.Msg, now time.Time) time.Duration {
	if m.Truncated || len(m.Question) != 1 {
		return 0
	}
	kind, _ := response.Typify(m, now)
	if kind == response.NoError && !resolved(m) {
		kind = response.NoData
	}
	limit := maxTTL
	switch kind {
	case response.NoError:
	case response.NameError, response.NoData:
		if !has(m.Ns, dns.TypeSOA) {
			return 0 // RFC 2308 section 5
		}
		limit = maxNegativeTTL
	default:
		return 0
	}
	return dnsutil.MinimalTTLWithMaximum(m, kind, limit)
}

// resolved reports whether an answer has a record of the requested type, not only aliases.
func resolved(m *dns.Msg) bool {
	t := m.Question[0].Qtype
	return len(m.Answer) > 0 && (t == dns.TypeANY || has(m.Answer, t))
}

func has(rrs []dns.RR, t uint16) bool {
	return slices.ContainsFunc(rrs, func(rr dns.RR) bool { return rr.Header().Rrtype == t })
}
