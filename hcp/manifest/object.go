// Package manifest reads Kubernetes objects from files: YAML, JSON and lists of objects, as tools
// write them. It knows no kind of object. What it does not read is a Fault, so nothing is left out silently.
//
// The package is pure: bytes in, values out.
package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Object is one object of a file.
type Object struct {
	// File is where the object was read.
	File string
	// Group is that of its apiVersion; "v1" for the core group.
	Group string
	Kind  string
	// Namespace is empty if the file does not say it.
	Namespace           string
	Name                string
	Annotations, Labels map[string]string
	// Unquoted are the keys of annotations and labels whose values are not strings, sorted. The API
	// server refuses such an object. In Annotations, Labels and JSON their values are strings.
	Unquoted []string
	// Lines are those of File, from 1, where annotations and labels stand, by key, and of key "" where the object begins. An object in a
	// list has none.
	Lines map[string]int
	// JSON is the whole object. It may lack apiVersion and kind if its list has them.
	JSON json.RawMessage
	// Unused are other versions of it in files to apply, which differ. Merge sets it.
	Unused []Object

	resourceVersion, uid string
	// spec and status are empty if the object has none.
	spec, status json.RawMessage
}

// GroupKind returns "<group> <Kind>", with the group "v1" for the core group.
func (o Object) GroupKind() string { return o.Group + " " + o.Kind }

// String returns "Kind namespace/name", without what is empty.
func (o Object) String() string {
	return strings.TrimSpace(o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
}

// A Fault is something that was not read, or was read with another meaning than the file's.
type Fault struct {
	File string
	Err  error
	// Unread is true if content is missing that may be about hosted clusters.
	Unread bool
	// Unused is true if Object.Unused has the same.
	Unused bool
	// Resolved is true if nothing is missing or ambiguous: the user should only know.
	Resolved bool
}

// Error returns "file: what is wrong".
func (f Fault) Error() string { return f.File + ": " + f.Err.Error() }

// Unwrap returns what is wrong, without the file.
func (f Fault) Unwrap() error { return f.Err }

// A head is what is read of every object.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
		UID             string `json:"uid"`
		Annotations     values `json:"annotations"`
		Labels          values `json:"labels"`
	} `json:"metadata"`
	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
	Items  json.RawMessage `json:"items"`
}

// values are annotations or labels, each in JSON.
type values map[string]json.RawMessage

// strings returns v as strings, and the keys of those that are not.
func (v values) strings() (all map[string]string, unquoted []string) {
	if v == nil {
		return nil, nil
	}
	all = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		var text string
		if json.Unmarshal(v[key], &text) != nil {
			text, unquoted = string(v[key]), append(unquoted, key)
		}
		all[key] = text
	}
	return all, unquoted
}

// newObject returns the object that text is.
func newObject(file string, h head, text json.RawMessage) (Object, error) {
	group, _, _ := strings.Cut(h.APIVersion, "/")
	m := h.Metadata
	o := Object{File: file, Group: group, Kind: h.Kind, Namespace: m.Namespace, Name: m.Name, JSON: text,
		resourceVersion: m.ResourceVersion, uid: m.UID, spec: h.Spec, status: h.Status}
	var labels []string
	o.Annotations, o.Unquoted = m.Annotations.strings()
	o.Labels, labels = m.Labels.strings()
	if len(o.Unquoted)+len(labels) == 0 {
		return o, nil
	}
	o.Unquoted = slices.Sorted(slices.Values(append(o.Unquoted, labels...)))
	var err error
	o.JSON, err = o.quoted()
	return o, err
}

// quoted returns JSON with annotations and labels that are strings.
func (o Object) quoted() (json.RawMessage, error) {
	whole, metadata, err := o.parts()
	if err != nil {
		return nil, err
	}
	for name, all := range map[string]map[string]string{"annotations": o.Annotations, "labels": o.Labels} {
		text, err := json.Marshal(all)
		if err != nil {
			return nil, err
		}
		metadata[name] = text
	}
	return joined(whole, metadata)
}

// parts returns the fields of JSON, and those of its metadata.
func (o Object) parts() (whole, metadata map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(o.JSON, &whole); err != nil {
		return nil, nil, err
	}
	err = json.Unmarshal(whole["metadata"], &metadata)
	return whole, metadata, err
}

// joined returns the object that has these parts.
func joined(whole, metadata map[string]json.RawMessage) (json.RawMessage, error) {
	text, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	whole["metadata"] = text
	return json.Marshal(whole)
}

// readable returns err in words for users: a library names Go's types.
func readable(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("field %s: want %s, not %s", cmp.Or(wrong.Field, "(the whole object)"), wrong.Type.Kind(), wrong.Value)
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
