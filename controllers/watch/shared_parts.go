// This file makes equal parts of cached Deployments share their memory. Edges of all hosted clusters differ in few
// fields.

package watch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/cldmnky/oooi/controllers/own"
)

// maxShared limits the remembered parts, in bytes of JSON. Otherwise parts of deleted objects would stay, and anyone who
// changes an object with the labels of oooi could fill the memory.
const maxShared = 1 << 20

// sharedParts remembers the parts of cached objects, by type and content. Parts are never changed.
type sharedParts struct {
	mu    sync.Mutex
	all   map[string]any
	bytes int
}

// share replaces a field by an equal remembered one, or remembers it.
func (s *sharedParts) share(part reflect.Value) {
	if kind := part.Kind(); kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map && kind != reflect.Struct {
		return
	}
	text, err := json.Marshal(part.Interface())
	if err != nil || string(text) == "null" || string(text) == "{}" {
		return
	}
	key := fmt.Sprintf("%s %s", part.Type(), text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.all[key]; ok {
		part.Set(reflect.ValueOf(known))
		return
	}
	if s.all == nil || s.bytes+len(key) > maxShared {
		s.all, s.bytes = map[string]any{}, 0
	}
	s.all[key] = part.Interface()
	s.bytes += len(key)
}

func (s *sharedParts) shareFields(of any, except string) {
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Name != except {
			s.share(v.Field(i))
		}
	}
}

// deploymentTransform returns a cache transform that shares the parts of Deployments. It keeps only managed fields of
// other clients, which show drift.
func deploymentTransform() toolscache.TransformFunc {
	parts := &sharedParts{}
	return func(o any) (any, error) {
		d, ok := o.(*appsv1.Deployment)
		if !ok {
			return o, nil
		}
		d.ManagedFields = slices.DeleteFunc(d.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return !own.IsForeign(m) })
		if d.Size() > maxLabeled {
			return &appsv1.Deployment{ObjectMeta: nameOf(d)}, nil
		}
		parts.shareDeployment(d)
		return d, nil
	}
}

// shareDeployment shares the parts of d, except arguments, images and annotations of pods, which differ.
func (s *sharedParts) shareDeployment(d *appsv1.Deployment) {
	s.shareFields(&d.Spec, "Template")
	s.share(reflect.ValueOf(&d.Spec.Template.Labels).Elem())
	pod := &d.Spec.Template.Spec
	s.shareFields(pod, "Containers")
	pod.Containers = slices.Clip(slices.Clone(pod.Containers))
	for i := range pod.Containers {
		c := &pod.Containers[i]
		s.shareFields(c, "Args")
		c.Image = unique.Make(c.Image).Value()
		c.Args = slices.Clip(slices.Clone(c.Args))
		for j := range c.Args {
			c.Args[j] = unique.Make(c.Args[j]).Value()
		}
	}
}
