// Package measure measures what a VM notices of a change. It sends requests at a steady rate: new TLS connections, DNS and NTP
// requests, and DHCP renewals. It reports for how long none of a kind succeeded. It also keeps long connections open, sends requests
// on them, and reports how often they were cut: reset, closed, or silent for too long.
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

// Options say which requests are sent, and from where. Requests to an empty address are not sent.
type Options struct {
	// Dial opens each connection, for example in a VM's network namespace. Addresses are IPs with ports. Nil: the network of this
	// process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// API is the address of an HTTPS server.
	API string
	// ServerName is the TLS server name. Empty: none is sent. CA verifies the server's certificate. Nil: it is not verified.
	ServerName string
	CA         *x509.CertPool
	// DNS is the address of a DNS server. Requests over UDP ask it for the address of the name Question.
	DNS, Question string
	// NTP is the address of an NTP server.
	NTP string
	// Renew renews a lease, and returns its address. Nil: no lease is renewed.
	Renew func(context.Context) (netip.Addr, error)
	// Long is the number of long connections to API.
	Long int
	// Every is the time between two requests of a kind. 0: 50 ms. Long connections send a request after five times as long.
	Every time.Duration
	// InTurn is true to send no request before the last one of its kind has ended. It is for hosts that cannot answer at this
	// rate.
	InTurn bool
	// Patience is how long to wait for an answer. 0: 800 ms. It must be less than a second: after that, the kernel sends lost
	// packets of TCP again, and the loss would go unnoticed.
	Patience time.Duration
	// Silence is how long a long connection waits for an answer before it counts as cut. 0: 30 s, so that a reset comes first
	// if there is one.
	Silence time.Duration
}

// A Measurement sends requests until its context ends.
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

// Start starts a measurement, which ends with ctx.
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

// Wait waits until the context has ended and the last request has, too. It returns the complete Report.
func (m *Measurement) Wait() Report {
	m.running.Wait()
	return m.Report()
}

// Report returns the results so far.
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

// AwaitCalm waits until no request and no long connection of all has failed for the time while. It returns ctx's error if ctx
// ends before.
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

// AwaitAnswers waits until all have got an answer to a request that they sent after the call: for each kind of request, and on
// each long connection. It returns ctx's error if ctx ends before.
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

// answeredAll reports whether a request that was sent at the time from or later has got an answer: for each kind of request, and
// on each long connection.
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

// now returns the time since the start of the measurement.
func (m *Measurement) now() Milliseconds { return Milliseconds(time.Since(m.begin)) }

// repeat calls ask at the steady rate until ctx ends. Without InTurn, each call has a goroutine of its own.
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

// question calls ask once, and records the result. asked is the time of the request. It does not end with ctx, so that the last
// requests of a measurement still get their answers.
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
