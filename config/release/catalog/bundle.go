// Package catalog decides what catalogs of the Operator Lifecycle Manager get: the bundle with each image by its digest,
// the catalog that lists it, and the directory of the operator in OpenShift's community catalog. This file reads the
// bundle and pins its images.
package catalog

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Files are texts by their slash-separated paths.
type Files map[string][]byte

// A Bundle is the operator's package in one version.
type Bundle struct {
	// Files by their paths in the bundle, such as "metadata/annotations.yaml".
	Files Files
	// Name of the package, its Version such as "0.1.0", and the Channel that gets it.
	Name, Version, Channel string
	// Replaces is the version before, such as "0.0.9". Empty: this is the first one. Read does not know it.
	Replaces string
	// Created is the date of this version.
	Created time.Time
	// Description is one sentence.
	Description string
	// Icon is the icon as a catalog stores it: base64data and mediatype.
	Icon Icon
	// Labels are those of the bundle's image.
	Labels map[string]string
	// Images are the references to container images: of the Deployments, and relatedImages.
	Images []string
}

// An Icon is a picture and its media type.
type Icon struct {
	Data      string `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// serviceVersion is what we read of a ClusterServiceVersion.
type serviceVersion struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Version       string                   `json:"version"`
		Icon          []Icon                   `json:"icon"`
		RelatedImages []struct{ Image string } `json:"relatedImages"`
		Install       struct {
			Spec struct {
				Deployments []struct {
					Spec struct {
						Template struct {
							Spec struct{ Containers []struct{ Image string } }
						}
					}
				}
			}
		}
	} `json:"spec"`
}

// Read reads the bundle in dir.
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
	for _, d := range csv.Spec.Install.Spec.Deployments {
		for _, c := range d.Spec.Template.Spec.Containers {
			b.Images = append(b.Images, c.Image)
		}
	}
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

// versionName is the name of the ClusterServiceVersion of a version.
func (b Bundle) versionName(version string) string { return b.Name + ".v" + version }

// At returns the bundle as that of another version: a test of upgrades needs one.
func (b Bundle) At(version string) (Bundle, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(b.Files[b.serviceVersionPath()], &tree); err != nil {
		return Bundle{}, err
	}
	for section, fields := range map[string]map[string]any{"metadata": {"name": b.versionName(version)}, "spec": {"version": version}} {
		found, ok := tree[section].(map[string]any)
		if !ok {
			return Bundle{}, fmt.Errorf("%s: no %s", b.serviceVersionPath(), section)
		}
		maps.Copy(found, fields)
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return Bundle{}, err
	}
	out := b
	out.Files, out.Images = maps.Clone(b.Files), nil
	out.Files[b.serviceVersionPath()] = text
	return out, out.parse()
}

// Repository returns a reference to an image without its tag and digest.
func Repository(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndex(reference, ":"); colon > strings.LastIndex(reference, "/") {
		return reference[:colon]
	}
	return reference
}

// Digests returns for each image of the bundle its reference by digest. built are those of the images that this project
// builds, by the repository that the bundle names: they can be published elsewhere. It is an error if another image is named without a digest: a tag can move, and a
// mirror configured by digest does not serve it.
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

// Pin returns the bundle with each image by the reference that refs has for it.
func (b Bundle) Pin(refs map[string]string) (Bundle, error) {
	out := b
	out.Files, out.Images = maps.Clone(b.Files), nil
	for name, text := range b.Files {
		if !strings.HasPrefix(name, "manifests/") {
			continue
		}
		pinned, err := Pin(text, refs)
		if err != nil {
			return Bundle{}, fmt.Errorf("%s: %w", name, err)
		}
		out.Files[name] = pinned
	}
	return out, out.parse()
}

// Pin returns the object in text, as YAML, with each string that is a key of refs replaced.
func Pin(text []byte, refs map[string]string) ([]byte, error) {
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	return yaml.Marshal(replaced(tree, refs))
}

func replaced(v any, refs map[string]string) any {
	switch v := v.(type) {
	case string:
		if ref, ok := refs[v]; ok {
			return ref
		}
	case map[string]any:
		for k, x := range v {
			v[k] = replaced(x, refs)
		}
	case []any:
		for i, x := range v {
			v[i] = replaced(x, refs)
		}
	}
	return v
}
