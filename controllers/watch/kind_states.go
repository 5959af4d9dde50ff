// This file holds which kinds are watched. Reads of other kinds return an error and do not wait.

package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/network/problem"
)

// Kinds knows whether each kind that networks are derived from is watched. For a nil Kinds, every kind counts as
// watched.
type Kinds struct {
	scheme *runtime.Scheme
	mu     sync.Mutex
	// states has the state of each kind. Empty: none was looked up yet.
	states map[schema.GroupVersionKind]*kindState
	// answered is when the API server last answered about a kind after it had not.
	answered time.Time
	// used is true if a hosted cluster opted in.
	used bool
	// refusedWatch is how soon a refused request to list or watch a kind is repeated.
	refusedWatch time.Duration
}

// NewKinds returns a Kinds without states. s has all kinds. A refused request to list or watch a kind is repeated
// after refusedWatch.
func NewKinds(s *runtime.Scheme, refusedWatch time.Duration) *Kinds {
	return &Kinds{scheme: s, states: map[schema.GroupVersionKind]*kindState{}, refusedWatch: refusedWatch}
}

type kindState struct {
	// absent is true if the API server does not have the kind, so that no object of it exists.
	absent bool
	// synced has a function for each informer, true if the cache has the objects that existed when the watch began.
	// Empty: no watch began.
	synced []func() bool
	begun  time.Time
	// err is the last error of the API server, and since when the series of errors began. Nil: the watch works.
	err   error
	since time.Time
}

// reads reports whether the cache has objects of the kind.
func (s *kindState) reads() bool {
	return len(s.synced) > 0 && !slices.ContainsFunc(s.synced, func(synced func() bool) bool { return !synced() })
}

// works reports whether the cache follows the objects of the kind.
func (s *kindState) works() bool { return s.err == nil && s.reads() }

// silent reports whether the API server does not answer, which proves nothing about the kind. It returns false once
// grace has passed since the first such error, and since the API server last answered about another kind.
func (s *kindState) silent(answered time.Time, grace time.Duration) bool {
	if answered.Before(s.since) {
		answered = s.since
	}
	return s.reads() && requests.Unanswered(s.err) && time.Since(answered) < grace
}

const (
	// unansweredFor is how long the API server may not answer about one kind, while it answers about others, until
	// conditions report that.
	unansweredFor = 10 * time.Second
	// unreadyAfter is how long the API server may not answer, until the operator is not ready.
	unreadyAfter = 30 * time.Second
)

// A NotWatched is the error for a kind that exists and is not watched. It does not unwrap to Err, whose "not found"
// would be about the kind, not about an object.
type NotWatched struct {
	GVK schema.GroupVersionKind
	Err error
}

// Error implements error.
func (e *NotWatched) Error() string {
	return fmt.Sprintf("%s is not watched: %v", e.GVK.GroupKind(), e.Err)
}

// Problem returns e as a hosted cluster's problem.
func (e *NotWatched) Problem() problem.Problem {
	return problem.New(problem.KindNotWatched, problem.Subject{Kind: e.GVK.Kind}, problem.Args{"kind": {e.GVK.Kind}, "error": {requests.Sentence(e.Err)}})
}

var notListed = errors.New("its objects are not listed yet")

func (k *Kinds) at(gvk schema.GroupVersionKind, change func(*kindState)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.states[gvk] == nil {
		k.states[gvk] = &kindState{}
	}
	change(k.states[gvk])
}

// Observe records the result of a request to list or watch a kind. If err is nil, the kind is watched.
func (k *Kinds) Observe(gvk schema.GroupVersionKind, err error) {
	k.at(gvk, func(s *kindState) {
		if requests.Unanswered(s.err) && !requests.Unanswered(err) {
			k.answered = time.Now()
		}
		s.err = err
		switch {
		case err == nil:
			s.since = time.Time{}
		case s.since.IsZero():
			s.since = time.Now()
		}
	})
}

// unwatched returns the kinds that exist and are not watched, sorted by name. If the API server does not answer about
// any kind, the result is empty.
func (k *Kinds) unwatched() []*NotWatched {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.states {
		if s.works() {
			return k.failing(unansweredFor)
		}
	}
	return k.failing(math.MaxInt64)
}

// failing returns the kinds that exist and are not watched, sorted by name. A kind without an answer counts after
// grace. The caller holds mu.
func (k *Kinds) failing(grace time.Duration) []*NotWatched {
	var out []*NotWatched
	for gvk, s := range k.states {
		if !s.absent && !s.works() && !s.silent(k.answered, grace) {
			out = append(out, &NotWatched{GVK: gvk, Err: cmp.Or[error](s.err, notListed)})
		}
	}
	slices.SortFunc(out, func(a, b *NotWatched) int { return cmp.Compare(a.GVK.String(), b.GVK.String()) })
	return out
}

// Complete returns nil if all kinds that exist are watched. Otherwise a plan would lack objects.
func (k *Kinds) Complete() error {
	var all []error
	for _, e := range k.unwatched() {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// settled reports whether no kind is about to be listed for the first time.
func (k *Kinds) settled(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.states {
		if !s.absent && s.err == nil && !s.reads() && now.Sub(s.begun) < listedWithin {
			return false
		}
	}
	return true
}

// Ready is the readiness probe: its error names kinds that cannot be watched. A kind whose definition was removed
// counts only while a hosted cluster needs it. If the API server does not answer, that counts after unreadyAfter.
func (k *Kinds) Ready(*http.Request) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.states) == 0 {
		return errors.New("no kind is watched yet")
	}
	var all []error
	for _, e := range k.failing(unreadyAfter) {
		if k.used || !apierrors.IsNotFound(e.Err) {
			all = append(all, e)
		}
	}
	return errors.Join(all...)
}

// readable returns nil if a read of objects like o does not have to wait.
func (k *Kinds) readable(o runtime.Object) error {
	if _, live := o.(runtime.Unstructured); live {
		return nil
	}
	gvk, err := apiutil.GVKForObject(o, k.scheme)
	if err != nil {
		return err
	}
	if n := len(gvk.Kind) - len("List"); meta.IsListType(o) && n > 0 {
		gvk.Kind = gvk.Kind[:n]
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s, known := k.states[gvk]
	switch {
	case !known || s.reads():
		return nil
	case s.absent:
		return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	return &NotWatched{GVK: gvk, Err: cmp.Or[error](s.err, notListed)}
}

// A PromptClient returns an error instead of waiting for a kind that is not watched.
type PromptClient struct {
	client.Client
	Kinds *Kinds
}

// Get implements client.Reader.
func (c PromptClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.Kinds.readable(o); err != nil {
		return err
	}
	return c.Client.Get(ctx, key, o, opts...)
}

// List implements client.Reader.
func (c PromptClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Kinds.readable(list); err != nil {
		return err
	}
	return c.Client.List(ctx, list, opts...)
}
