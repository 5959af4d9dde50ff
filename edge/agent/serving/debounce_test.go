package serving

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestSilence: what was answered last holds for three seconds of it; an answer
// counts at once.
func TestSilence(t *testing.T) {
	g := NewWithT(t)
	late, no := &url.Error{Op: "Get", Err: context.DeadlineExceeded}, errors.New("draining")
	now := time.Unix(1000, 0)
	var w Debounce
	// Ask takes a second.
	ask := func(answer error) (err error) {
		asked := now
		now = now.Add(time.Second)
		w, err = w.Next(answer, asked, now)
		return err
	}
	g.Expect(ask(late)).To(MatchError(late), "it has never answered")
	g.Expect(ask(nil)).To(Succeed())
	now = now.Add(time.Hour) // no question meanwhile
	g.Expect(ask(late)).To(Succeed())
	g.Expect(ask(late)).To(Succeed())
	g.Expect(ask(nil)).To(Succeed())
	g.Expect(ask(late)).To(Succeed(), "it begins again")
	g.Expect(ask(late)).To(Succeed())
	g.Expect(ask(late)).To(MatchError(late))
	g.Expect(ask(late)).To(MatchError(late))
	g.Expect(ask(nil)).To(Succeed())
	g.Expect(ask(no)).To(MatchError(no))
	g.Expect(ask(late)).To(MatchError(no), "it has not said yes since")
}
