// Package inforce holds the View in force: the part of a plan that an edge serves. The plan comes
// from files first, and from the ConfigMap once this container has read it. A plan that cannot be
// served leaves the last known good plan in force. plan_files.go decides which file is newer.
package inforce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/signal"
)

// A Source holds the View in force and replaces it as a whole.
type Source struct {
	selection Selection
	kube      *kube.Kube
	log       *slog.Logger
	view      atomic.Pointer[View]
	removed   atomic.Bool
	signal    signal.Signal
	files     planFiles

	mu sync.Mutex
	// watched: the ConfigMap was read, so the files are older from now on.
	watched bool
	last    string
}

// New reads the plan in file, and with kube also watches the ConfigMap. It returns an error if the
// file has no plan that can be served.
func New(file string, s Selection, kube *kube.Kube, log *slog.Logger) (*Source, error) {
	files := planFiles{mounted: mountedFile{name: file}}
	if err := files.mounted.read(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	v, err := Read([]byte(files.mounted.text), s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	// The first choice is pinned, even if a later plan offers more.
	s = Selection{Cluster: v.Cluster.String(), Network: v.Network.Name, Edge: v.Edge.Number}
	if log != nil {
		log = log.With("cluster", s.Cluster, "network", s.Network, "edge", s.Edge)
	}
	out := &Source{files: files, selection: s, kube: kube, log: log, last: files.mounted.text}
	out.view.Store(&v)
	return out, nil
}

// Publish makes Run store each plan in file, for the Follow of another container's Source. If file
// is empty, Publish does nothing. If file is newer than the mounted plan, as after a restart
// without the API server, the plan in file is in force immediately. Call it before Current and Run.
func (s *Source) Publish(file string) {
	if file == "" {
		return
	}
	s.files.publish(file, s.log)
	if s.poll(); s.files.mountedIsNewer() {
		s.publish(s.files.mounted.text)
	}
}

// Follow makes s follow the plan that another container stores in file with Publish. Until file
// exists, s follows its own file. away reports whether that container has stopped. A minute after
// it stopped, s follows its own file again if that is newer. Call it before Current and Run.
func (s *Source) Follow(file string, away func() bool) {
	s.files.follow(file, away, s.log)
	s.poll()
}

// Log returns New's logger with the keys cluster, network and edge.
func (s *Source) Log() *slog.Logger { return s.log }

// Current returns the view in force. Do not change it.
func (s *Source) Current() View { return *s.view.Load() }

// Removed reports whether the last valid plan no longer has this edge. Current stays: the edge
// serves until it is stopped.
func (s *Source) Removed() bool { return s.removed.Load() }

// Changed returns a channel that is closed at the next change of Current or Removed.
func (s *Source) Changed() <-chan struct{} { return s.signal.Changed() }

// Run follows the file, and inside a cluster the ConfigMap, until ctx ends.
func (s *Source) Run(ctx context.Context) error {
	if s.kube != nil {
		s.kube.FollowPlan(ctx, func(plan string) { s.observe(plan, true) })
	}
	tick := time.NewTicker(sharedfiles.ReadInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if s.followsObject() {
				tick.Stop()
				continue
			}
			s.poll()
		}
	}
}

// poll reads the files.
func (s *Source) poll() { s.files.poll(s.inForce, func(data string) { s.observe(data, false) }) }

// inForce returns the plan that observe recorded last, also a rejected one.
func (s *Source) inForce() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// followsObject reports whether the ConfigMap was read, so that files are no longer used.
func (s *Source) followsObject() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched
}

// publish stores the plan, if this container is the watcher.
func (s *Source) publish(data string) {
	if !s.files.published {
		return
	}
	if err := sharedfiles.Replace(s.files.copy.Name, []byte(data)); err != nil {
		s.log.Warn("plan not stored for the other containers of the edge", "file", s.files.copy.Name, "err", err)
	}
}

// observe records a plan: of the ConfigMap if watched, else of a file.
func (s *Source) observe(data string, watched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched && !watched || data == s.last && watched == s.watched {
		return
	}
	s.watched, s.last = watched, data
	s.publish(data)
	v, err := Read([]byte(data), s.selection)
	var removed removedError
	switch {
	case errors.As(err, &removed):
		s.log.Warn("edge removed from the plan, serving the last plan until it is stopped", "err", err)
		if !s.removed.Swap(true) {
			s.signal.Notify()
		}
		return
	case err != nil:
		s.log.Warn("new plan rejected, serving the last known good plan", "err", err)
		return
	}
	if was := s.removed.Swap(false); !was && reflect.DeepEqual(v, *s.view.Load()) {
		return
	}
	s.view.Store(&v)
	s.log.Info("plan changed")
	s.signal.Notify()
}
