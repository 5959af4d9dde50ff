// This file holds what was read last of each source of the environment, so that one that cannot be
// read changes no plan. The log and a metric name it.

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

// A lastRead is one part of the environment. The zero value was never read.
type lastRead[T any] struct {
	// last is what was read last. ok is false if nothing ever was.
	last T
	ok   bool
	// err is why it cannot be read at present.
	err error
}

// read returns what get reads, or what was read last.
func (s *lastRead[T]) read(get func() (T, error)) T {
	value, err := get()
	if s.err = err; err == nil {
		s.last, s.ok = value, true
	}
	return s.last
}

// A serviceSource is the range of Services as the API server named it in a dry run, and when.
type serviceSource struct {
	lastRead[network.ReservedDestination]
	at time.Time
}

// sources are all of them. The zero value knows nothing.
type sources struct {
	of             map[schema.GroupVersionKind]*lastRead[[]network.ReservedDestination]
	services       serviceSource
	priorityClass  lastRead[string]
	multusIsolates lastRead[bool]
	// said are the names of the sources that the log named last.
	said []string
}

// The names of sources that are not kinds of networks.
const (
	serviceRangeSource  = "ServiceRange"
	priorityClassSource = "PriorityClass"
)

// networks are those that objects of a kind name.
func (s *sources) networks(kind schema.GroupVersionKind) *lastRead[[]network.ReservedDestination] {
	if s.of == nil {
		s.of = map[schema.GroupVersionKind]*lastRead[[]network.ReservedDestination]{}
	}
	if s.of[kind] == nil {
		s.of[kind] = &lastRead[[]network.ReservedDestination]{}
	}
	return s.of[kind]
}

// errors are why sources cannot be read, by name. Nil: the source can be.
func (s *sources) errors() map[string]error {
	out := map[string]error{
		serviceRangeSource: s.services.err, priorityClassSource: s.priorityClass.err, networkOperatorKind.String(): s.multusIsolates.err,
	}
	for kind, one := range s.of {
		out[kind.GroupKind().String()] = one.err
	}
	return out
}

// never are the names of the sources that were never read, sorted.
func (s *sources) never() []string {
	var out []string
	for kind, one := range s.of {
		if !one.ok {
			out = append(out, kind.GroupKind().String())
		}
	}
	if s.services.err != nil && !s.services.ok {
		out = append(out, serviceRangeSource)
	}
	if !s.priorityClass.ok {
		out = append(out, priorityClassSource)
	}
	slices.Sort(out)
	return out
}

// reportSources updates the metrics, and logs if other sources cannot be read than before.
func (r Reader) reportSources(ctx context.Context) {
	s, all := &r.sources, r.sources.errors()
	var failing, words []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r.Metrics.SetBool(metrics.EnvironmentRead, all[name] == nil, name)
		if all[name] != nil {
			failing, words = append(failing, name), append(words, name+": "+requests.Sentence(all[name]))
		}
	}
	r.Metrics.SetBool(metrics.ServiceRangeKnown, s.services.err == nil)
	if !slices.Equal(failing, s.said) {
		logger := log.FromContext(ctx).WithName("environment")
		switch {
		case len(failing) == 0:
			logger.Info("shared cluster state reloaded")
		case slices.Contains(failing, serviceRangeSource) && !s.services.ok:
			logger.Error(nil, "the range of Services is unknown: edges can dial addresses that no Service has yet", "problems", strings.Join(words, "; "))
		default:
			logger.Error(nil, "parts of the shared cluster state cannot be read, keeping their last known state", "problems", strings.Join(words, "; "))
		}
	}
	s.said = failing
}
