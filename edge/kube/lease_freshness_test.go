// This file tests when leases are fresh, and what is read from the API server for that.

package kube

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/edge/health"
)

var leaseResource = schema.GroupResource{Resource: "leases"}

// TestFreshness: leases are fresh while the API server answers. One request without an answer ends
// that at once, and so does silence.
func TestFreshness(t *testing.T) {
	g := gomega.NewWithT(t)
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var f freshness
	g.Expect(f.stale(now)).NotTo(gomega.Succeed(), "it was not asked yet")
	g.Expect(f.due(now)).To(gomega.BeTrue())
	f.read(apierrors.NewNotFound(leaseResource, "x"), now)
	g.Expect(f.stale(now)).To(gomega.Succeed())
	g.Expect(f.due(now.Add(askInterval - 1))).To(gomega.BeFalse())
	g.Expect(f.due(now.Add(askInterval))).To(gomega.BeTrue())
	g.Expect(f.stale(now.Add(freshFor + 1))).NotTo(gomega.Succeed())

	f.wrote(errors.New("connection refused"), now)
	g.Expect(f.stale(now)).To(gomega.MatchError(gomega.ContainSubstring("connection refused")))
	g.Expect(f.due(now.Add(askAgain - 1))).To(gomega.BeFalse())
	g.Expect(f.due(now.Add(askAgain))).To(gomega.BeTrue(), "the next request is soon")
	f.read(nil, now)
	g.Expect(f.stale(now)).To(gomega.Succeed())
}

// TestAnswers: which errors of a request are answers of an API server that reads and writes leases.
func TestAnswers(t *testing.T) {
	down := errors.New("unknown")
	gateway := apierrors.NewGenericServerResponse(http.StatusBadGateway, "GET", leaseResource, "x", "", 0, true)
	for name, c := range map[string]struct {
		err           error
		read, written bool
	}{
		"no error":                      {nil, true, true},
		"there is no such lease":        {apierrors.NewNotFound(leaseResource, "x"), true, true},
		"another edge was first":        {apierrors.NewAlreadyExists(leaseResource, "x"), true, true},
		"another edge changed it":       {apierrors.NewConflict(leaseResource, "x", down), true, true},
		"a quota is used up":            {apierrors.NewForbidden(leaseResource, "x", down), false, true},
		"the token is not accepted":     {apierrors.NewUnauthorized("no"), false, false},
		"the API server has no room":    {apierrors.NewTooManyRequests("later", 1), false, false},
		"its etcd does not answer":      {apierrors.NewInternalError(down), false, false},
		"it ends":                       {apierrors.NewServiceUnavailable("no"), false, false},
		"a proxy before it does":        {gateway, false, false},
		"the network does not reach it": {down, false, false},
	} {
		g, now := gomega.NewWithT(t), time.Now()
		var read, written freshness
		read.read(c.err, now)
		written.wrote(c.err, now)
		g.Expect(read.stale(now) == nil).To(gomega.Equal(c.read), "read: %s", name)
		g.Expect(written.stale(now) == nil).To(gomega.Equal(c.written), "written: %s", name)
	}
}

// TestKeepFresh: the API server is asked every 15 s from its cache, and every second from etcd after
// a request without an answer.
func TestKeepFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gomega.NewWithT(t)
		server := newLeaseServer()
		s := server.edge()
		go s.KeepFresh(t.Context())
		asked := func(d time.Duration) map[string]int {
			server.asked = map[string]int{}
			<-time.After(d)
			synctest.Wait()
			return server.asked
		}
		synctest.Wait()
		g.Expect(s.Fresh()).To(gomega.Succeed())
		g.Expect(asked(10*time.Minute)).To(gomega.Equal(map[string]int{"cache": 40}), "four a minute")

		server.cut = errors.New("cut off")
		g.Expect(s.Fresh()).To(gomega.Succeed(), "it has not noticed yet")
		_, err := server.confirms(t, s, "192.168.100.20")
		g.Expect(err).To(gomega.HaveOccurred())
		g.Expect(s.Fresh()).To(gomega.MatchError(gomega.ContainSubstring("cut off")), "it notices at once")
		g.Expect(health.Stale.Of(s.Fresh())).To(gomega.BeTrue())
		g.Expect(asked(time.Minute)).To(gomega.Equal(map[string]int{"etcd": 60}))
		server.cut = nil
		<-time.After(askAgain)
		synctest.Wait()
		g.Expect(s.Fresh()).To(gomega.Succeed())
		g.Expect(asked(time.Minute)).To(gomega.Equal(map[string]int{"cache": 4}))
	})
}
