// This file remembers what this process wrote until a cache shows it. So the operator never decides from a state older
// than its own last write.

package own

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// UnseenFor is how long the cache may lack a write before the object is read from the API server. A watch that was
// interrupted does not show an object that was created and deleted meanwhile.
const UnseenFor = 10 * time.Second

// An ownWrite is the last write of one object that no cache has shown yet.
type ownWrite struct {
	// object is what the API server returned. Nil: the object was deleted.
	object *unstructured.Unstructured
	// uid and version are those of object, or of the deleted object.
	uid     types.UID
	version string
	at      time.Time
}

// Writes are the writes of this process. The zero value is empty.
type Writes struct {
	mu  sync.Mutex
	all map[Key]ownWrite
	// accepted has the fingerprint of each object that the API server stores in another form than the desired one, by
	// Key.
	accepted sync.Map
}

func (w *Writes) put(key Key, write ownWrite) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[Key]ownWrite{}
	}
	w.all[key] = write
}

// Wrote remembers u, as the API server returned it.
func (w *Writes) Wrote(key Key, u *unstructured.Unstructured, at time.Time) {
	w.put(key, ownWrite{object: u.DeepCopy(), uid: u.GetUID(), version: u.GetResourceVersion(), at: at})
}

// Deleted remembers a deletion, and reports whether an earlier write of o was not seen yet.
func (w *Writes) Deleted(key Key, o metav1.Object, at time.Time) (unseen bool) {
	w.Accept(key, "")
	_, unseen = w.later(key, nil)
	w.put(key, ownWrite{uid: o.GetUID(), version: o.GetResourceVersion(), at: at})
	return unseen
}

// later returns the last write of an object if it is later than cached, which is nil if the cache does not have the
// object.
func (w *Writes) later(key Key, cached metav1.Object) (ownWrite, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	write, ok := w.all[key]
	if !ok || cached == nil {
		return write, ok
	}
	if write.shownBy(cached) {
		delete(w.all, key)
		return ownWrite{}, false
	}
	return write, true
}

// shownBy reports whether o is the written state, or a later one.
func (x ownWrite) shownBy(o metav1.Object) bool {
	if x.object == nil && o.GetUID() == x.uid {
		return o.GetDeletionTimestamp() != nil
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), x.version)
	return err != nil || order >= 0
}

// Seen forgets the last write if an event shows it. gone is true if the cache no longer has the object.
func (w *Writes) Seen(key Key, o metav1.Object, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	write, ok := w.all[key]
	if ok && (write.shownBy(o) || gone && write.uid == o.GetUID()) {
		delete(w.all, key)
	}
}

// In returns the objects of kind in ns that were written and not seen yet.
func (w *Writes) In(kind schema.GroupVersionKind, ns string) []Key {
	return w.keys(func(key Key, write ownWrite) bool {
		return key.Kind == kind && key.Namespace == ns && write.object != nil
	})
}

// overdue returns the objects in ns that were written longer than UnseenFor ago and not seen yet.
func (w *Writes) overdue(ns string, now time.Time) []Key {
	return w.keys(func(key Key, write ownWrite) bool {
		return key.Namespace == ns && now.Sub(write.at) >= UnseenFor
	})
}

// Pending reports whether a write in ns was not seen yet.
func (w *Writes) Pending(ns string) bool {
	return len(w.keys(func(key Key, _ ownWrite) bool { return key.Namespace == ns })) > 0
}

func (w *Writes) keys(match func(Key, ownWrite) bool) []Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Key
	for key, write := range w.all {
		if match(key, write) {
			out = append(out, key)
		}
	}
	return out
}

// Forget forgets the last write, so that caches count again.
func (w *Writes) Forget(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, key)
}

// Accept remembers the fingerprint of an object's stored form. With an empty fingerprint, it forgets the previous one.
func (w *Writes) Accept(key Key, fingerprint string) {
	if fingerprint == "" {
		w.accepted.Delete(key)
		return
	}
	w.accepted.Store(key, fingerprint)
}

// Accepts reports whether fingerprint is the remembered one.
func (w *Writes) Accepts(key Key, fingerprint string) bool {
	stored, _ := w.accepted.Load(key)
	return stored == fingerprint
}
