// This file speaks TLS with backends. It verifies no certificate, since it knows no CA: it says whose
// name the certificate has.

package trial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/cldmnky/oooi/network"
)

// endpoint reports whether a backend answers.
func (w tool) endpoint(ctx context.Context, t network.Trial) (network.TrialVerdict, string) {
	state, err := w.handshake(ctx, t)
	var notTLS tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &notTLS):
		return network.TrialOK, "It answers, but not with TLS."
	case errors.As(err, &alert):
		return network.TrialOK, "It answers with TLS: " + alert.Error() + "."
	case isTimeout(err) && t.Optional && t.Name == "":
		return network.TrialUnknown, fmt.Sprintf("The connection stays open for %v without an answer. It may not be a TLS server.", answersWithin)
	case err != nil:
		return judged(t, ended(err))
	}
	leaf := state.PeerCertificates[0]
	if t.Name != "" && leaf.VerifyHostname(t.Name) != nil {
		return network.TrialWarning, "The certificate has another name: " + strings.Join(append(leaf.DNSNames, leaf.Subject.CommonName), ", ") + "."
	}
	return network.TrialOK, ""
}

// refuses returns an error if anything answers.
func (w tool) refuses(ctx context.Context, t network.Trial) error {
	_, err := w.handshake(ctx, t)
	var notTLS tls.RecordHeaderError
	var alert tls.AlertError
	if err == nil || errors.As(err, &notTLS) || errors.As(err, &alert) {
		return fmt.Errorf("a backend answers a name that is not in the plan")
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

// ended says in words how a connection ended.
func ended(err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("the connection is refused: no edge listens")
	case errors.Is(err, syscall.EHOSTUNREACH):
		return errors.New("no edge has the address: ARP is not answered")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return errors.New("the edge closes the connection: its backend does not answer or refuses the connection")
	case isTimeout(err):
		return fmt.Errorf("no answer within %v", answersWithin)
	}
	return err
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}
