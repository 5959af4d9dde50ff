// This file decides which annotations of an object are kept: those that oooi reads, and those that it reports as
// misspelled. Users can write thousands of others.

package lenient

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
)

// PausedByAnnotation marks objects that HyperShift's plugin for OADP paused for a backup. Current releases of the
// plugin do not pause objects (contrib/oadp-recovery of openshift/hypershift).
const PausedByAnnotation = "oadp.openshift.io/paused-by"

const (
	pathAnnotations = "metadata.annotations"
	// maxAnnotations limits the annotations of one object, in bytes. ofEntry is added to the size of each annotation
	// and label, for its entry in the map. All fields of an object together are limited by maxKept.
	maxAnnotations = maxKept * 3 / 4
	ofEntry        = 96
)

// An annotation is one annotation that is kept of an object. rank is 0 if oooi has its key, else 1.
type annotation struct {
	key, value string
	rank       int
}

// rankOf returns the rank of an annotation. ok is false if the annotation is not kept: oooi neither reads nor reports it.
// HyperShift's annotations are few, and all are kept. Caches wait for InitialEventsAnnotationKey.
func rankOf(key string) (rank int, ok bool) {
	sets, reported := settings.Concerns(key)
	if sets {
		return 0, true
	}
	return 1, reported || strings.HasPrefix(key, "hypershift.openshift.io/") || strings.HasPrefix(key, "idpoverrides.hypershift.openshift.io/") ||
		slices.Contains([]string{wire.AnnotationResourceName, PausedByAnnotation, metav1.InitialEventsAnnotationKey}, key)
}

// annotations decodes the annotations that are kept. If they are too large together, annotations of oooi have
// precedence, and among these small ones, so that a cluster stays opted in.
func (d *decoder) annotations(p *projection, into reflect.Value) {
	if !d.enters(p, jsontext.KindBeginObject, "an object") {
		return
	}
	var all []annotation
	for d.more(jsontext.KindEndObject) {
		d.text, _ = jsontext.AppendUnquote(d.text[:0], d.next())
		key, value := string(d.text), d.next()
		rank, ok := rankOf(key)
		switch kind := value.Kind(); {
		case !ok:
			continue
		case kind != jsontext.KindString && kind != jsontext.KindNull:
			d.bad = append(d.bad, Unreadable{Field: p.path, Err: "want strings, not " + nameOf(kind)})
			continue
		}
		d.text, _ = jsontext.AppendUnquote(d.text[:0], value)
		all = append(all, annotation{key, string(d.text), rank})
	}
	slices.SortFunc(all, func(a, b annotation) int {
		return cmp.Or(a.rank-b.rank, cmp.Compare(len(a.value), len(b.value)), strings.Compare(a.key, b.key))
	})
	kept, room := map[string]string{}, min(maxAnnotations, d.left)
	for _, a := range all {
		size := len(a.key) + len(a.value) + ofEntry
		if room -= size; room < 0 {
			d.bad = append(d.bad, Unreadable{Field: p.path, Err: fmt.Sprintf("the annotations that oooi reads have more than %d KiB together", maxAnnotations>>10)})
			break
		}
		d.left -= size
		kept[a.key] = a.value
	}
	into.Set(reflect.ValueOf(kept))
}
