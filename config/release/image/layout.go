// This file stores images in directories (OCI image layouts), and copies them from there to a registry.

package image

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// The annotations in an image layout for the name of the image. The value of tagKey, OCI's annotation, is the tag. That of
// nameKey, containerd's annotation, is the full name.
const (
	tagKey  = "org.opencontainers.image.ref.name"
	nameKey = "io.containerd.image.name"
)

// Store replaces the content of dir by an image layout with the image and its referrers. The image gets the name ref.
func (m Multi) Store(dir string, ref name.Tag) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	named := v1.Descriptor{Annotations: map[string]string{tagKey: ref.TagStr(), nameKey: ref.String()}}
	all := []mutate.IndexAddendum{{Add: m.Index, Descriptor: named}}
	for _, r := range m.Referrers {
		all = append(all, mutate.IndexAddendum{Add: r})
	}
	_, err := layout.Write(dir, mutate.AppendManifests(empty.Index, all...))
	return err
}

// Load returns the image and the name that [Multi.Store] wrote to dir.
func Load(dir string) (m Multi, ref name.Tag, err error) {
	path, err := layout.FromPath(dir)
	if err != nil {
		return m, ref, fmt.Errorf("%s: not an image layout: %w", dir, err)
	}
	all, err := path.ImageIndex()
	if err != nil {
		return m, ref, err
	}
	list, err := all.IndexManifest()
	if err != nil {
		return m, ref, err
	}
	for _, d := range list.Manifests {
		if full := d.Annotations[nameKey]; full != "" {
			if ref, err = name.NewTag(full); err == nil {
				m.Digest = d.Digest.String()
				m.Index, err = all.ImageIndex(d.Digest)
			}
		} else {
			var r v1.Image
			r, err = all.Image(d.Digest)
			m.Referrers = append(m.Referrers, r)
		}
		if err != nil {
			return m, ref, err
		}
	}
	if m.Index == nil {
		return m, ref, fmt.Errorf("%s: no image has a name", dir)
	}
	return m, ref, nil
}

// Push copies the image and its referrers to the repository of ref, and then sets the tag. It returns an error if the tag
// already refers to another image: a released tag never changes.
func (m Multi) Push(ctx context.Context, ref name.Tag, options ...remote.Option) error {
	options = append(options, remote.WithContext(ctx))
	// Before the first push, the repository does not exist, and a registry may answer "denied".
	if err := m.unmoved(ref, options); err != nil && !answered(err, http.StatusUnauthorized, http.StatusForbidden) {
		return err
	}
	if err := remote.WriteIndex(ref.Digest(m.Digest), m.Index, options...); err != nil {
		return fmt.Errorf("%s@%s: %w", ref.Context(), m.Digest, err)
	}
	for _, r := range m.Referrers {
		digest, err := r.Digest()
		if err != nil {
			return err
		}
		if err := remote.Write(ref.Digest(digest.String()), r, options...); err != nil {
			return fmt.Errorf("%s@%s: %w", ref.Context(), digest, err)
		}
	}
	if err := m.unmoved(ref, options); err != nil {
		return err
	}
	if err := remote.Tag(ref, m.Index, options...); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	return nil
}

// unmoved returns nil if the tag of ref does not exist, or refers to this image.
func (m Multi) unmoved(ref name.Tag, options []remote.Option) error {
	switch there, err := remote.Head(ref, options...); {
	case err == nil && there.Digest.String() != m.Digest:
		return fmt.Errorf("%s is %s already: a released tag never changes", ref, there.Digest)
	case err != nil && !answered(err, http.StatusNotFound):
		return fmt.Errorf("%s: %w", ref, err)
	}
	return nil
}

func answered(err error, codes ...int) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && slices.Contains(codes, answer.StatusCode)
}
