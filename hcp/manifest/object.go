// Package manifest reads Kubernetes objects from files: YAML, JSON and lists of objects, as tools write them. It does
// not know kinds of objects. It reports everything that it does not read as a Fault.
//
// The package is pure: it reads bytes, not files.
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
	// File is the name of the file that the object was read from.
	File string
	// Group is the group of apiVersion, or "v1" for the core group.
	Group string
	Kind  string
	// Namespace is empty if the file does not name it.
	Namespace           string
	Name                string
	Annotations, Labels map[string]string
	// Unquoted are the keys of annotations and labels whose values are not strings, sorted. The API
	// server refuses such an object. Annotations, Labels and JSON have the text of these values, as strings.
	Unquoted []string
	// Lines has line numbers in File, from 1: where each annotation and label is, by its key, and where the object
	// begins, by the key "". Lines is empty for an object in a list.
	Lines map[string]int
	// JSON is the whole object. It may lack apiVersion and kind if its list has them.
	JSON json.RawMessage
	// Unused are the other versions of the object in files to apply that differ from it. Merge sets Unused.
	Unused []Object

	resourceVersion, uid string
	// spec and status are empty if the object has none.
	spec, status json.RawMessage
}

// GroupKind returns "<group> <Kind>", with the group "v1" for the core group.
func (o Object) GroupKind() string { return o.Group + " " + o.Kind }

// String returns "Kind namespace/name", without empty parts.
func (o Object) String() string {
	return strings.TrimSpace(o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
}

// A Fault reports that a part of a file was not read, or was changed when it was read.
type Fault struct {
	File string
	Err  error
	// Unread is true if content that may be about hosted clusters was not read.
	Unread bool
	// Unused is true if Object.Unused has the version that the fault is about.
	Unused bool
	// Resolved is true if nothing is missing or ambiguous, and the fault only informs the user.
	Resolved bool
}

// Error returns "file: error".
func (f Fault) Error() string { return f.File + ": " + f.Err.Error() }

// Unwrap returns the error without the file.
func (f Fault) Unwrap() error { return f.Err }

// A head has the fields that are read of every object.
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

// values has the values of annotations or labels, in JSON, by key.
type values map[string]json.RawMessage

// strings returns v as text, and the keys whose values are not strings.
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

// quoted returns JSON in which all annotations and labels are strings.
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

func (o Object) parts() (whole, metadata map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(o.JSON, &whole); err != nil {
		return nil, nil, err
	}
	err = json.Unmarshal(whole["metadata"], &metadata)
	return whole, metadata, err
}

func joined(whole, metadata map[string]json.RawMessage) (json.RawMessage, error) {
	text, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	whole["metadata"] = text
	return json.Marshal(whole)
}

// maxError limits an error of a library, in bytes: it may repeat the file.
const maxError = 500

// readable shortens a library's error, and removes the names of Go types from it.
func readable(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("field %s: want %s, not %s", cmp.Or(wrong.Field, "(the whole object)"), wrong.Type.Kind(), wrong.Value)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + " ..."
	}
	return errors.New(text)
}
