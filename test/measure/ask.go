// This file sends the requests: a new TLS connection, a DNS request, an NTP request, a renewal, and those on a long connection.

package measure

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"

	ntp "github.com/facebook/time/ntp/protocol"
	"github.com/miekg/dns"
)

// connect opens a TLS connection and closes it.
func (m *Measurement) connect(ctx context.Context) error {
	conn, err := m.dialTLS(ctx)
	if err != nil {
		return err
	}
	conn.Close()
	return nil
}

func (m *Measurement) dialTLS(ctx context.Context) (*tls.Conn, error) {
	conn, err := m.options.Dial(ctx, "tcp", m.options.API)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, m.tlsConfig())
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// dialUDP returns a UDP socket with a new port, for one request. Its deadline is that of ctx.
func (m *Measurement) dialUDP(ctx context.Context, address string) (net.Conn, error) {
	conn, err := m.options.Dial(ctx, "udp", address)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// resolve sends one DNS request. It returns an error without an address in the answer.
func (m *Measurement) resolve(ctx context.Context) error {
	conn, err := m.dialUDP(ctx, m.options.DNS)
	if err != nil {
		return err
	}
	defer conn.Close()
	question := new(dns.Msg).SetQuestion(dns.Fqdn(m.options.Question), dns.TypeA)
	// The deadline of conn applies.
	answer, _, err := new(dns.Client).ExchangeWithConn(question, &dns.Conn{Conn: conn})
	if err != nil {
		return err
	}
	if answer.Rcode != dns.RcodeSuccess || len(answer.Answer) == 0 {
		return fmt.Errorf("%s, %d records", dns.RcodeToString[answer.Rcode], len(answer.Answer))
	}
	return nil
}

// errUnsynchronized is the error for an answer of an NTP server that clients must not use (RFC 5905, section 7.4).
var errUnsynchronized = errors.New("not synchronized")

// askTime sends one NTP request.
func (m *Measurement) askTime(ctx context.Context) error {
	conn, err := m.dialUDP(ctx, m.options.NTP)
	if err != nil {
		return err
	}
	defer conn.Close()
	question := ntp.Packet{Settings: 4<<3 | ntpClient}
	question.TxTimeSec, question.TxTimeFrac = ntp.Time(time.Now())
	packet, err := question.Bytes()
	if err != nil {
		return err
	}
	if _, err := conn.Write(packet); err != nil {
		return err
	}
	buffer := make([]byte, 512)
	n, err := conn.Read(buffer)
	if err != nil {
		return err
	}
	answer, err := ntp.BytesToPacket(buffer[:n])
	if err != nil {
		return err
	}
	return judgeTime(question, *answer)
}

// Modes of RFC 5905, section 7.3.
const ntpClient, ntpServer = 3, 4

// judgeTime returns nil if an NTP client would use the answer.
func judgeTime(question, answer ntp.Packet) error {
	switch leap, mode := answer.Settings>>6, answer.Settings&7; {
	case mode != ntpServer:
		return fmt.Errorf("mode %d", mode)
	case answer.OrigTimeSec != question.TxTimeSec || answer.OrigTimeFrac != question.TxTimeFrac:
		return errors.New("an answer to another question")
	case leap == 3 || answer.Stratum == 0 || answer.Stratum > 15:
		return errUnsynchronized
	}
	return nil
}

// renew renews the lease once.
func (m *Measurement) renew(ctx context.Context) error {
	address, err := m.options.Renew(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.addresses, address) {
		m.addresses = append(m.addresses, address)
	}
	return nil
}

// hold keeps one long connection open until ctx ends. If it is cut, hold opens it again, and tries that at the steady rate.
func (m *Measurement) hold(ctx context.Context, l *LongConnection) {
	tick := time.NewTicker(m.options.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, m.options.Patience)
		conn, err := m.dialTLS(limited)
		cancel()
		if err == nil {
			m.mu.Lock()
			if n := len(l.Cuts); n > 0 {
				l.Cuts[n-1].Back = m.now() - l.Cuts[n-1].At
			}
			l.Opened++
			m.mu.Unlock()
			err = m.converse(ctx, conn, l)
			conn.Close()
			if ctx.Err() != nil {
				return
			}
			m.mu.Lock()
			l.Cuts = append(l.Cuts, Cut{At: m.now(), Why: why(err)})
			m.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// converse sends requests on conn until it is cut or ctx ends. Any HTTP response is an answer.
func (m *Measurement) converse(ctx context.Context, conn *tls.Conn, l *LongConnection) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	request, err := http.NewRequest(http.MethodGet, "https://"+m.options.API+"/version", nil)
	if err != nil {
		return err
	}
	tick := time.NewTicker(5 * m.options.Every)
	defer tick.Stop()
	reader := bufio.NewReader(conn)
	for {
		if err := conn.SetDeadline(time.Now().Add(m.options.Silence)); err != nil {
			return err
		}
		asked := m.now()
		if err := request.Write(conn); err != nil {
			return err
		}
		answer, err := http.ReadResponse(reader, request)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return err
		}
		m.mu.Lock()
		l.Answers++
		l.answered = asked
		m.mu.Unlock()
		if answer.Close {
			return errors.New("the server closes after each answer")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// why returns a word for err, so that errors can be counted. Without such a word, it returns the text of err.
func why(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "unreachable"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "silent"
	}
	return err.Error()
}
