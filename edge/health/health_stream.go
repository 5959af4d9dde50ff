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
	// okLine means yes. Every other line is a Kind, and the reason why not.
	okLine = "ok"
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

// A Reason is why an answer is negative.
type Reason struct {
	Kind Kind
	Text string
}

// Error returns the text.
func (r Reason) Error() string { return r.Text }

// A Kind is the kind of a Reason.
type Kind string

const (
	// Refused: the server does not serve.
	Refused Kind = "no"
	// Unchecked: the server has not checked whether it serves. Envoy serves while `oooi-edge proxy` starts.
	Unchecked Kind = "unchecked"
	// Yields: the edge of a failover agent yields to a younger pod. The peer may serve.
	Yields Kind = "yields"
	// Stale: a DHCP server cannot read its leases. It then offers nothing.
	Stale Kind = "stale"
)

// Of reports whether err is a Reason of this kind.
func (k Kind) Of(err error) bool {
	var r Reason
	return errors.As(err, &r) && r.Kind == k
}

// errSilent is the error of a server that sends no answer.
var errSilent = &url.Error{Op: "Get", URL: "http://edge", Err: context.DeadlineExceeded}

// An AnswerFunc receives an answer: nil for yes. due is when the server had to answer. While an
// answer is missing, the function is called repeatedly. See Away and Unanswered.
type AnswerFunc func(err error, due time.Time)

// An event is one line of a server, or why there was none.
type event struct{ err error }

// Follow calls tell with each answer to path until ctx ends: at each change, every second, and four
// times a second without an answer. It measures silence from the last answer, however many
// connections there were since.
func (h Health) Follow(ctx context.Context, path string, tell AnswerFunc) {
	events := make(chan event)
	go h.connect(ctx, path, events)
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
func (h Health) connect(ctx context.Context, path string, events chan<- event) {
	send := func(err error) {
		select {
		case <-ctx.Done():
		case events <- event{err}:
		}
	}
	for ctx.Err() == nil {
		began := time.Now()
		if err := h.connectOnce(ctx, path, send); err != nil {
			send(err)
		}
		// A stopped server is dialed immediately, to check whether it is away.
		signal.Sleep(ctx, redialInterval-time.Since(began))
	}
}

// connectOnce sends the answers of one connection. It returns an error if there was none.
func (h Health) connectOnce(ctx context.Context, path string, send func(error)) error {
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
		return fmt.Errorf("%s: %s", negative[path], resp.Status)
	}
	if !silence.Stop() {
		return errSilent
	}
	answered := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); answered = true {
		send(parseLine(lines.Text(), path))
	}
	if !answered {
		return fmt.Errorf("%s: %w", negative[path], io.ErrUnexpectedEOF)
	}
	return nil
}

// lineOf returns the line for an answer.
func lineOf(err error) string {
	if err == nil {
		return okLine
	}
	r := Reason{Kind: Refused}
	_ = errors.As(err, &r)
	return string(r.Kind) + ": " + strings.ReplaceAll(err.Error(), "\n", " ")
}

// parseLine returns the answer of a line.
func parseLine(line, path string) error {
	if line == okLine {
		return nil
	}
	kind, text, _ := strings.Cut(line, ": ")
	return fmt.Errorf("%s: %w", negative[path], Reason{Kind(kind), text})
}
