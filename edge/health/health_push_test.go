package health

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onsi/gomega"
)

// TestAChangeIsPushed: a follower gets a changed answer immediately, and an unchanged one every beatInterval.
func TestAChangeIsPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gomega.NewWithT(t)
		ctx, stop := context.WithCancel(t.Context())
		var why error
		changed := make(chan struct{})
		q := Question{Why: func() error { return why }, Changed: func() <-chan struct{} { return changed }}
		w, began := httptest.NewRecorder(), time.Now()
		go q.stream(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		synctest.Wait()
		was := changed
		why, changed = errors.New("draining"), nil
		close(was)
		synctest.Wait()
		g.Expect(w.Body.String()).To(gomega.Equal("ok\nno: draining\n"))
		g.Expect(time.Since(began)).To(gomega.BeZero())
		<-time.After(beatInterval)
		synctest.Wait()
		g.Expect(w.Body.String()).To(gomega.Equal("ok\nno: draining\nno: draining\n"))
		stop()
	})
}
