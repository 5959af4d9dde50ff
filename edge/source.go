// This file holds the view in force: from the file first, and from the ConfigMap once this
// container or another one of the pod has read it. A plan that cannot be served leaves the last known good plan in force. It
// never changes a plan.

package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/cldmnky/oooi/edge/wire"
)

const (
	// readInterval is how often files are read. A mounted ConfigMap is a symbolic link
	// that is swapped, which a watch of the file does not notice.
	readInterval = time.Second
)

// A Source holds the View in force and replaces it as a whole.
type Source struct {
	file      string
	selection Selection
	kube      *Kube
	log       *slog.Logger
	view      atomic.Pointer[View]
	removed   atomic.Bool
	signal    signal
	// copied is the copy that another container stores, nil if there is none. Copy is the
	// file to store one in, empty for none.
	copied *sharedFile
	copy   string

	mu sync.Mutex
	// watched: the ConfigMap was read, so the file is older from now on.
	watched bool
	last    string
}

// NewSource reads the plan in file. With kube it also watches the ConfigMap. It returns an
// error if the file holds no plan that can be served.
func NewSource(file string, s Selection, kube *Kube, log *slog.Logger) (*Source, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	v, err := ReadView(data, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	// The first choice is pinned, even if a later plan offers more.
	s = Selection{Cluster: v.Cluster.String(), Network: v.Network.Name, Edge: v.Edge.Number}
	if log != nil {
		log = log.With("cluster", s.Cluster, "network", s.Network, "edge", s.Edge)
	}
	out := &Source{file: file, selection: s, kube: kube, log: log, last: string(data)}
	out.view.Store(&v)
	return out, nil
}

// CopyTo makes Run store the ConfigMap in file, as last read, for a Source with CopiedTo. An
// empty file stores none. Call it before Run.
func (s *Source) CopyTo(file string) { s.copy = file }

// CopiedTo makes s follow the ConfigMap through a file of CopyTo, in place of the API server.
// Until the file exists, s follows its own. Call it before Current and Run.
func (s *Source) CopiedTo(file string) {
	s.copied = &sharedFile{name: file, limit: maxPlanFile}
	s.readCopy()
}

// Log returns NewSource's logger with the keys cluster, network and edge.
func (s *Source) Log() *slog.Logger { return s.log }

// Current returns the view in force. Do not change it.
func (s *Source) Current() View { return *s.view.Load() }

// Removed reports whether the last valid plan no longer has this edge. Current is kept:
// the edge serves until it is stopped.
func (s *Source) Removed() bool { return s.removed.Load() }

// Changed returns a channel that is closed at the next change of Current or Removed.
func (s *Source) Changed() <-chan struct{} { return s.signal.changed() }

// Run follows the file, and inside a cluster the ConfigMap, until ctx ends.
func (s *Source) Run(ctx context.Context) error {
	if s.kube != nil {
		only := func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", wire.PlanConfigMap).String()
		}
		watch := func(c *corev1.ConfigMap) { s.observe(c.Data[wire.PlanKey], true) }
		follow(ctx, s.kube.lister(s.kube.client.CoreV1().RESTClient(), "configmaps", only), &corev1.ConfigMap{}, nil, on(watch, nil))
	}
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if s.poll(); s.copied == nil && s.followsObject() {
				tick.Stop()
			}
		}
	}
}

// poll reads the files that may be newer than the plan in force.
func (s *Source) poll() {
	if s.copied != nil {
		s.readCopy()
	}
	if s.followsObject() {
		return
	}
	if data, err := os.ReadFile(s.file); err == nil {
		s.observe(string(data), false)
	}
}

// followsObject reports whether the ConfigMap was read: the file is older from now on.
func (s *Source) followsObject() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched
}

// readCopy takes in the ConfigMap that another container read.
func (s *Source) readCopy() {
	if data, err := s.copied.read(); err == nil && data != nil {
		s.observe(string(data), true)
	}
}

// store writes the copy for others.
func (s *Source) store(data string) {
	if s.copy == "" {
		return
	}
	if err := ReplaceFile(s.copy, []byte(data)); err != nil {
		s.log.Warn("plan not stored for the other containers of the edge", "file", s.copy, "err", err)
	}
}

func (s *Source) observe(data string, watched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched && !watched || data == s.last && watched == s.watched {
		return
	}
	if s.watched, s.last = watched, data; watched {
		s.store(data)
	}
	v, err := ReadView([]byte(data), s.selection)
	var removed removedError
	switch {
	case errors.As(err, &removed):
		s.log.Warn("edge removed from the plan, serving the last plan until it is stopped", "err", err)
		if !s.removed.Swap(true) {
			s.signal.notify()
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
	s.signal.notify()
}
