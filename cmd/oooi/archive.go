// This file reads what `oooi must-gather` wrote, as if it were the API server.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cldmnky/oooi/hcp/manifest"
)

const (
	// archiveFormat is the version of the format of archives. A newer one is not read.
	archiveFormat = 1
	// indexFile is the file of an archive that tells what it is.
	indexFile = "index"
)

// An archiveIndex tells when an archive was written, and what could not be read.
type archiveIndex struct {
	Format  int       `json:"format"`
	Version string    `json:"version"`
	Time    time.Time `json:"time"`
	Unread  []unread  `json:"unread,omitempty"`
}

// An unread is what could not be read.
type unread struct {
	// Group and Kind are of objects; empty for a log. Namespace is empty if all were asked for at once.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// What it is, for people.
	What string `json:"what"`
	Why  string `json:"why"`
}

func (u unread) String() string { return u.What + ": " + u.Why }

// add notes that w could not be read.
func (i *archiveIndex) add(w wanted, why error) {
	i.Unread = append(i.Unread, unread{Group: w.kind.Group, Kind: w.kind.Kind, Namespace: w.namespace, What: w.String(), Why: why.Error()})
}

func (i *archiveIndex) write(dir string) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, indexFile), append(text, '\n'), 0o600)
}

// An archive is a client.Reader of files. What must-gather had no right to read is forbidden here, too.
type archive struct {
	index  archiveIndex
	scheme *runtime.Scheme
	// objects by "<group> <Kind>", as in package manifest.
	objects map[string][]manifest.Object
}

// readArchive reads directories that must-gather wrote, or any files with objects. Without an index, all that is not in
// them does not exist, and the time is now. read reads each file. File - is stdin. Faults are what was not read.
func readArchive(stdin io.Reader, files []string, read reading, scheme *runtime.Scheme) (archive, []manifest.Fault, error) {
	a := archive{scheme: scheme, objects: map[string][]manifest.Object{}, index: archiveIndex{Time: time.Now()}}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(f, indexFile))
		if errors.Is(err, fs.ErrNotExist) || err != nil && !isDirectory(f) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(text, &a.index)
		}
		if err == nil && a.index.Format > archiveFormat {
			err = fmt.Errorf("format %d is of a newer release of oooi, %s", a.index.Format, a.index.Version)
		}
		if err != nil {
			return a, nil, fmt.Errorf("%s: %w", filepath.Join(f, indexFile), err)
		}
	}
	var objects []manifest.Object
	var faults []manifest.Fault
	r := fileReader{stdin: stdin, seen: map[string]bool{},
		do: func(c content) {
			found, bad := read(c.name, c.data)
			objects, faults = append(objects, found...), append(faults, bad...)
		},
		unread: func(name string, err error) {
			faults = append(faults, manifest.Fault{File: name, Err: plainly(err), Unread: true})
		}}
	if err := r.eachFile(files); err != nil {
		return a, nil, err
	}
	objects, versions := manifest.Merge(objects)
	for _, o := range objects {
		a.objects[o.GroupKind()] = append(a.objects[o.GroupKind()], o)
	}
	return a, append(faults, versions...), nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Get implements client.Reader.
func (a archive) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(into, a.scheme)
	if err != nil {
		return err
	}
	for _, o := range a.objects[groupKind(kind)] {
		if o.Name == key.Name && o.Namespace == key.Namespace {
			return decode(o, kind, into)
		}
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	if err := a.readable(kind, key.Namespace); err != nil {
		return err
	}
	return apierrors.NewNotFound(resource.GroupResource(), key.Name)
}

// List implements client.Reader. It takes namespaces and labels.
func (a archive) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(into, a.scheme)
	if err != nil {
		return err
	}
	kind.Kind = kind.Kind[:len(kind.Kind)-len("List")]
	asked := (&client.ListOptions{}).ApplyOptions(opts)
	if err := a.readable(kind, asked.Namespace); err != nil {
		return err
	}
	var items []runtime.Object
	for _, o := range a.objects[groupKind(kind)] {
		if asked.Namespace != "" && o.Namespace != asked.Namespace || asked.LabelSelector != nil && !asked.LabelSelector.Matches(labels.Set(o.Labels)) {
			continue
		}
		var item client.Object = &unstructured.Unstructured{}
		if _, typed := into.(*unstructured.UnstructuredList); !typed {
			made, err := a.scheme.New(kind)
			if err != nil {
				return err
			}
			item = made.(client.Object)
		}
		if err := decode(o, kind, item); err != nil {
			return err
		}
		items = append(items, item)
	}
	return meta.SetList(into, items)
}

// readable is an error if must-gather could not read objects.
func (a archive) readable(kind schema.GroupVersionKind, namespace string) error {
	for _, u := range a.index.Unread {
		if u.Group == kind.Group && u.Kind == kind.Kind && u.Namespace == namespace {
			resource, _ := meta.UnsafeGuessKindToResource(kind)
			return apierrors.NewForbidden(resource.GroupResource(), "", errors.New(u.Why))
		}
	}
	return nil
}

// groupKind is how package manifest writes a kind.
func groupKind(k schema.GroupVersionKind) string {
	if k.Group == "" {
		return "v1 " + k.Kind
	}
	return k.Group + " " + k.Kind
}

// decode reads o, which may be of another version.
func decode(o manifest.Object, kind schema.GroupVersionKind, into client.Object) error {
	content := map[string]any{}
	if err := k8sjson.Unmarshal(o.JSON, &content); err != nil {
		return fmt.Errorf("%s: %s: %w", o.File, o, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	if raw, ok := into.(*unstructured.Unstructured); ok {
		raw.Object = u.Object
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		return fmt.Errorf("%s: %s: %w", o.File, o, err)
	}
	return nil
}
