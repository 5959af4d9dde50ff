// This file combines several versions of an object into one. A must-gather has many objects twice, and a file to
// apply may be read together with objects of an API server.

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Merge returns each object once, in the order in which objects first appear. Of several versions that an API server
// wrote, Merge uses the newest by metadata.resourceVersion. If their order is unknown, it uses the one that was read
// last. Of several versions in files to apply, it uses the last. If an object has versions of both kinds, the result is
// the object after the file is applied. Spec, annotations and labels are those of the file, status and other metadata
// those of the API server. Merge returns a fault for each object with versions of both kinds. It also returns a fault
// for each object whose versions differ in what users write, or in anything if their order is unknown. Differing
// versions in files to apply are also in Object.Unused.
func Merge(objects []Object) ([]Object, []Fault) {
	var all [][]Object
	at := map[[3]string]int{}
	for _, o := range objects {
		key := [3]string{o.GroupKind(), o.Namespace, o.Name}
		i, known := at[key]
		if !known || o.Name == "" {
			at[key], all = len(all), append(all, []Object{o})
			continue
		}
		all[i] = append(all[i], o)
	}
	var out []Object
	var faults []Fault
	for _, versions := range all {
		o, fs := ofVersions(versions)
		out, faults = append(out, o), append(faults, fs...)
	}
	return out, faults
}

// ofVersions returns the result of Merge for one object.
func ofVersions(versions []Object) (Object, []Fault) {
	isStored := Object.versioned
	if !slices.ContainsFunc(versions, isStored) {
		isStored = Object.observed
	}
	var stored, toApply []Object
	for _, o := range versions {
		if isStored(o) {
			stored = append(stored, o)
		} else {
			toApply = append(toApply, o)
		}
	}
	if len(toApply) == 0 {
		return newest(stored)
	}
	file, faults := newest(toApply)
	for i := range faults {
		faults[i].Unused = true
	}
	if len(faults) > 0 {
		file.Unused = slices.DeleteFunc(toApply, func(o Object) bool { return file.same(o) && !file.differs(o) })
	}
	if len(stored) == 0 {
		return file, faults
	}
	live, more := newest(stored)
	out, err := file.appliedTo(live)
	if err != nil {
		return live, append(faults, Fault{File: file.File, Err: fmt.Errorf("%s: %w", file, readable(err)), Unread: true})
	}
	combined := fmt.Errorf("%s is also in %s; the status there counts, and spec, annotations and labels here", out, live.File)
	return out, append(append(faults, more...), Fault{File: file.File, Err: combined, Resolved: true})
}

// newest returns the version that counts, and a fault for each version that differs from it.
func newest(versions []Object) (Object, []Fault) {
	used := versions[0]
	var faults []Fault
	for _, o := range versions[1:] {
		unused := used
		if used.newerThan(o) {
			unused = o
		} else {
			used = o
		}
		ordered := used.newerThan(unused)
		if used.differs(unused) || !ordered && !used.same(unused) {
			faults = append(faults, Fault{File: used.File, Err: fmt.Errorf("%s is also in %s and differs; this version counts", used, unused.File)})
		}
	}
	return used, faults
}

func (o Object) newerThan(other Object) bool {
	a, errA := strconv.ParseUint(o.resourceVersion, 10, 64)
	b, errB := strconv.ParseUint(other.resourceVersion, 10, 64)
	return errA == nil && errB == nil && a > b
}

func (o Object) versioned() bool { return o.resourceVersion != "" }

// observed reports whether o was probably in an API server. Tools that clean up objects remove the resourceVersion, and
// tools that render objects may write a status with only zeros.
func (o Object) observed() bool {
	var status any // nil if o has no status
	_ = json.Unmarshal(o.status, &status)
	return o.uid != "" || !isZero(status)
}

// isZero reports whether v, decoded JSON, contains only zero values.
func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if !isZero(field) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !isZero(item) })
	}
	return v == nil || v == "" || v == 0.0 || v == false
}

// appliedTo returns live after o is applied to it.
func (o Object) appliedTo(live Object) (Object, error) {
	whole, metadata, err := o.parts()
	if err != nil {
		return o, err
	}
	ofLive, liveMetadata, err := live.parts()
	if err != nil {
		return o, err
	}
	move(whole, ofLive, "status")
	move(liveMetadata, metadata, "annotations")
	move(liveMetadata, metadata, "labels")
	o.resourceVersion, o.uid, o.status = live.resourceVersion, live.uid, live.status
	o.JSON, err = joined(whole, liveMetadata)
	return o, err
}

// move copies a field from one map to the other. If the first map lacks the field, it is removed from the other.
func move(into, from map[string]json.RawMessage, field string) {
	delete(into, field)
	if value, ok := from[field]; ok {
		into[field] = value
	}
}

func (o Object) differs(other Object) bool {
	return !maps.Equal(o.Annotations, other.Annotations) || !maps.Equal(o.Labels, other.Labels) || !bytes.Equal(canonical(o.spec), canonical(other.spec))
}

// same reports whether o and other are equal, except for their metadata.
func (o Object) same(other Object) bool {
	a, _, errA := o.parts()
	b, _, errB := other.parts()
	for _, field := range []string{"apiVersion", "kind", "metadata"} { // items of lists may lack the first two
		delete(a, field)
		delete(b, field)
	}
	equal := func(x, y json.RawMessage) bool { return bytes.Equal(canonical(x), canonical(y)) }
	return errA == nil && errB == nil && maps.EqualFunc(a, b, equal)
}

// canonical returns text without spaces and with sorted keys.
func canonical(text json.RawMessage) []byte {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return out
}
