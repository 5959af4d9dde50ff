// This file has layers of programs. They are too large for memory, so each reader gets a layer that is written while it reads.
package main

import (
	"archive/tar"
	"context"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// memory is what the registry's own store in memory can do.
type memory interface {
	registry.BlobHandler
	registry.BlobStatHandler
	registry.BlobPutHandler
}

// A store has layers of programs, and everything else in memory.
type store struct {
	memory
	programs map[v1.Hash]programs
}

func newStore() store {
	return store{memory: registry.NewInMemoryBlobHandler().(memory), programs: map[v1.Hash]programs{}}
}

// add returns a new layer of the files, paths on this host by their paths in the image.
func (s store) add(files map[string]string) (programs, error) {
	p := programs{files: files}
	r := p.open()
	defer r.Close()
	var err error
	p.digest, p.size, err = v1.SHA256(r)
	s.programs[p.digest] = p
	return p, err
}

// Get returns the content of a blob.
func (s store) Get(ctx context.Context, repo string, h v1.Hash) (io.ReadCloser, error) {
	if p, ok := s.programs[h]; ok {
		return p.open(), nil
	}
	return s.memory.Get(ctx, repo, h)
}

// Stat returns the size of a blob.
func (s store) Stat(ctx context.Context, repo string, h v1.Hash) (int64, error) {
	if p, ok := s.programs[h]; ok {
		return p.size, nil
	}
	return s.memory.Stat(ctx, repo, h)
}

// A programs is a layer that is not compressed.
type programs struct {
	files  map[string]string // paths on this host, by path in the image
	digest v1.Hash
	size   int64
}

func (p programs) open() io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(p.write(w)) }() // It ends when r is closed.
	return r
}

func (p programs) write(w io.Writer) error {
	t := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if err := writeProgram(t, name, p.files[name]); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeProgram(t *tar.Writer, name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// Digest returns the digest of the layer.
func (p programs) Digest() (v1.Hash, error) { return p.digest, nil }

// DiffID returns the digest of the content, which is not compressed.
func (p programs) DiffID() (v1.Hash, error) { return p.digest, nil }

// Compressed returns the content as the registry serves it.
func (p programs) Compressed() (io.ReadCloser, error) { return p.open(), nil }

// Uncompressed returns the content.
func (p programs) Uncompressed() (io.ReadCloser, error) { return p.open(), nil }

// Size returns the number of bytes of the content.
func (p programs) Size() (int64, error) { return p.size, nil }

// MediaType returns that of a tar.
func (p programs) MediaType() (types.MediaType, error) { return types.DockerUncompressedLayer, nil }
