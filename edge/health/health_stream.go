// This file streams a server's answers to its followers, over one connection to its Unix socket,
// which ends with the server.

package health

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cldmnky/oooi/edge/signal"
)

const (
	// beatInterval is how often an unchanged answer is repeated.
	beatInterval = time.Second
	// beatLimit is how long an answer may be missing before the server counts as silent.
	beatLimit = 2 * time.Second
	// dueAfter is how long after an answer the silence begins: a server that stops may have done so
	// right after it.
	dueAfter = 250 * time.Millisecond
	// redialInterval is how often a stopped or silent server is dialed.
	redialInterval = 250 * time.Millisecond
	// followParameter requests answers until the connection is closed.
	followParameter = "follow"
	// okLine means yes. Every other line is the reason why not.
	okLine = "ok"
	// noPrefix, uncheckedPrefix, yieldsPrefix and stalePrefix precede the reason.
	noPrefix        = "no: "
	uncheckedPrefix = "unchecked: "
	yieldsPrefix    = "yields: "
	stalePrefix     = "stale: "
)

// stream writes the answer at each change and each beatInterval.
func (q Question) stream(w http.ResponseWriter, r *http.Request) {
	beat := time.NewTicker(beatInterval)
	defer beat.Stop()
	for {
		var changed <-chan struct{}
		if q.Changed != nil {
			changed = q.Changed()
		}
		if _, err := io.WriteString(w, lineOf(q.Why())+"\n"); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-beat.C:
		}
	}
}

// Refused is the reason of a server that does not serve.
type Refused string

// Error returns the reason.
func (r Refused) Error() string { return string(r) }

// Unchecked is the reason of a server that has not checked whether it serves: Envoy serves while
// `oooi-edge proxy` starts.
type Unchecked string

// Error returns the reason.
func (u Unchecked) Error() string { return string(u) }

// Yields is a failover agent's reason while its edge yields to a younger pod. The peer may
// serve.
type Yields string

// Error returns the reason.
func (y Yields) Error() string { return string(y) }

// Stale is a DHCP server's reason while it cannot read its leases. It then offers nothing.
type Stale string

// Error returns the reason.
func (s Stale) Error() string { return string(s) }

// errSilent is the error of a server that sends no answer.
var errSilent = &url.Error{Op: "Get", URL: "http://edge", Err: context.DeadlineExceeded}

// An AnswerFunc receives an answer: nil for yes. due is when the server had to answer. While an
// answer is missing, the function is called repeatedly. See Away and Unanswered.
type AnswerFunc func(err error, due time.Time)

// FollowServes calls tell with each answer of Serves until ctx ends: at each change, every
// second, and four times a second without an answer.
func (h Health) FollowServes(ctx context.Context, tell AnswerFunc) {
	h.follow(ctx, ServesPath, noServing, tell)
}

// FollowPeer calls tell with each answer of PeerServes, as FollowServes does.
func (h Health) FollowPeer(ctx context.Context, tell AnswerFunc) {
	h.follow(ctx, PeerPath, noPeer, tell)
}

// FollowFresh calls tell with each answer of a DHCP server, as FollowServes does: Stale if it
// cannot read its leases.
func (h Health) FollowFresh(ctx context.Context, tell AnswerFunc) {
	h.follow(ctx, FreshPath, noLeases, tell)
}

// An event is one line of a server, or why there was none.
type event struct{ err error }

// follow calls tell with each answer to path. It measures silence from the last answer, however
// many connections there were since.
func (h Health) follow(ctx context.Context, path, no string, tell AnswerFunc) {
	events := make(chan event)
	go h.connect(ctx, path, no, events)
	due := time.Now()
	silence := time.NewTimer(beatLimit)
	defer silence.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if err = e.err; !Unanswered(err) {
				due = time.Now().Add(dueAfter)
				silence.Reset(beatLimit)
			}
		case <-silence.C:
			silence.Reset(redialInterval)
			err = errSilent
		}
		if ctx.Err() == nil {
			tell(err, due)
		}
	}
}

// connect follows one connection after the other until ctx ends.
func (h Health) connect(ctx context.Context, path, no string, events chan<- event) {
	send := func(err error) {
		select {
		case <-ctx.Done():
		case events <- event{err}:
		}
	}
	for ctx.Err() == nil {
		began := time.Now()
		if err := h.connectOnce(ctx, path, no, send); err != nil {
			send(err)
		}
		// A stopped server is dialed immediately, to check whether it is away.
		signal.Sleep(ctx, redialInterval-time.Since(began))
	}
}

// connectOnce sends the answers of one connection. It returns an error if there was none.
func (h Health) connectOnce(ctx context.Context, path, no string, send func(error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	silence := time.AfterFunc(beatLimit, stop)
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://edge"+path+"?"+followParameter, nil)
	if err != nil {
		return err
	}
	resp, err := h.client.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return errSilent
	case err != nil:
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", no, resp.Status)
	}
	if !silence.Stop() {
		return errSilent
	}
	answered := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); answered = true {
		send(parseLine(lines.Text(), no))
	}
	if !answered {
		return fmt.Errorf("%s: %w", no, io.ErrUnexpectedEOF)
	}
	return nil
}

// lineOf returns the line for an answer.
func lineOf(err error) string {
	if err == nil {
		return okLine
	}
	prefix := noPrefix
	switch {
	case errors.As(err, new(Unchecked)):
		prefix = uncheckedPrefix
	case errors.As(err, new(Yields)):
		prefix = yieldsPrefix
	case errors.As(err, new(Stale)):
		prefix = stalePrefix
	}
	return prefix + strings.ReplaceAll(err.Error(), "\n", " ")
}

// parseLine returns the answer of a line. Parameter no is the prefix of a negative answer in
// errors.
func parseLine(line, no string) error {
	if line == okLine {
		return nil
	}
	if reason, ok := strings.CutPrefix(line, uncheckedPrefix); ok {
		return fmt.Errorf("%s: %w", no, Unchecked(reason))
	}
	if reason, ok := strings.CutPrefix(line, yieldsPrefix); ok {
		return fmt.Errorf("%s: %w", no, Yields(reason))
	}
	if reason, ok := strings.CutPrefix(line, stalePrefix); ok {
		return fmt.Errorf("%s: %w", no, Stale(reason))
	}
	return fmt.Errorf("%s: %w", no, Refused(strings.TrimPrefix(line, noPrefix)))
}
