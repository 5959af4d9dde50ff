// Package measure says what a machine notices of a change: for how long new TLS
// connections, DNS and NTP questions and DHCP renewals failed, and how often connections that
// stay were cut. It asks at a steady rate even without an answer to the last question, and judges
// nothing: how long is too long is for others to say.
package measure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Options say what is asked, and from where. What has no address is not asked.
type Options struct {
	// Dial opens every connection, in a machine's network namespace for instance;
	// its addresses are IPs with ports. Nil means the caller's own network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// API is the address of an HTTPS server.
	API string
	// ServerName is sent and verified against CA. "" sends none; CA nil verifies nothing, as the
	// way is measured and not the server.
	ServerName string
	CA         *x509.CertPool
	// DNS is the address of a server, asked by UDP for the address of Question.
	DNS, Question string
	// NTP is the address of a server, asked by UDP for the time.
	NTP string
	// Renew renews a lease, as [Client.Renew] does; nil: none is.
	Renew func(context.Context) (netip.Addr, error)
	// Long is how many connections stay open to API.
	Long int
	// Every so often a new connection is made, a question is asked and a lease is renewed;
	// 0 means 50 ms. A connection that stays asks something every fifth time.
	Every time.Duration
	// InTurn: nothing is asked before the last question of its kind has its answer, so that a busy machine is not asked
	// faster than it answers.
	InTurn bool
	// Patience with an answer; 0 means 800 ms. Less than a second: what comes later was
	// lost at first, and sent again by the kernel.
	Patience time.Duration
	// Silence is what a connection that stays bears before it counts as cut; 0 means
	// 30 s, so that it is a reset that cuts it, if one comes.
	Silence time.Duration
}

// Measurement is one that continues until its context ends.
type Measurement struct {
	options Options
	begin   time.Time
	running sync.WaitGroup

	mu        sync.Mutex
	tls, dns  series
	ntp, dhcp series
	addresses []netip.Addr // of the lease
	long      []LongConnection
}

// Start begins to ask.
func Start(ctx context.Context, o Options) *Measurement {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Every == 0 {
		o.Every = 50 * time.Millisecond
	}
	if o.Patience == 0 {
		o.Patience = 800 * time.Millisecond
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Second
	}
	none := series{short: Milliseconds(4 * o.Every)}
	m := &Measurement{options: o, begin: time.Now(), tls: none, dns: none, ntp: none, dhcp: none}
	if o.API != "" {
		m.long = make([]LongConnection, o.Long)
		m.running.Go(func() { m.repeat(ctx, &m.tls, m.connect) })
		for i := range m.long {
			m.running.Go(func() { m.hold(ctx, &m.long[i]) })
		}
	}
	if o.DNS != "" {
		m.running.Go(func() { m.repeat(ctx, &m.dns, m.resolve) })
	}
	if o.NTP != "" {
		m.running.Go(func() { m.repeat(ctx, &m.ntp, m.askTime) })
	}
	if o.Renew != nil {
		m.running.Go(func() { m.repeat(ctx, &m.dhcp, m.renew) })
	}
	return m
}

// Wait waits until the last question has ended, after the end of the context, and returns
// the whole Report.
func (m *Measurement) Wait() Report {
	m.running.Wait()
	return m.Report()
}

// Report says what is known so far.
func (m *Measurement) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := Report{
		Begin: m.begin.UTC(), Seconds: time.Since(m.begin).Seconds(),
		TLS: m.tls.summary(), DNS: m.dns.summary(), NTP: m.ntp.summary(), DHCP: Renewals{m.dhcp.summary(), slices.Clone(m.addresses)},
	}
	for _, l := range m.long {
		l.Cuts = append([]Cut{}, l.Cuts...)
		r.Long = append(r.Long, l)
	}
	return r
}

// AwaitCalm waits until no question or connection of all failed for a while. It returns ctx's error if that does not
// come before ctx ends.
func AwaitCalm(ctx context.Context, while time.Duration, all ...*Measurement) error {
	failures := func() (n int) {
		for _, m := range all {
			n += m.Report().Failures()
		}
		return n
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for last, since := failures(), time.Now(); time.Since(since) <= while; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if n := failures(); n != last {
			last, since = n, time.Now()
		}
	}
	return nil
}

// AwaitAnswers waits until all have answers to what they asked after the call: one for each kind of question, and one on each
// connection that stays, which is open again if it was cut. It returns ctx's error if that does not come before ctx ends.
func AwaitAnswers(ctx context.Context, all ...*Measurement) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, m := range all {
		for from := m.now(); !m.answeredAll(from); {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	}
	return nil
}

// answeredAll reports whether something asked at a moment or later has an answer, in each kind of question and on each connection
// that stays.
func (m *Measurement) answeredAll(from Milliseconds) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range []series{m.tls, m.dns, m.ntp, m.dhcp} {
		if s.told.Asked > 0 && s.answered < from {
			return false
		}
	}
	return !slices.ContainsFunc(m.long, func(l LongConnection) bool { return l.answered < from })
}

// now is the moment as the report has it.
func (m *Measurement) now() Milliseconds { return Milliseconds(time.Since(m.begin)) }

// repeat asks at the steady rate, and waits for answers in other goroutines.
func (m *Measurement) repeat(ctx context.Context, into *series, ask func(context.Context) error) {
	tick := time.NewTicker(m.options.Every)
	defer tick.Stop()
	for {
		m.mu.Lock()
		asked := m.now()
		into.ask(asked)
		m.mu.Unlock()
		question := func() { m.question(ctx, into, asked, ask) }
		if m.options.InTurn {
			question()
		} else {
			m.running.Go(question)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// question waits for the answer to what was asked at a moment. It does not end with ctx: what was asked when the measurement
// ends gets its answer still.
func (m *Measurement) question(ctx context.Context, into *series, asked Milliseconds, ask func(context.Context) error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.options.Patience)
	defer cancel()
	err := ask(limited)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		into.fail(why(err))
		return
	}
	into.answer(m.now())
	into.answered = max(into.answered, asked)
}

func (m *Measurement) tlsConfig() *tls.Config {
	o := m.options
	return &tls.Config{ServerName: o.ServerName, RootCAs: o.CA, InsecureSkipVerify: o.CA == nil, MinVersion: tls.VersionTLS12}
}
