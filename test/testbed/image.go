// Container images made from files, without any registry or image tool: one
// layer, written as an OCI layout in a tar. What goes into which image is decided
// elsewhere.

package testbed

import (
	"errors"
	"io"
)

// Image is a one-layer linux image of this machine's architecture.
type Image struct {
	Names      []string // under which it is imported, with a tag; the digest form REPO@sha256:... is added for each
	Entrypoint []string
	User       string // "" means root
	Env        []string
	Labels     map[string]string
	Files      []File
}

// File is one entry of an image; directories on the way are made.
type File struct {
	Path   string // in the image, absolute
	Source string // a file on this machine, symlinks followed, its executable bit kept
	Data   []byte // or the content itself, mode 0644
	Link   string // or the target of a symbolic link
}

// Packed is an image as its parts.
type Packed struct {
	Digest   string // of the manifest, "sha256:..."
	Manifest []byte // application/vnd.docker.distribution.manifest.v2+json
	Config   []byte // application/vnd.docker.container.image.v1+json
	Layer    Blob   // application/vnd.docker.image.rootfs.diff.tar

	image Image
}

// Blob is what a layer is known by.
type Blob struct {
	Digest string
	Size   int64
}

// Pack reads all files and works out the digests. Equal images have equal bytes.
func (i Image) Pack() (Packed, error) { return Packed{}, errors.New("not built yet") }

// WriteLayer writes the layer; the files must not have changed since Pack.
func (p Packed) WriteLayer(w io.Writer) error { return errors.New("not built yet") }

// Tar gives the path of the image as an OCI tar in the cache, written there unless
// it is there.
func (i Image) Tar() (path, digest string, err error) { return "", "", errors.New("not built yet") }
