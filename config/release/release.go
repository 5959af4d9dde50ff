// This file assembles the files and images of a release from compiled programs and the bundle. It neither compiles nor
// publishes.

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/config/release/catalog"
	"github.com/cldmnky/oooi/config/release/image"
	"github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/config/release/supply"
)

// An input contains everything from which a release is assembled.
type input struct {
	identity
	// registry is where the images are published, such as "registry.example.com/oooi".
	registry string
	bundle   catalog.Bundle
	// applied are the manifests for kubectl apply: the objects of each file, by file name.
	applied map[string][][]byte
	// samples are manifests that refer to the catalog's image, by file name.
	samples catalog.Files
	// changelog is the text of CHANGELOG.md, and license the path of the project's license.
	changelog, license string
	std                supply.Module
	// programs are the compiled programs by name and target. opm renders and validates the catalog.
	programs map[string]map[program.Target]binary
	opm      catalog.Opm
}

// A publication is an image and the repository where it is published.
type publication struct {
	image.Multi
	// name is for example "oooi", and Repository "ghcr.io/cldmnky/oooi".
	name, Repository string
}

// reference returns the reference to the image by digest. Manifests use it.
func (p publication) reference() string { return p.Repository + "@" + p.Digest }

// A release contains everything that is published. The paths of files are relative to the directory of the release.
type release struct {
	identity
	registry string
	images   []publication
	files    catalog.Files
}

func (r *release) add(name string, multi image.Multi) publication {
	p := publication{Multi: multi, name: name, Repository: r.registry + "/" + name}
	r.images = append(r.images, p)
	return p
}

const (
	// assets is the directory of the files that users download from the release's page.
	assets    = "assets/"
	layouts   = "images/"
	community = "community-operators/"
	// subjects is the file with the subjects of an attestation: the checksums of the assets, and the digests of the images.
	subjects = "SUBJECTS"
)

func programImages() map[string]string {
	return map[string]string{
		"oooi":          "The operator, and its command line: networks for hosted clusters on isolated VLANs",
		"oooi-edge":     "An edge: DHCP, DNS and the agent of the proxy, on the network of a hosted cluster",
		"oooi-apiproxy": "A proxy for Kubernetes clients that use other names for groups, kinds and resources than the API server",
	}
}

func assemble(ctx context.Context, in input) (release, error) {
	out, err := programsOf(in)
	if err != nil {
		return release{}, err
	}
	if err := out.addArchives(in); err != nil {
		return release{}, err
	}
	if err := out.addKrew(); err != nil {
		return release{}, err
	}
	if err := out.addManifests(ctx, in); err != nil {
		return release{}, err
	}
	return out, out.addNotes(in)
}

// programsOf returns a release with only the images of the programs, and their SBOMs.
func programsOf(in input) (release, error) {
	r := release{identity: in.identity, registry: in.registry, files: catalog.Files{}}
	for _, name := range slices.Sorted(maps.Keys(programImages())) {
		d := in.description(name, programImages()[name])
		d.Entrypoint = []string{"/usr/bin/" + name}
		var variants []image.Variant
		for _, t := range imageTargets() {
			v, err := in.variant(name, t)
			if err != nil {
				return r, err
			}
			variants = append(variants, v)
			r.files[assets+name+"_"+t.String()+".spdx.json"] = v.SBOM
		}
		multi, err := image.Build(d, variants)
		if err != nil {
			return r, fmt.Errorf("image %s: %w", name, err)
		}
		r.add(name, multi)
	}
	return r, nil
}

func (r *release) addArchives(in input) error {
	for t, b := range in.programs["oooi"] {
		var out bytes.Buffer
		zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := image.WriteTar(zip, archive(t, b, in.license, in.std)); err != nil {
			return err
		}
		if err := zip.Close(); err != nil {
			return err
		}
		r.files[assets+"oooi_"+t.String()+".tar.gz"] = out.Bytes()
	}
	return nil
}

// addManifests adds the bundle, the catalog and the manifests for kubectl apply. They refer to images by digest.
func (r *release) addManifests(ctx context.Context, in input) error {
	built, own := map[string]string{}, map[string]string{}
	for _, p := range r.images {
		built[namespace+"/"+p.name] = p.reference()
		own[namespace+"/"+p.name+":"+in.version] = p.reference()
	}
	refs, err := in.bundle.Digests(built)
	if err != nil {
		return err
	}
	pinned, err := in.bundle.Pin(refs)
	if err != nil {
		return err
	}
	pinned.Replaces = strings.TrimPrefix(before(in.changelog, in.version), "v")
	maps.Copy(own, refs) // Only variable own has oooi-apiproxy: the bundle does not contain its image.
	for name, objects := range in.applied {
		if name == console && r.registry != namespace {
			continue // It links to the release's page, which only releases of the project have.
		}
		var text strings.Builder
		for _, object := range objects {
			text.WriteString("---\n" + catalog.Pin(string(object), own))
		}
		r.files[assets+name] = []byte(text.String())
	}
	r.put("bundle/", pinned.Files)
	return r.addCatalog(ctx, in, pinned)
}

func (r *release) addCatalog(ctx context.Context, in input, pinned catalog.Bundle) error {
	multi, err := in.bundleImage(pinned)
	if err != nil {
		return err
	}
	bundle := r.add("oooi-bundle", multi)
	text, err := in.opm.Catalog(ctx, catalog.Published{Bundle: pinned, Ref: bundle.reference()})
	if err != nil {
		return err
	}
	r.files["catalog/"+pinned.Name+"/catalog.yaml"] = text
	directory, err := pinned.Community()
	if err != nil {
		return err
	}
	r.put(community, directory)
	if multi, err = in.catalogImage(pinned.Name, text); err != nil {
		return err
	}
	return r.addSamples(in, r.add("oooi-catalog", multi))
}

// addSamples adds in.samples. In them, it replaces the reference to the catalog's image by that of publication from.
func (r *release) addSamples(in input, from publication) error {
	tagged := []byte(namespace + "/" + from.name + ":" + in.version)
	for name, text := range in.samples {
		if !bytes.Contains(text, tagged) {
			return fmt.Errorf("%s does not name the catalog %s", name, tagged)
		}
		r.files[assets+name] = bytes.ReplaceAll(text, tagged, []byte(from.reference()))
	}
	return nil
}

func (r *release) put(dir string, files catalog.Files) {
	for name, text := range files {
		r.files[dir+name] = text
	}
}

// addNotes adds the text of the release's page, the checksums of its files, and the subjects.
func (r *release) addNotes(in input) error {
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if strings.HasPrefix(name, assets) {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(r.files[name]), path.Base(name))
		}
	}
	r.files[assets+"SHA256SUMS"] = []byte(sums.String())
	for _, p := range r.images {
		fmt.Fprintf(&sums, "%s  %s\n", strings.TrimPrefix(p.Digest, "sha256:"), p.Repository)
	}
	r.files[subjects] = []byte(sums.String())
	notes, err := r.notes(in.changelog, in.std.Version)
	r.files["NOTES.md"] = notes
	return err
}
