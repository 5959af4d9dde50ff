package own

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var testNow = time.Unix(1.7e9, 0)

// TestOwnWrites: what this process wrote counts until a cache shows it, or a later state.
func TestOwnWrites(t *testing.T) {
	key := Key{DeploymentKind, types.NamespacedName{Namespace: "a", Name: "b"}}
	object := func(uid, version string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetUID(types.UID(uid))
		u.SetResourceVersion(version)
		return u
	}
	deleting := object("1", "30")
	now := metav1.NewTime(testNow)
	deleting.SetDeletionTimestamp(&now)
	wrote := func(w *Writes) { w.Wrote(key, object("1", "20"), testNow) }
	deleted := func(w *Writes) { w.Deleted(key, object("1", "20"), testNow) }
	for name, test := range map[string]struct {
		write  func(*Writes)
		event  *unstructured.Unstructured
		gone   bool
		cached *unstructured.Unstructured
		later  bool
	}{
		"nothing written":                                    {write: func(*Writes) {}, cached: object("1", "10")},
		"the cache is older":                                 {write: wrote, cached: object("1", "10"), later: true},
		"the cache has fewer digits":                         {write: wrote, cached: object("1", "9"), later: true},
		"the cache shows it":                                 {write: wrote, cached: object("1", "20")},
		"the cache is newer":                                 {write: wrote, cached: object("1", "100")},
		"another one was made since":                         {write: wrote, cached: object("2", "21")},
		"the cache has nothing yet":                          {write: wrote, later: true},
		"an older event comes":                               {write: wrote, event: object("1", "10"), later: true},
		"it was deleted by another client":                   {write: wrote, event: object("1", "25")},
		"it was deleted while the watch was interrupted":     {write: wrote, event: object("1", "10"), gone: true},
		"an older object of this name is gone":               {write: wrote, event: object("0", "10"), gone: true, later: true},
		"deleted, and the cache still has it":                {write: deleted, cached: object("1", "20"), later: true},
		"deleted, and the cache has it with a later status":  {write: deleted, cached: object("1", "21"), later: true},
		"deleted, and a finalizer keeps it":                  {write: deleted, cached: deleting},
		"deleted, and the cache has an older one":            {write: deleted, cached: object("0", "10"), later: true},
		"deleted, and made again":                            {write: deleted, cached: object("2", "25")},
		"deleted, and the event of the deletion comes":       {write: deleted, event: object("1", "25"), gone: true},
		"deleted, and an event from before the deletion":     {write: deleted, event: object("1", "19"), later: true},
		"deleted, written again, and the cache has the past": {write: func(w *Writes) { deleted(w); wrote(w) }, cached: object("1", "10"), later: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := &Writes{}
			test.write(w)
			if test.event != nil {
				w.Seen(key, test.event, test.gone)
			}
			var cached metav1.Object
			if test.cached != nil {
				cached = test.cached
			}
			_, later := w.later(key, cached)
			g.Expect(later).To(Equal(test.later))
			g.Expect(w.Pending("a")).To(Equal(test.later), "what a cache shows is not remembered")
		})
	}
}

// TestOwnWritesAreVerified: a write that no cache shows is read live, since the object may be gone.
func TestOwnWritesAreVerified(t *testing.T) {
	g := NewWithT(t)
	w, key := &Writes{}, Key{ConfigMapKind, types.NamespacedName{Namespace: "a", Name: "b"}}
	w.Wrote(key, &unstructured.Unstructured{}, testNow)
	g.Expect(w.overdue("a", testNow.Add(UnseenFor-time.Second))).To(BeEmpty())
	g.Expect(w.overdue("a", testNow.Add(UnseenFor))).To(ConsistOf(key))
	g.Expect(w.overdue("other", testNow.Add(UnseenFor))).To(BeEmpty())
	w.Forget(key)
	g.Expect(w.Pending("a")).To(BeFalse())
}

// TestContains: fields of others need no write, ours that differ do.
func TestContains(t *testing.T) {
	type m = map[string]any
	type l = []any
	for name, test := range map[string]struct {
		live, desired any
		is            bool
	}{
		"the same":                             {m{"a": int64(1)}, m{"a": int64(1)}, true},
		"further fields":                       {m{"a": int64(1), "b": "x"}, m{"a": int64(1)}, true},
		"another value":                        {m{"a": int64(2)}, m{"a": int64(1)}, false},
		"a missing field":                      {m{}, m{"a": int64(1)}, false},
		"an empty field that is not stored":    {m{}, m{"a": false, "b": m{}, "c": l{}, "d": "", "e": int64(0)}, true},
		"a field that is not empty any more":   {m{"a": true}, m{"a": false}, false},
		"a field inside that is missing":       {m{"a": m{"c": "x"}}, m{"a": m{"b": "x"}}, false},
		"a further element of a list":          {l{m{"n": "sidecar"}, m{"n": "a", "more": "x"}}, l{m{"n": "a"}}, true},
		"a missing element of a list":          {l{m{"n": "sidecar"}}, l{m{"n": "a"}}, false},
		"a further value in a list of values":  {l{"a", "b"}, l{"a"}, false},
		"an other order in a list of values":   {l{"b", "a"}, l{"a", "b"}, false},
		"an object where a list was":           {m{"a": "x"}, l{"x"}, false},
		"nothing is there where a list should": {nil, l{"x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(contains(test.live, test.desired)).To(Equal(test.is))
		})
	}
}
