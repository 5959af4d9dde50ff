// This file streams a server's answers to its followers, over one connection to its Unix
// socket. The connection ends with the server, so a stopped server is noticed at once. It
// takes no decision from the answers.

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
	// beatInterval is how often an unchanged answer is repeated.
	beatInterval = time.Second
	// beatLimit is how long an answer may be missing before the server counts as silent.
	beatLimit = 2 * time.Second
	// redialInterval is how often a stopped or silent server is dialed.
	redialInterval = 250 * time.Millisecond
	// followParameter requests answers until the connection is closed.
	followParameter = "follow"
	// okLine means yes. Every other line is the reason of a no.
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

// errSilent is the error of a server that sends no answer.
var errSilent = &url.Error{Op: "Get", URL: "http://edge", Err: context.DeadlineExceeded}

// An AnswerFunc receives an answer: nil for yes. Due is when the server had to answer. It
// is called repeatedly while an answer is missing. See Away and Unanswered.
type AnswerFunc func(err error, due time.Time)

// FollowServes passes each answer of Serves to tell until ctx ends: at each change, every
// second, and four times a second while no answer arrives.
func (h Health) FollowServes(ctx context.Context, tell AnswerFunc) {
	h.follow(ctx, ServesPath, noServing, tell)
}

// FollowPeer passes each answer of PeerServes to tell, as FollowServes does.
func (h Health) FollowPeer(ctx context.Context, tell AnswerFunc) {
	h.follow(ctx, PeerPath, noPeer, tell)
}

func (h Health) follow(ctx context.Context, path, no string, tell AnswerFunc) {
	for ctx.Err() == nil {
		began := time.Now()
		if err := h.followOnce(ctx, path, no, tell); err != nil && ctx.Err() == nil {
			tell(err, began)
		}
		// A stopped server is dialed at once, to check whether it is away.
		wait := time.NewTimer(redialInterval - time.Since(began))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// followOnce follows one connection. It returns an error if it could not connect.
func (h Health) followOnce(ctx context.Context, path, no string, tell AnswerFunc) error {
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

// read passes each line to tell until lines is closed. After beatLimit without a line it
// reports errSilent repeatedly.
func read(ctx context.Context, lines <-chan string, no string, tell AnswerFunc) {
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
