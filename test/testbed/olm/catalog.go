// This file builds catalogs of versions of the operator, with the code that builds releases, and subscribes to them. Errors
// contain what the Operator Lifecycle Manager reports.

package olm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/cldmnky/oooi/config/release/catalog"
	"github.com/cldmnky/oooi/config/release/image"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/host"
)

// The repositories of the images that contain no programs.
const (
	catalogRepository = "ghcr.io/cldmnky/oooi-catalog"
	bundleRepository  = "ghcr.io/cldmnky/oooi-bundle"
)

// Version returns the version of bundle/, without v.
func Version() (string, error) {
	b, err := readBundle()
	return b.Version, err
}

func readBundle() (catalog.Bundle, error) {
	root, err := host.ProjectDir()
	if err != nil {
		return catalog.Bundle{}, err
	}
	return catalog.Read(os.DirFS(filepath.Join(root, "bundle")))
}

// A Catalog is the image of a catalog, which all nodes have.
type Catalog struct {
	// Version is the only version in the catalog, without v.
	Version   string
	reference string
}

// Build builds the images of a version, and of a catalog that contains only this version, as a release does. version is a
// semantic version without v. The programs are compiled from this checkout, and report this version. replaces is the version that
// it upgrades, which is in an earlier catalog. Empty: none.
func (o *OLM) Build(ctx context.Context, version, replaces string) (Catalog, error) {
	original, err := readBundle()
	if err != nil {
		return Catalog{}, err
	}
	p, err := o.publish(ctx, original, version)
	if err != nil {
		return Catalog{}, fmt.Errorf("version %s: %w", version, err)
	}
	p.Replaces = replaces
	content, err := catalog.Opm(o.cluster.Bin("opm")).Catalog(ctx, p)
	if err != nil {
		return Catalog{}, err
	}
	made, err := catalog.Image(image.Description{User: image.User}, p.Name, content, runtime.GOARCH)
	if err != nil {
		return Catalog{}, err
	}
	reference, err := o.release(ctx, catalogRepository, made)
	o.say("catalog of %s: %s", version, reference)
	return Catalog{Version: version, reference: reference}, err
}

// publish loads the images of one version, and of its bundle.
func (o *OLM) publish(ctx context.Context, original catalog.Bundle, version string) (catalog.Published, error) {
	b, err := original.At(version)
	if err != nil {
		return catalog.Published{}, err
	}
	references := map[string]string{}
	for _, named := range b.Images {
		if references[named] != "" {
			continue
		}
		if references[named], err = o.program(ctx, catalog.Repository(named), version); err != nil {
			return catalog.Published{}, err
		}
	}
	if b, err = b.Pin(references); err != nil {
		return catalog.Published{}, err
	}
	made, err := b.Image(image.Description{User: image.User}, runtime.GOARCH)
	if err != nil {
		return catalog.Published{}, err
	}
	reference, err := o.release(ctx, bundleRepository, made)
	return catalog.Published{Bundle: b, Ref: reference}, err
}

// Subscribe applies config/samples/olm.yaml with the catalog from, which replaces an earlier catalog. It waits until the version
// of from is installed. namespace must be the operator's namespace in that file.
func (o *OLM) Subscribe(ctx context.Context, from Catalog, namespace string) error {
	root, err := host.ProjectDir()
	if err != nil {
		return err
	}
	sample, err := os.ReadFile(filepath.Join(root, "config/samples/olm.yaml"))
	if err != nil {
		return err
	}
	image := regexp.MustCompile(regexp.QuoteMeta(catalogRepository) + `[:@]\S+`)
	if err := o.cluster.Apply(ctx, image.ReplaceAllLiteral(sample, []byte(from.reference))); err != nil {
		return err
	}
	return o.waitVersion(ctx, namespace, from.Version)
}

// waitVersion waits until the Operator Lifecycle Manager reports that a version is installed, and until its Deployments are
// available.
func (o *OLM) waitVersion(ctx context.Context, namespace, version string) error {
	name := "clusterserviceversion/oooi.v" + version
	for _, args := range [][]string{
		{"wait", "--for=create", name},
		{"wait", "--for=jsonpath={.status.phase}=Succeeded", name},
		{"wait", "--for=condition=Available", "deployment", "--all"},
	} {
		if err := o.kubectl(ctx, append(args, "-n", namespace, "--timeout="+await.Patience.String())...); err != nil {
			return o.explained(ctx, namespace, err)
		}
	}
	return nil
}
