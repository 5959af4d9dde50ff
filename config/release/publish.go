// This file writes a release to a directory, and pushes the images from there.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/cldmnky/oooi/config/release/image"
)

// size returns the number of bytes that a node pulls for the image with this digest, which is for one platform.
func (p publication) size(digest v1.Hash) (int64, error) {
	single, err := p.Index.Image(digest)
	if err != nil {
		return 0, err
	}
	manifest, err := single.Manifest()
	if err != nil {
		return 0, err
	}
	total := manifest.Config.Size
	for _, l := range manifest.Layers {
		total += l.Size
	}
	return total, nil
}

func (r release) store(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := r.files.WriteTo(dir); err != nil {
		return err
	}
	for _, p := range r.images {
		if err := r.storeImage(p, filepath.Join(dir, layouts)); err != nil {
			return err
		}
	}
	return nil
}

func (r release) storeImage(p publication, dir string) error {
	ref, err := name.NewTag(p.Repository + ":" + r.tag())
	if err == nil {
		err = p.Store(filepath.Join(dir, p.name), ref)
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", p.name, err)
	}
	return nil
}

// publish pushes the images of the release in dir to their repositories, and prints the references. Its credentials are those
// of container tools. It pushes the catalog last, so that everything that the catalog refers to exists.
func publish(ctx context.Context, dir string, out io.Writer) error {
	for _, image := range append(slices.Sorted(maps.Keys(programImages())), "oooi-bundle", "oooi-catalog") {
		if err := push(ctx, filepath.Join(dir, layouts, image), out); err != nil {
			return err
		}
	}
	return nil
}

func push(ctx context.Context, dir string, out io.Writer) error {
	multi, ref, err := image.Load(dir)
	if err != nil {
		return err
	}
	if err := multi.Push(ctx, ref, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s@%s\n", ref, multi.Digest)
	return err
}

// home returns registry, such as "registry.example.com/oooi", without a slash at its end. It returns an error if registry has
// no host: container runtimes have different default hosts.
func home(registry string) (string, error) {
	registry = strings.TrimSuffix(registry, "/")
	repository, err := name.NewRepository(registry + "/oooi")
	if err != nil {
		return "", fmt.Errorf("registry %s: %w", registry, err)
	}
	if !strings.HasPrefix(registry+"/", repository.RegistryStr()+"/") || strings.Contains(registry, "//") {
		return "", fmt.Errorf("registry %s: want a host and a path, such as registry.example.com/oooi", registry)
	}
	return registry, nil
}

// A checkout is the state in git of the source of a release.
type checkout struct {
	// revision is the commit. Empty: the source is not in git, such as an archive of it.
	revision string
	// tag is the git tag of revision. Empty: none.
	tag string
	// changed is true if files differ from revision.
	changed bool
}

// readCheckout returns the state of the directory root in git.
func readCheckout(ctx context.Context, root string) (checkout, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	revision, err := git("rev-parse", "HEAD")
	if err != nil {
		return checkout{}, nil
	}
	status, err := git("status", "--porcelain")
	if err != nil {
		return checkout{}, fmt.Errorf("git status: %w", err)
	}
	tag, _ := git("describe", "--tags", "--exact-match", "HEAD") // An error means that there is no tag.
	return checkout{revision: revision, tag: tag, changed: status != ""}, nil
}

// identity returns the identity of a release from c, whose manifests have this version and date.
func (c checkout) identity(version string, created time.Time) identity {
	out := identity{version: version, build: version, revision: c.revision, created: created}
	switch short := c.revision[:min(12, len(c.revision))]; {
	case short == "":
		out.build += "+unknown"
	case c.changed:
		out.build, out.revision = version+"+"+short+"-dirty", ""
	case c.tag != version:
		out.build += "+" + short
	}
	return out
}

// mayPublish returns nil if c may be published as version to registry. In registries other than the project's, every commit
// may be published.
func (c checkout) mayPublish(version, registry string) error {
	switch {
	case c.changed:
		return errors.New("files differ from the commit: commit or remove the changes")
	case registry == namespace && c.tag != version:
		return fmt.Errorf("the git tag of this commit is %q, and config/manager says %s: tag the commit, or correct the version", c.tag, version)
	}
	return nil
}
