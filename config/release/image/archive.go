// This file writes an image as one file, for a container runtime that imports it without a registry.

package image

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// WriteArchive writes the image without its referrers, as an image layout in a tar. containerd imports it under each of
// the names, such as "localhost/a:1".
func (m Multi) WriteArchive(w io.Writer, names ...string) error {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := path.AppendIndex(m.Index, layout.WithAnnotations(map[string]string{nameKey: n})); err != nil {
			return err
		}
	}
	files := Files{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = File{Source: path}
		return err
	}); err != nil {
		return err
	}
	return WriteTar(w, files)
}
