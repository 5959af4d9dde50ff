// This file reports whether the leases are fresh: whether the API server answers this edge. It asks if no other
// request was answered recently. A watch may be late, so Confirm reads single leases again.

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/edge/wire"
)

const (
	// askInterval is how long after an answer the API server is asked again. It is long, since all edges ask. Leases do
	// not depend on it: they are written before they are promised.
	askInterval = 15 * time.Second
	// askAgain is the time between a request without an answer and the next one.
	askAgain = time.Second
	// freshFor is how long the leases are fresh after an answer: until the answer to the next request must have
	// arrived.
	freshFor = askInterval + writeTimeout + 2*time.Second
)

// A freshness is the result of the latest requests to the API server. The zero value has none.
type freshness struct {
	mu       sync.Mutex
	answered time.Time // the latest answer
	failed   time.Time // the latest request without one
	err      error     // of that request; nil if the latest one was answered
}

// wrote records the error of a write that ended at now. A refused write is an answer, unless the API server could
// not process the request or does not know this edge.
func (f *freshness) wrote(err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if answers(err) {
		f.answered, f.err = now, nil
		return
	}
	f.failed, f.err = now, err
}

// read records the error of a read that ended at now. Unlike a forbidden write, a forbidden read is not an answer.
func (f *freshness) read(err error, now time.Time) {
	if apierrors.IsForbidden(err) {
		err = errors.New(err.Error())
	}
	f.wrote(err, now)
}

// answers reports whether the API server processed the request that err belongs to.
func answers(err error) bool {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return err == nil
	}
	code := status.Status().Code
	return code < http.StatusInternalServerError && code != http.StatusUnauthorized && code != http.StatusTooManyRequests
}

// stale returns why the leases are not fresh at now, nil if they are.
func (f *freshness) stale(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	since := now.Sub(f.answered)
	switch {
	case f.answered.IsZero():
		return errors.New("the API server has not answered yet")
	case f.err != nil:
		return fmt.Errorf("the API server does not answer: %w", f.err)
	case since > freshFor:
		return fmt.Errorf("the API server has not answered for %s", since.Truncate(time.Second))
	}
	return nil
}

// due reports whether the API server must be asked at now.
func (f *freshness) due(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return now.Sub(f.failed) >= askAgain
	}
	return now.Sub(f.answered) >= askInterval
}

// question returns the options of the next request. The API server may answer from its cache, which costs least.
// After a request without an answer it must ask etcd: without etcd, no write succeeds.
func (f *freshness) question() metav1.GetOptions {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return metav1.GetOptions{}
	}
	return metav1.GetOptions{ResourceVersion: "0"}
}

// Fresh returns nil while the API server answers this edge. Only changes that the watch has not reported yet are
// unknown then.
func (s *Leases) Fresh() error {
	err := s.Ready()
	if err == nil {
		err = s.fresh.stale(time.Now())
	}
	if err != nil {
		return health.Reason{Kind: health.Stale, Text: err.Error()}
	}
	return nil
}

// KeepFresh asks the API server when no other request was answered recently, until ctx ends. Each second it reads
// the leases that may be lost.
func (s *Leases) KeepFresh(ctx context.Context) {
	// No client has this address, so the answer is small: there is no such lease.
	name := wire.LeaseName(s.network, netip.IPv4Unspecified())
	for ctx.Err() == nil {
		if s.fresh.due(time.Now()) {
			asking, cancel := context.WithTimeout(ctx, writeTimeout)
			_, err := s.objects.Get(asking, name, s.fresh.question())
			cancel()
			if ctx.Err() == nil {
				s.fresh.read(err, time.Now())
			}
		}
		s.readLost(ctx)
		signal.Sleep(ctx, askAgain)
	}
}

// Confirm reads the lease on a, and the leases of a MAC, from the API server. It returns an error if the API server did
// not answer.
func (s *Leases) Confirm(ctx context.Context, mac string, a netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := s.read(ctx, a); err != nil {
		return err
	}
	for _, l := range s.OfMAC(mac) {
		if l.Address == a {
			continue
		}
		if err := s.read(ctx, l.Address); err != nil {
			return err
		}
	}
	return nil
}
