// This file holds the last state of each source of the environment, so that plans do not change if a source cannot be
// read. The log and a metric name such sources.

package environment

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

// A source is the state of one part of the environment. The zero value means that it was never read.
type source struct {
	// ok is true if it was ever read.
	ok bool
	// err is the result of the last read.
	err error
}

// sources has the last state of all sources. The zero value is empty.
type sources struct {
	states map[string]*source
	// networks are the networks that objects of a kind name.
	networks map[schema.GroupVersionKind][]network.ReservedDestination
	// services is the range of Services from the dry run at servicesAt.
	services       network.ReservedDestination
	servicesAt     time.Time
	priorityClass  string
	multusIsolates bool
	// said are the names of failing sources in the last log line.
	said []string
}

const (
	serviceRangeSource  = "ServiceRange"
	priorityClassSource = "PriorityClass"
)

func (s *sources) state(name string) *source {
	if s.states == nil {
		s.states = map[string]*source{}
	}
	if s.states[name] == nil {
		s.states[name] = &source{}
	}
	return s.states[name]
}

// read returns the value from get. If get fails, it returns last, the previous value. It records in s whether get
// failed.
func read[T any](s *source, last T, get func() (T, error)) T {
	value, err := get()
	if s.err = err; err != nil {
		return last
	}
	s.ok = true
	return value
}

func (s *sources) never() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.states)) {
		if x := s.states[name]; x.err != nil && !x.ok {
			out = append(out, name)
		}
	}
	return out
}

// reportSources updates the metrics, and logs changes of the failing sources.
func (r Reader) reportSources(ctx context.Context) {
	s := &r.sources
	var failing, words []string
	for _, name := range slices.Sorted(maps.Keys(s.states)) {
		err := s.states[name].err
		r.Metrics.SetBool(metrics.EnvironmentRead, err == nil, name)
		if err != nil {
			failing, words = append(failing, name), append(words, name+": "+requests.Sentence(err))
		}
	}
	services := s.state(serviceRangeSource)
	r.Metrics.SetBool(metrics.ServiceRangeKnown, services.err == nil)
	if !slices.Equal(failing, s.said) {
		logger := log.FromContext(ctx).WithName("environment")
		switch {
		case len(failing) == 0:
			logger.Info("shared cluster state reloaded")
		case slices.Contains(failing, serviceRangeSource) && !services.ok:
			logger.Error(nil, "the range of Services is unknown: edges can dial addresses that no Service has yet", "problems", strings.Join(words, "; "))
		default:
			logger.Error(nil, "parts of the shared cluster state cannot be read, keeping their last known state", "problems", strings.Join(words, "; "))
		}
	}
	s.said = failing
}
