// This file reads an archive, the directory that `oooi must-gather` writes, in place of an API server.

package source

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
	// ArchiveFormat is the version of the format of archives. ReadArchive refuses newer formats.
	ArchiveFormat = 1
	IndexFile     = "index"
)

// An ArchiveIndex is the content of an archive's file index: the version of oooi that wrote the archive, the time, and what
// could not be read.
type ArchiveIndex struct {
	Format  int       `json:"format"`
	Version string    `json:"version"`
	Time    time.Time `json:"time"`
	Unread  []Unread  `json:"unread,omitempty"`
}

// An Unread describes objects of one kind, or a log, that one request could not read.
type Unread struct {
	// Group and Kind are those of the objects, or empty for a log. Namespace is empty if the request was for all namespaces.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// What says in words what could not be read.
	What string `json:"what"`
	Why  string `json:"why"`
}

// String returns what could not be read and why, as one line.
func (u Unread) String() string { return u.What + ": " + u.Why }

// Add records that w could not be read.
func (i *ArchiveIndex) Add(w Wanted, why error) {
	i.Unread = append(i.Unread, Unread{Group: w.Kind.Group, Kind: w.Kind.Kind, Namespace: w.Namespace, What: w.String(), Why: why.Error()})
}

// Write writes the index to the file index in directory dir.
func (i *ArchiveIndex) Write(dir string) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, IndexFile), append(text, '\n'), 0o600)
}

// An Archive is a client.Reader of an archive, or of other files with objects. For what must-gather could not read, it
// returns Forbidden errors.
type Archive struct {
	Index  ArchiveIndex
	scheme *runtime.Scheme
	// Objects are the objects by manifest.Object.GroupKind: "<group> <Kind>".
	Objects map[string][]manifest.Object
}

// ReadArchive reads directories that must-gather wrote, or any files with objects. File - is stdin. Parameter read parses
// each file, and scheme has the types that Get and List return. Without an index, the time is now, and objects that are
// not in the files do not exist. The faults name parts of files that were not read.
func ReadArchive(stdin io.Reader, files []string, read Reading, scheme *runtime.Scheme) (Archive, []manifest.Fault, error) {
	a := Archive{scheme: scheme, Objects: map[string][]manifest.Object{}, Index: ArchiveIndex{Time: time.Now()}}
	for _, f := range files {
		path := filepath.Join(f, IndexFile)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || err != nil && !isDirectory(f) {
			continue
		}
		var text []byte
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("not a regular file") // A pipe would never end.
		}
		if err == nil {
			text, err = readFile(path)
		}
		if err == nil {
			err = json.Unmarshal(text, &a.Index)
		}
		if err == nil && a.Index.Format > ArchiveFormat {
			err = fmt.Errorf("format %d is of a newer release of oooi, %s", a.Index.Format, a.Index.Version)
		}
		if err != nil {
			return a, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	all, err := ReadFiles(stdin, files, read)
	if err != nil {
		return a, nil, err
	}
	objects, versions := manifest.Merge(all.Objects)
	for _, o := range objects {
		a.Objects[o.GroupKind()] = append(a.Objects[o.GroupKind()], o)
	}
	return a, append(all.Faults, versions...), nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Get implements client.Reader.
func (a Archive) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(into, a.scheme)
	if err != nil {
		return err
	}
	for _, o := range a.Objects[groupKind(kind)] {
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

// List implements client.Reader. It supports namespaces and labels.
func (a Archive) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
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
	for _, o := range a.Objects[groupKind(kind)] {
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

func (a Archive) readable(kind schema.GroupVersionKind, namespace string) error {
	for _, u := range a.Index.Unread {
		if u.Group == kind.Group && u.Kind == kind.Kind && u.Namespace == namespace {
			resource, _ := meta.UnsafeGuessKindToResource(kind)
			return apierrors.NewForbidden(resource.GroupResource(), "", errors.New(u.Why))
		}
	}
	return nil
}

func groupKind(k schema.GroupVersionKind) string {
	if k.Group == "" {
		return "v1 " + k.Kind
	}
	return k.Group + " " + k.Kind
}

// decode stores the content of o in parameter into, as an object of this kind. The API version of o may be another one.
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
