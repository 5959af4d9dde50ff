// This file keeps the view that is in force: from the file at first, and from
// the ConfigMap as soon as that has been seen. It decides that a plan which
// can't be served leaves the last good one in force; it never changes a plan.

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
	// readAgain is how often the file is read. A mounted ConfigMap is a symbolic link
	// that is swapped, which a read sees and a watch of the file does not.
	readAgain = time.Second
)

// A Source holds the View in force and replaces it whole.
type Source struct {
	file      string
	selection Selection
	kube      *Kube
	log       *slog.Logger
	view      atomic.Pointer[View]
	leftOut   atomic.Bool
	signal    signal

	mu sync.Mutex
	// watched: the ConfigMap has been seen, so the file is older from now on.
	watched bool
	last    string
}

// NewSource reads the plan in file. With kube it also follows the ConfigMap.
// Where the file holds nothing that can be served it is an error, in words.
func NewSource(file string, s Selection, kube *Kube, log *slog.Logger) (*Source, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	v, err := ReadView(data, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	// What was chosen once stays chosen, though a later plan may hold more.
	s = Selection{Cluster: v.Cluster.String(), Network: v.Network.Name, Edge: v.Edge.Number}
	if log != nil {
		log = log.With("cluster", s.Cluster, "network", s.Network, "edge", s.Edge)
	}
	out := &Source{file: file, selection: s, kube: kube, log: log, last: string(data)}
	out.view.Store(&v)
	return out, nil
}

// Log is the logger that NewSource was given, with the keys cluster, network and edge.
func (s *Source) Log() *slog.Logger { return s.log }

// Current is the view in force. Don't change what it holds.
func (s *Source) Current() View { return *s.view.Load() }

// LeftOut says whether the last plan that could be served has this edge no more.
// Current stays what it was: the edge serves on until it is ended.
func (s *Source) LeftOut() bool { return s.leftOut.Load() }

// Changed is closed when Current or LeftOut has changed, once; ask again for the next time.
func (s *Source) Changed() <-chan struct{} { return s.signal.changed() }

// Run follows the file, and the ConfigMap where there is a cluster, until ctx
// ends.
func (s *Source) Run(ctx context.Context) error {
	if s.kube != nil {
		only := func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", wire.PlanConfigMap).String()
		}
		watch := func(c *corev1.ConfigMap) { s.take(c.Data[wire.PlanKey], true) }
		follow(ctx, s.kube.lister(s.kube.client.CoreV1().RESTClient(), "configmaps", only), &corev1.ConfigMap{}, nil, on(watch, nil))
	}
	tick := time.NewTicker(readAgain)
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
			if data, err := os.ReadFile(s.file); err == nil {
				s.take(string(data), false)
			}
		}
	}
}

// followsObject says that the ConfigMap has been seen: the file is older from now on.
func (s *Source) followsObject() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched
}

func (s *Source) take(data string, watched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched && !watched || data == s.last && watched == s.watched {
		return
	}
	s.watched, s.last = watched, data
	v, err := ReadView([]byte(data), s.selection)
	var leftOut leftOutError
	switch {
	case errors.As(err, &leftOut):
		s.log.Warn("edge removed from the plan, serving the last plan until it is stopped", "err", err)
		if !s.leftOut.Swap(true) {
			s.signal.notify()
		}
		return
	case err != nil:
		s.log.Warn("new plan rejected, serving the last known good plan", "err", err)
		return
	}
	if was := s.leftOut.Swap(false); !was && reflect.DeepEqual(v, *s.view.Load()) {
		return
	}
	s.view.Store(&v)
	s.log.Info("plan changed")
	s.signal.notify()
}
