// This file makes TLS handshakes with backends. It knows no CA, so it verifies only the name in a
// certificate.

package trial

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// endpoint returns the problems of a backend that must answer. Nil: it answers.
func (w tool) endpoint(ctx context.Context, t network.Trial) problem.Problems {
	state, err := w.handshake(ctx, t)
	var notTLS tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &notTLS):
		return found(problem.EndpointWithoutTLS, nil)
	case errors.As(err, &alert):
		return found(problem.EndpointAlerts, problem.Args{"error": {alert.Error()}})
	case isTimeout(err) && t.Optional && t.Name == "":
		return found(problem.EndpointWaits, problem.Args{"within": {answersWithin.String()}})
	case err != nil:
		return ended(err)
	}
	leaf := state.PeerCertificates[0]
	if t.Name != "" && leaf.VerifyHostname(t.Name) != nil {
		return found(problem.CertificateDiffers, problem.Args{"names": append(leaf.DNSNames, leaf.Subject.CommonName)})
	}
	return nil
}

// refuses returns a problem if a server answers with TLS, or with other data, where none must.
func (w tool) refuses(ctx context.Context, t network.Trial) problem.Problems {
	_, err := w.handshake(ctx, t)
	var notTLS tls.RecordHeaderError
	var alert tls.AlertError
	if err == nil || errors.As(err, &notTLS) || errors.As(err, &alert) {
		return found(problem.ServerNameUnplanned, nil)
	}
	return nil
}

func (w tool) handshake(ctx context.Context, t network.Trial) (tls.ConnectionState, error) {
	c, err := w.dialer.DialContext(ctx, "tcp4", t.At.String())
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = c.Close() }()
	u := tls.Client(c, &tls.Config{ServerName: t.Name, InsecureSkipVerify: true}) //nolint:gosec // See the top of this file.
	if err := u.HandshakeContext(ctx); err != nil {
		return tls.ConnectionState{}, err
	}
	return u.ConnectionState(), nil
}

// ended returns the problem that err, the end of a connection, shows.
func ended(err error) problem.Problems {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return found(problem.ConnectionRefused, nil)
	case errors.Is(err, syscall.EHOSTUNREACH):
		return found(problem.AddressUnanswered, nil)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return found(problem.ConnectionClosed, nil)
	case isTimeout(err):
		return found(problem.ConnectionSilent, problem.Args{"within": {answersWithin.String()}})
	}
	return found(problem.ConnectionFailed, problem.Args{"error": {err.Error()}})
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}
