// This file pushes the answers of a server to whoever follows it, over one connection
// to its Unix socket. The connection ends with the server, so a server that has ended
// is noticed at once. What follows from an answer is decided elsewhere.

package edge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// beatInterval is how often an answer is repeated that does not change.
	beatInterval = time.Second
	// beatLimit is how long no answer may come before that counts as silence.
	beatLimit = 2 * time.Second
	// redialInterval is how often a server is dialled that has ended or does not answer.
	redialInterval = 250 * time.Millisecond
	// followParameter asks for answers until the connection is closed.
	followParameter = "follow"
	// okLine is the answer yes. Every other line is the reason of a no.
	okLine = "ok"
)

// stream answers as Why says, at each change and each beatInterval.
func (q Question) stream(w http.ResponseWriter, r *http.Request) {
	beat := time.NewTicker(beatInterval)
	defer beat.Stop()
	for {
		var changed <-chan struct{}
		if q.Changed != nil {
			changed = q.Changed()
		}
		line := okLine
		if err := q.Why(); err != nil {
			line = "no: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
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

// errSilent is that a server leaves its followers without an answer.
var errSilent = &url.Error{Op: "Get", URL: "http://edge", Err: context.DeadlineExceeded}

// A Told takes in an answer: nil for yes. Due is when the server was to answer: an
// answer that does not come is told again and again. See Away and Unanswered.
type Told func(err error, due time.Time)

// FollowServes tells each answer of Serves until ctx ends: at each change, every
// second, and four times a second while no answer comes.
func (h Health) FollowServes(ctx context.Context, tell Told) {
	h.follow(ctx, ServesPath, noServing, tell)
}

// FollowPeer tells each answer of PeerServes as FollowServes does.
func (h Health) FollowPeer(ctx context.Context, tell Told) { h.follow(ctx, PeerPath, noPeer, tell) }

func (h Health) follow(ctx context.Context, path, no string, tell Told) {
	for ctx.Err() == nil {
		began := time.Now()
		if err := h.followOnce(ctx, path, no, tell); err != nil && ctx.Err() == nil {
			tell(err, began)
		}
		// A server that ended is dialled at once, to see whether it is away.
		wait := time.NewTimer(redialInterval - time.Since(began))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// followOnce follows through one connection. The error is that there was none.
func (h Health) followOnce(ctx context.Context, path, no string, tell Told) error {
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
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	read(ctx, lines, no, tell)
	return nil
}

// read tells each line until there are no more. After beatLimit without one it tells of
// the silence, again and again.
func read(ctx context.Context, lines <-chan string, no string, tell Told) {
	due := time.Now()
	wait := time.NewTimer(beatLimit)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case line, ok := <-lines:
			if !ok {
				return
			}
			due = time.Now().Add(beatInterval)
			wait.Reset(beatLimit)
			reason, isNo := strings.CutPrefix(line, "no: ")
			if isNo {
				tell(fmt.Errorf("%s: %s", no, reason), due)
			} else {
				tell(nil, due)
			}
		case <-wait.C:
			wait.Reset(redialInterval)
			tell(errSilent, due)
		}
	}
}
