// Command release builds what users install: container images, the catalog, manifests and archives, with their SBOMs.
//
// The command runs in this directory. The directory is a Go module of its own, so that its dependencies do not become those
// of the operator. Its go.mod also pins govulncheck (`make vulncheck`).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/config/release/supply"
)

const (
	// root is the path from this directory to the root of the project. All output is written below its bin/.
	root       = "../.."
	imagesDir  = root + "/bin/images"
	releaseDir = root + "/bin/release"
)

const usage = `usage: release [--registry REGISTRY] build | symbols | opm | images | dry-run | check | publish | push | sbom BINARY

  --registry    where the images are published, and named in all manifests, such as registry.example.com/oooi
  build         compile the programs for this machine, in bin/
  symbols       compile them with symbols, which govulncheck reads, in bin/symbols
  opm           compile opm for this machine, in bin/
  images        make the images of the programs, in bin/images
  dry-run       make a release, in bin/release, and list what would be published where
  check         check that this commit can be published: for the project's registry, it needs the tag of the version
  publish       check, make a release, and push its images
  push          push the images of the release in bin/release
  sbom BINARY   print the SBOM of a program`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	to := flags.String("registry", namespace, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	registry, err := home(*to)
	if err != nil {
		return err
	}
	switch args := flags.Args(); {
	case len(args) == 2 && args[0] == "sbom":
		return printSBOM(ctx, args[1])
	case len(args) == 1:
		return do(ctx, args[0], registry)
	}
	return fmt.Errorf("unknown arguments\n%s", usage)
}

func do(ctx context.Context, command, registry string) error {
	switch command {
	case "build":
		return build(ctx, "bin", false)
	case "symbols":
		return build(ctx, "bin/symbols", true)
	case "opm":
		_, err := compileOpm(ctx)
		return err
	case "images":
		return makeImages(ctx, registry)
	case "dry-run":
		return makeRelease(ctx, registry)
	case "check":
		return mayPublish(ctx, registry)
	case "publish":
		if err := mayPublish(ctx, registry); err != nil {
			return err
		}
		if err := makeRelease(ctx, registry); err != nil {
			return err
		}
		return publish(ctx, releaseDir, os.Stdout)
	case "push":
		return publish(ctx, releaseDir, os.Stdout)
	}
	return fmt.Errorf("unknown command %s\n%s", command, usage)
}

// printSBOM prints the SBOM of the program in file, which must have been built from this checkout.
func printSBOM(ctx context.Context, file string) error {
	all, err := supply.Linked(root, "linux", runtime.GOARCH, supply.Commands()...)
	if err != nil {
		return err
	}
	i, err := readIdentity(ctx)
	if err != nil {
		return err
	}
	return supply.WriteSBOM(os.Stdout, file, all, i.build, i.created)
}

func readIdentity(ctx context.Context) (identity, error) {
	bundle, state, err := readSource(ctx)
	return state.identity("v"+bundle.Version, bundle.Created), err
}

// build compiles the programs for this host, like those of a release, into dir, which is relative to root. If symbols is
// true, the programs keep their symbols.
func build(ctx context.Context, dir string, symbols bool) error {
	i, err := readIdentity(ctx)
	if err != nil {
		return err
	}
	for _, command := range supply.Commands() {
		p := program.Own(root, command)
		p.Symbols = symbols
		if err := p.Compile(ctx, program.Host(), i.build, filepath.Join(root, dir, p.Name)); err != nil {
			return err
		}
	}
	return nil
}

// makeImages writes the images of the programs and their SBOMs below bin/, and prints a table of them.
func makeImages(ctx context.Context, registry string) error {
	in, err := readInput(ctx, registry, false)
	if err != nil {
		return err
	}
	out, err := programsOf(in)
	if err != nil {
		return err
	}
	if err := out.files.WriteTo(imagesDir); err != nil {
		return err
	}
	for _, p := range out.images {
		if err := out.storeImage(p, imagesDir); err != nil {
			return err
		}
	}
	return out.table(os.Stdout)
}

// makeRelease writes a release to its directory, and prints a table of what would be published where.
func makeRelease(ctx context.Context, registry string) error {
	in, err := readInput(ctx, registry, true)
	if err != nil {
		return err
	}
	out, err := assemble(ctx, in)
	if err != nil {
		return err
	}
	if err := out.store(releaseDir); err != nil {
		return err
	}
	return out.table(os.Stdout)
}

func mayPublish(ctx context.Context, registry string) error {
	bundle, state, err := readSource(ctx)
	if err != nil {
		return err
	}
	return state.mayPublish("v"+bundle.Version, registry)
}
