// This file makes equal parts of cached Deployments share their memory. The edges of all hosted clusters
// differ in little more than arguments.

package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/cldmnky/oooi/controllers/own"
)

// maxParts limits how many parts are remembered. Parts of objects that are gone would stay otherwise.
const maxParts = 4096

// sharedParts remember the parts of cached objects, by type and content. A part is never changed.
type sharedParts struct {
	mu  sync.Mutex
	all map[string]any
}

// share replaces *part by an equal one that is remembered, or remembers it.
func share[T any](s *sharedParts, part *T) {
	text, err := json.Marshal(part)
	if err != nil || string(text) == "null" || string(text) == "{}" {
		return
	}
	key := fmt.Sprintf("%T %s", part, text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.all[key].(T); ok {
		*part = known
		return
	}
	if s.all == nil || len(s.all) >= maxParts {
		s.all = map[string]any{}
	}
	s.all[key] = *part
}

// DeploymentTransform keeps what strippedDeployment does, with shared parts.
func DeploymentTransform() toolscache.TransformFunc {
	parts := &sharedParts{}
	return func(o any) (any, error) {
		if d, ok := o.(*appsv1.Deployment); ok {
			parts.shareTemplate(d)
		}
		return strippedDeployment(o)
	}
}

// strippedDeployment keeps the managed fields of others, which tell drift.
func strippedDeployment(o any) (any, error) {
	if d, ok := o.(*appsv1.Deployment); ok {
		d.ManagedFields = slices.DeleteFunc(d.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return !own.IsForeign(m) })
	}
	return o, nil
}

// shareTemplate shares the parts of d's pod template.
func (s *sharedParts) shareTemplate(d *appsv1.Deployment) {
	spec := &d.Spec.Template.Spec
	share(s, &d.Spec.Selector)
	share(s, &d.Spec.Template.Labels)
	share(s, &spec.Volumes)
	share(s, &spec.Affinity)
	share(s, &spec.Tolerations)
	share(s, &spec.TopologySpreadConstraints)
	share(s, &spec.SecurityContext)
	share(s, &spec.NodeSelector)
	spec.Containers = slices.Clip(slices.Clone(spec.Containers))
	for i := range spec.Containers {
		c := &spec.Containers[i]
		share(s, &c.Command)
		share(s, &c.Env)
		share(s, &c.Ports)
		share(s, &c.Resources)
		share(s, &c.VolumeMounts)
		share(s, &c.LivenessProbe)
		share(s, &c.ReadinessProbe)
		share(s, &c.StartupProbe)
		share(s, &c.Lifecycle)
		share(s, &c.SecurityContext)
		c.Image = unique.Make(c.Image).Value()
		c.Args = slices.Clip(slices.Clone(c.Args))
		for j := range c.Args {
			c.Args[j] = unique.Make(c.Args[j]).Value()
		}
	}
}
