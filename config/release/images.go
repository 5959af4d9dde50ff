// This file decides the content of the images: those of the programs, the bundle and the catalog.

package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cldmnky/oooi/config/release/catalog"
	"github.com/cldmnky/oooi/config/release/image"
	"github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/config/release/supply"
)

const (
	repository = "https://github.com/cldmnky/oooi"
	// namespace is the registry of the project's releases. The manifests in config/ refer to images there.
	namespace = "ghcr.io/cldmnky"
)

// An identity is the metadata that all images of a release share.
type identity struct {
	// version is that of the manifests, such as "v0.1.0".
	version string
	// build is the version of programs and images. It equals version if the commit has that tag. Otherwise it also has the
	// commit, as in "v0.1.0+0123456789ab". If files differ from the commit, "-dirty" follows.
	build string
	// revision is the commit. Empty: unknown, or files differ from the commit.
	revision string
	created  time.Time
}

// tag returns the tag of the images. It is build with "-" for "+", which tags cannot contain.
func (i identity) tag() string { return strings.ReplaceAll(i.build, "+", "-") }

func (i identity) description(name, summary string) image.Description {
	d := image.Description{Created: i.created, User: image.User, Annotations: map[string]string{
		"org.opencontainers.image.title":         name,
		"org.opencontainers.image.description":   summary,
		"org.opencontainers.image.version":       i.build,
		"org.opencontainers.image.created":       i.created.UTC().Format(time.RFC3339),
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.source":        repository,
		"org.opencontainers.image.url":           repository,
		"org.opencontainers.image.documentation": repository + "/blob/" + i.version + "/README.md",
		"org.opencontainers.image.vendor":        "cldmnky",
	}}
	if i.revision != "" {
		d.Annotations["org.opencontainers.image.revision"] = i.revision
	}
	return d
}

// A binary is a compiled program, with the modules that are linked into it.
type binary struct {
	path string
	// linked are the modules in the program, without the standard library.
	linked []supply.Module
}

// legal returns the license and notice files that copies of a program must contain: those of the project, of the standard
// library and of all linked modules. license is the path of the project's license.
func legal(license string, linked []supply.Module, std supply.Module) image.Files {
	out := image.Files{"licenses/LICENSE": {Source: license}}
	for _, m := range append([]supply.Module{std}, linked...) {
		for _, text := range m.Texts {
			out["licenses/third-party/"+m.Path+"@"+m.Version+"/"+filepath.Base(text)] = image.File{Source: text}
		}
	}
	return out
}

func (in input) variant(name string, t program.Target) (image.Variant, error) {
	b, found := in.programs[name][t]
	if !found {
		return image.Variant{}, fmt.Errorf("program %s is not compiled for %s", name, t)
	}
	var sbom bytes.Buffer
	if err := supply.WriteSBOM(&sbom, b.path, b.linked, in.build, in.created); err != nil {
		return image.Variant{}, err
	}
	layers := image.Program(name, b.path, legal(in.license, b.linked, in.std))
	return image.Variant{Arch: t.Arch, Layers: layers, SBOM: sbom.Bytes()}, nil
}

func (i identity) bundleImage(b catalog.Bundle) (image.Multi, error) {
	return b.Image(i.description("oooi-bundle", "The bundle of oooi for the Operator Lifecycle Manager"), arches()...)
}

func (i identity) catalogImage(name string, text []byte) (image.Multi, error) {
	return catalog.Image(i.description("oooi-catalog", "A catalog of the Operator Lifecycle Manager that lists oooi"), name, text, arches()...)
}

func arches() []string {
	var out []string
	for _, t := range imageTargets() {
		out = append(out, t.Arch)
	}
	return out
}

func archive(t program.Target, b binary, license string, std supply.Module) image.Files {
	out := legal(license, b.linked, std)
	out[commandFile(t)] = image.File{Source: b.path, Executable: true}
	return out
}

func commandFile(t program.Target) string {
	if t.OS == "windows" {
		return "oooi.exe"
	}
	return "oooi"
}
