// Package image builds container images from files, without a base image or a container tool. Equal content gives equal
// digests. This file builds an image for each platform, and the image index.
package image

import (
	"fmt"
	"maps"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A Description is the metadata that the images for all platforms share.
type Description struct {
	Created time.Time
	// Annotations are those of the index and of each image. They are also labels of each image.
	Annotations map[string]string
	// Labels are further labels.
	Labels map[string]string
	// Entrypoint is the command that a container runs. Empty: the image contains no program.
	Entrypoint []string
	// User is a numeric user and group such as "65532:65532". Empty: root.
	User string
}

// User is the user and group of the images of programs. OpenShift's SCCs may choose another user.
const User = "65532:65532"

// Program returns the two layers of an image that runs a program. The first contains /etc/passwd and the files in
// parameter further. The second contains the file at path source as /usr/bin/NAME.
func Program(name, source string, further Files) []Files {
	lower := maps.Clone(further)
	lower["etc/passwd"] = File{Data: []byte("root:x:0:0:root:/:/sbin/nologin\noooi:x:65532:65532:oooi:/:/sbin/nologin\n")}
	return []Files{lower, {"usr/bin/" + name: {Source: source, Executable: true}}}
}

// A Variant is the image for one architecture of Linux.
type Variant struct {
	// Arch is amd64 or arm64.
	Arch string
	// Layers are the files of the image, the lowest layer first.
	Layers []Files
	// SBOM is an SPDX document in JSON. Empty: none.
	SBOM []byte
}

// A Multi is an image for several architectures: an image index.
type Multi struct {
	Index v1.ImageIndex
	// Digest is that of the index, such as "sha256:...".
	Digest string
	// Referrers are artifacts whose subject is the index or one of its images: SBOMs.
	Referrers []v1.Image
}

// Build returns an index of the images of variants, in this order.
func Build(d Description, variants []Variant) (Multi, error) {
	out := Multi{Index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	var images []v1.Image
	for _, v := range variants {
		image, err := build(d, v)
		if err != nil {
			return Multi{}, fmt.Errorf("image for %s: %w", v.Arch, err)
		}
		platform := &v1.Platform{OS: "linux", Architecture: v.Arch}
		out.Index = mutate.AppendManifests(out.Index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
		images = append(images, image)
	}
	out.Index, _ = mutate.Annotations(out.Index, d.Annotations).(v1.ImageIndex)
	digest, err := out.Index.Digest()
	if err != nil {
		return Multi{}, err
	}
	out.Digest = digest.String()
	for i, v := range variants {
		if err := out.attach(d, v, images[i]); err != nil {
			return Multi{}, err
		}
	}
	return out, nil
}

// attach adds the SBOM of v as a referrer of the image of v, which is parameter image. It also adds the SBOM as a
// referrer of the index, because users may refer to either.
func (m *Multi) attach(d Description, v Variant, image v1.Image) error {
	if len(v.SBOM) == 0 {
		return nil
	}
	for _, subject := range []partial.Describable{image, m.Index} {
		sbom, err := attached(subject, v, d)
		if err != nil {
			return err
		}
		m.Referrers = append(m.Referrers, sbom)
	}
	return nil
}

func build(d Description, v Variant) (v1.Image, error) {
	labels := maps.Clone(d.Annotations)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, d.Labels)
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
		OS: "linux", Architecture: v.Arch, Created: v1.Time{Time: d.Created}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Entrypoint: d.Entrypoint, User: d.User, WorkingDir: "/", Labels: labels, Env: []string{"PATH=/usr/bin:/bin"}},
	})
	if err != nil {
		return nil, err
	}
	for _, files := range v.Layers {
		l, err := layer(files)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: d.Created}}}); err != nil {
			return nil, err
		}
	}
	annotated, _ := mutate.Annotations(image, d.Annotations).(v1.Image)
	return annotated, nil
}

const sbomType types.MediaType = "application/spdx+json"

// attached returns the SBOM of v as an OCI artifact. Registries list it among the referrers of subject.
func attached(subject partial.Describable, v Variant, d Description) (v1.Image, error) {
	about, err := partial.Descriptor(subject)
	if err != nil {
		return nil, err
	}
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbomType)
	if artifact, err = mutate.AppendLayers(artifact, static.NewLayer(v.SBOM, sbomType)); err != nil {
		return nil, err
	}
	named, _ := mutate.Annotations(artifact, map[string]string{
		"org.opencontainers.image.title":   d.Annotations["org.opencontainers.image.title"] + "_linux_" + v.Arch + ".spdx.json",
		"org.opencontainers.image.created": d.Created.UTC().Format(time.RFC3339),
	}).(v1.Image)
	out, _ := mutate.Subject(named, v1.Descriptor{MediaType: about.MediaType, Digest: about.Digest, Size: about.Size}).(v1.Image)
	return out, nil
}
