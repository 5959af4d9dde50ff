// This file requests the configuration of a machine with curl, which uses the machine's own resolver and routes. curl reads headers
// from its standard input, so that the token does not appear in its arguments.

package machine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cldmnky/oooi/test/testbed/await"
)

// An Answer is the response of an HTTPS server.
type Answer struct {
	// Status is the HTTP status code.
	Status int
	// Server is the address that the name resolved to.
	Server netip.Addr
	Body   string
	// Connect is the time until the TCP connection was open, and TLS until the handshake was complete. Both include the
	// resolution of the name.
	Connect, TLS time.Duration
}

// curlReport is the format of the values that curl prints after the body, each on its own line.
const curlReport = `\n%{http_code}\n%{remote_ip}\n%{time_connect}\n%{time_appconnect}`

// Ask requests url. It trusts only ca, in PEM. It returns an error without an HTTP response: the name does not exist, no host answers,
// or the certificate is not valid.
func (m *Machine) Ask(ctx context.Context, url string, headers []Header, ca []byte) (Answer, error) {
	digest := sha256.Sum256(ca)
	pem, err := m.WriteFile(filepath.Join("ca", hex.EncodeToString(digest[:8])+".pem"), ca, 0o644)
	if err != nil {
		return Answer{}, err
	}
	var config strings.Builder
	for _, h := range headers {
		fmt.Fprintf(&config, "header = %s\n", strconv.Quote(h.Name+": "+h.Value))
	}
	cmd := m.Command(ctx, "curl", "--disable", "--silent", "--show-error", "--noproxy", "*", "--max-time", "60",
		"--cacert", pem, "--write-out", curlReport, "--config", "-", url)
	cmd.Stdin = strings.NewReader(config.String())
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return Answer{}, fmt.Errorf("GET %s: %w: %s", url, err, strings.TrimSpace(complaint.String()))
	}
	return parseAnswer(out.String())
}

func parseAnswer(text string) (Answer, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 5 {
		return Answer{}, fmt.Errorf("curl said %q", text)
	}
	body, report := lines[:len(lines)-4], lines[len(lines)-4:]
	a := Answer{Body: strings.Join(body, "\n")}
	var err error
	if a.Status, err = strconv.Atoi(report[0]); err != nil {
		return Answer{}, fmt.Errorf("curl: status: %w", err)
	}
	if a.Server, err = netip.ParseAddr(report[1]); err != nil {
		return Answer{}, fmt.Errorf("curl: server: %w", err)
	}
	if a.Connect, err = time.ParseDuration(report[2] + "s"); err != nil {
		return Answer{}, fmt.Errorf("curl: %w", err)
	}
	if a.TLS, err = time.ParseDuration(report[3] + "s"); err != nil {
		return Answer{}, fmt.Errorf("curl: %w", err)
	}
	return a, nil
}

// AskIgnition requests the configuration as Ignition does: repeatedly, until a server answers with a status below 500, for at most
// limit. with is the answer to the request with the token, and without that to the same request without the token.
func (m *Machine) AskIgnition(ctx context.Context, data UserData, limit time.Duration) (with, without Answer, err error) {
	var last error
	err = await.Poll(ctx, limit, func() (bool, error) {
		with, last = m.Ask(ctx, data.Source.String(), data.Headers, data.CA)
		return last == nil && with.Status < 500, nil // HyperShift's server answers 511 until it has rendered the configuration.
	})
	if err != nil {
		return with, without, fmt.Errorf("no configuration in %s (last: %d %s, %v)", limit, with.Status, strings.TrimSpace(with.Body), last)
	}
	without, err = m.Ask(ctx, data.Source.String(), data.Without("Authorization").Headers, data.CA)
	return with, without, err
}
