// This file builds images of this project's programs as a release does, and loads them.

package olm

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cldmnky/oooi/config/release/image"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/cluster"
)

// program loads the image that a release publishes at repository, and returns its reference by digest. The programs of this
// project report this version.
func (o *OLM) program(ctx context.Context, repository, version string) (reference string, err error) {
	name := path.Base(repository)
	if name == "envoy" { // It is not an image of this project.
		envoy, err := o.cluster.EnvoyImage(ctx)
		if err != nil {
			return "", err
		}
		return o.load(ctx, repository, envoy)
	}
	binary, err := build.ProjectProgram(ctx, name, version)
	if err != nil {
		return "", err
	}
	made, err := image.Build(image.Description{User: image.User, Entrypoint: []string{"/usr/bin/" + name}}, []image.Variant{{
		Arch: runtime.GOARCH, Layers: image.Program(name, binary, image.Files{}),
	}})
	if err != nil {
		return "", err
	}
	return o.release(ctx, repository, made)
}

// release imports an image that was built as in a release, and returns its reference by digest.
func (o *OLM) release(ctx context.Context, repository string, made image.Multi) (reference string, err error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	reference = repository + "@" + made.Digest
	archive := cluster.Archive{
		Path: filepath.Join(dir, "image.tar"), Digest: made.Digest,
		Names: []string{repository + ":" + strings.TrimPrefix(made.Digest, "sha256:")[:12], reference},
	}
	file, err := os.Create(archive.Path)
	if err != nil {
		return "", err
	}
	if err := writeArchive(file, made, archive.Names...); err != nil {
		file.Close()
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	return reference, o.cluster.LoadArchive(ctx, archive)
}
