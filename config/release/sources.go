// This file reads the input of a release: it compiles the programs, builds the manifests in config/ and reads the bundle.

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/cldmnky/oooi/config/release/catalog"
	"github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/config/release/supply"
)

const (
	compiledDir = root + "/bin/compiled"
	opmFile     = root + "/bin/opm"
)

func imageTargets() []program.Target {
	return []program.Target{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
}

func archiveTargets() []program.Target {
	return append(imageTargets(), program.Target{OS: "darwin", Arch: "amd64"}, program.Target{OS: "darwin", Arch: "arm64"}, program.Target{OS: "windows", Arch: "amd64"})
}

func readBundle() (catalog.Bundle, error) { return catalog.Read(os.DirFS(root + "/bundle")) }

func readSource(ctx context.Context) (catalog.Bundle, checkout, error) {
	bundle, err := readBundle()
	if err != nil {
		return bundle, checkout{}, err
	}
	state, err := readCheckout(ctx, root)
	return bundle, state, err
}

// readInput returns the input of a release for registry. If parameter everything is false, it returns only what the images
// of programs need.
func readInput(ctx context.Context, registry string, everything bool) (input, error) {
	in := input{registry: registry, license: root + "/LICENSE", programs: map[string]map[program.Target]binary{}}
	bundle, state, err := readSource(ctx)
	if err != nil {
		return in, err
	}
	in.bundle, in.identity = bundle, state.identity("v"+bundle.Version, bundle.Created)
	if in.std, err = supply.StandardLibrary(); err != nil {
		return in, err
	}
	for _, command := range supply.Commands() {
		p, targets := program.Own(root, command), imageTargets()
		if everything && p.Name == "oooi" {
			targets = archiveTargets()
		}
		if in.programs[p.Name], err = binaries(ctx, p, targets, in.build); err != nil {
			return in, err
		}
	}
	if !everything {
		return in, nil
	}
	return in, in.readRest(ctx)
}

func (in *input) readRest(ctx context.Context) error {
	changelog, err := os.ReadFile(root + "/CHANGELOG.md")
	if err != nil {
		return err
	}
	in.changelog = string(changelog)
	if in.applied, err = readApplied(); err != nil {
		return err
	}
	if in.samples, err = readSamples(); err != nil {
		return err
	}
	in.opm, err = compileOpm(ctx)
	return err
}

func compileOpm(ctx context.Context) (catalog.Opm, error) {
	path, err := filepath.Abs(opmFile) // opm runs in other directories.
	if err != nil {
		return "", err
	}
	return catalog.Opm(path), program.Opm(root).Compile(ctx, program.Host(), "", path)
}

// console is the file with the objects that OpenShift's console shows.
const console = "console.yaml"

func readApplied() (map[string][][]byte, error) {
	out := map[string][][]byte{}
	for name, dir := range map[string]string{"install.yaml": "default", "openshift.yaml": "openshift", "apiproxy.yaml": "apiproxy", console: "console"} {
		var err error
		if out[name], err = objects(root + "/config/" + dir); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readSamples() (catalog.Files, error) {
	out := catalog.Files{}
	for _, name := range []string{"olm.yaml", "clusterextension.yaml"} {
		text, err := os.ReadFile(root + "/config/samples/" + name)
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}

func binaries(ctx context.Context, p program.Program, targets []program.Target, version string) (map[program.Target]binary, error) {
	out := map[program.Target]binary{}
	for _, t := range targets {
		fmt.Fprintf(os.Stderr, "compiling %s for %s\n", p.Name, t)
		path := filepath.Join(compiledDir, t.String(), p.Name)
		if err := p.Compile(ctx, t, version, path); err != nil {
			return nil, err
		}
		linked, err := supply.Linked(p.Module, t.OS, t.Arch, p.Command)
		if err != nil {
			return nil, err
		}
		out[t] = binary{path: path, linked: linked}
	}
	return out, nil
}

func objects(dir string) ([][]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}
