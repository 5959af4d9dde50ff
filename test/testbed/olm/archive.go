// This file writes an image as one file, which a container runtime can import without a registry.

package olm

import (
	"archive/tar"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/cldmnky/oooi/config/release/image"
)

// writeArchive writes the image m, without its referrers, as a tar archive of an image layout. containerd gives the
// imported image each name in parameter names, such as "localhost/a:1".
func writeArchive(w io.Writer, m image.Multi, names ...string) error {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []mutate.IndexAddendum
	for _, n := range names {
		all = append(all, mutate.IndexAddendum{Add: m.Index, Descriptor: v1.Descriptor{Annotations: map[string]string{"io.containerd.image.name": n}}})
	}
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, all...)); err != nil {
		return err
	}
	out := tar.NewWriter(w)
	if err := out.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return out.Close()
}
