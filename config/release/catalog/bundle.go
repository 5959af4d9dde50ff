// Package catalog creates what the Operator Lifecycle Manager installs from: the bundle with references to images by digest,
// a catalog of the bundle, and the directory of the operator in OpenShift's community catalog. This file reads the bundle
// and pins its images.
package catalog

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Files are the contents of files by their slash-separated paths.
type Files map[string][]byte

// A Bundle is one version of the operator's package.
type Bundle struct {
	// Files are by their paths in the bundle, such as "metadata/annotations.yaml".
	Files Files
	// Name is the name of the package. Version is for example "0.1.0". Channel is the channel that contains this version.
	Name, Version, Channel string
	// Replaces is the previous version, such as "0.0.9". Empty: this is the first version. Read does not set this field.
	Replaces string
	// Created is the date of this version.
	Created time.Time
	// Description is one sentence.
	Description string
	Icon        Icon
	// Labels are those of the bundle's image.
	Labels map[string]string
	// Images are the references to container images, as relatedImages lists them.
	Images []string
}

// An Icon is a picture in base64 and its media type, as a catalog contains it.
type Icon struct {
	Data      string `json:"base64data"`
	MediaType string `json:"mediatype"`
}

type serviceVersion struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Version       string                   `json:"version"`
		Icon          []Icon                   `json:"icon"`
		RelatedImages []struct{ Image string } `json:"relatedImages"`
	} `json:"spec"`
}

// Read returns the bundle in dir.
func Read(dir fs.FS) (Bundle, error) {
	b := Bundle{Files: Files{}}
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b.Files[name], err = fs.ReadFile(dir, name)
		return err
	})
	if err != nil {
		return Bundle{}, err
	}
	return b, b.parse()
}

func (b *Bundle) parse() error {
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.Unmarshal(b.Files["metadata/annotations.yaml"], &metadata); err != nil {
		return fmt.Errorf("metadata/annotations.yaml: %w", err)
	}
	b.Labels = metadata.Annotations
	b.Name, b.Channel = b.Labels["operators.operatorframework.io.bundle.package.v1"], b.Labels["operators.operatorframework.io.bundle.channel.default.v1"]
	name := b.serviceVersionPath()
	var csv serviceVersion
	if err := yaml.Unmarshal(b.Files[name], &csv); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if b.Name == "" || csv.Spec.Version == "" || len(csv.Spec.Icon) == 0 {
		return fmt.Errorf("%s: the package, its version or its icon is missing", name)
	}
	b.Version, b.Icon, b.Description = csv.Spec.Version, csv.Spec.Icon[0], csv.Metadata.Annotations["description"]
	for _, r := range csv.Spec.RelatedImages {
		b.Images = append(b.Images, r.Image)
	}
	var err error
	b.Created, err = time.Parse(time.RFC3339, csv.Metadata.Annotations["createdAt"])
	return err
}

func (b Bundle) serviceVersionPath() string {
	return path.Join("manifests", b.Name+".clusterserviceversion.yaml")
}

func (b Bundle) versionName(version string) string { return b.Name + ".v" + version }

// At returns the bundle as another version, for tests of upgrades.
func (b Bundle) At(version string) (Bundle, error) {
	return b.rewritten(strings.NewReplacer(
		"\n  name: "+b.versionName(b.Version)+"\n", "\n  name: "+b.versionName(version)+"\n",
		"\n  version: "+b.Version+"\n", "\n  version: "+version+"\n"))
}

func (b Bundle) rewritten(by *strings.Replacer) (Bundle, error) {
	out := b
	out.Files, out.Images = maps.Clone(b.Files), nil
	for name, text := range b.Files {
		if strings.HasPrefix(name, "manifests/") {
			out.Files[name] = []byte(by.Replace(string(text)))
		}
	}
	return out, out.parse()
}

// Repository returns reference, to an image, without the tag and the digest.
func Repository(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndex(reference, ":"); colon > strings.LastIndex(reference, "/") {
		return reference[:colon]
	}
	return reference
}

// Digests returns the reference by digest for each image in b.Images. built contains the references to the images of this
// project, by their repository in the bundle; a release may publish them in another repository. Digests returns an error
// for any other image without a digest: a tag can move, and a mirror that is configured by digest does not serve tags.
func (b Bundle) Digests(built map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, ref := range b.Images {
		repository := Repository(ref)
		_, digest, found := strings.Cut(ref, "@")
		switch own := built[repository]; {
		case own != "":
			out[ref] = own
		case found:
			out[ref] = repository + "@" + digest
		default:
			return nil, fmt.Errorf("image %s has no digest: name it with one in config/manager", ref)
		}
	}
	return out, nil
}

// Pin returns the bundle with each image replaced by its reference in refs.
func (b Bundle) Pin(refs map[string]string) (Bundle, error) { return b.rewritten(replacer(refs)) }

// Pin returns a manifest with each image replaced by its reference in refs.
func Pin(text string, refs map[string]string) string { return replacer(refs).Replace(text) }

func replacer(refs map[string]string) *strings.Replacer {
	var pairs []string
	for _, from := range slices.Backward(slices.Sorted(maps.Keys(refs))) { // If one key begins with another, the longer comes first.
		pairs = append(pairs, from, refs[from])
	}
	return strings.NewReplacer(pairs...)
}
