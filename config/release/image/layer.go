// This file writes layers: tar archives that depend only on the files in them.

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A File is one entry of a layer or an archive.
type File struct {
	// Source is the path of a file with the content. Empty: the content is Data.
	Data   []byte
	Source string
	// Executable is true for mode 0755, and false for 0644.
	Executable bool
}

// Files are the entries of a layer or an archive by their paths, slash-separated and relative to its root.
type Files map[string]File

// WriteTar writes files as a tar archive, sorted by path, owned by root, and without times. Their directories are entries as
// well. Equal files give equal bytes.
func WriteTar(w io.Writer, files Files) error {
	out := tar.NewWriter(w)
	for _, dir := range parents(files) {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, Format: tar.FormatPAX}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeEntry(out, name, files[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return out.Close()
}

func writeEntry(out *tar.Writer, name string, f File) error {
	data := f.Data
	if f.Source != "" {
		var err error
		if data, err = os.ReadFile(f.Source); err != nil {
			return err
		}
	}
	mode := int64(0o644)
	if f.Executable {
		mode = 0o755
	}
	if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := out.Write(data)
	return err
}

func parents(files Files) []string {
	found := map[string]bool{}
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			found[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// layer returns files as a compressed layer.
func layer(files Files) (v1.Layer, error) {
	var text bytes.Buffer
	if err := WriteTar(&text, files); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
}
