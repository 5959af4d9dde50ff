// Package olm runs the Operator Lifecycle Manager on a testbed. It installs this project's operator as users do, from the image of
// a catalog.
package olm

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/image"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// Namespace is the namespace of the Operator Lifecycle Manager and its catalogs.
const Namespace = "olm"

//go:embed manifests/olm.yaml
var manifest []byte

// An OLM is the Operator Lifecycle Manager on a testbed.
type OLM struct {
	cluster *cluster.Cluster
	say     func(format string, args ...any)
}

// Programs returns the names of the programs that [Install] needs.
func Programs() []string {
	return []string{"opm", "olm", "catalog", "copy-content", "cpb", "grpc_health_probe"}
}

// Install builds and starts the Operator Lifecycle Manager, and returns when it is ready. It does not restart what already runs.
func Install(ctx context.Context, c *cluster.Cluster, log io.Writer) (*OLM, error) {
	o := &OLM{cluster: c, say: progress.New(log).Say}
	if err := host.EnsurePackages(ctx, log, "busybox-static"); err != nil {
		return nil, err
	}
	if err := c.Build(ctx, Programs()...); err != nil {
		return nil, err
	}
	reference, err := o.load(ctx, "localhost/olm", o.image())
	if err != nil {
		return nil, err
	}
	crds, err := definitions(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Apply(ctx, crds); err != nil {
		return nil, err
	}
	// The filter fails without a list of conditions, so wait until there is one.
	for _, condition := range []string{`{.status.conditions}`, `{.status.conditions[?(@.type=="Established")].status}=True`} {
		if err := o.kubectl(ctx, "wait", "--for=jsonpath="+condition, "--timeout="+await.Patience.String(), "crd", "--all"); err != nil {
			return nil, err
		}
	}
	if err := c.Apply(ctx, bytes.ReplaceAll(manifest, []byte("OLM_IMAGE"), []byte(reference))); err != nil {
		return nil, err
	}
	for _, name := range []string{"olm-operator", "catalog-operator"} {
		if err := o.kubectl(ctx, "-n", Namespace, "rollout", "status", "deployment/"+name, "--timeout="+await.Patience.String()); err != nil {
			return nil, err
		}
	}
	o.say("the Operator Lifecycle Manager is ready")
	return o, nil
}

// image returns an image with all programs, and cp, at the paths where pods of the Operator Lifecycle Manager expect them.
func (o *OLM) image() image.Image {
	made := image.Image{Entrypoint: []string{"/bin/olm"}, User: "1001", Files: []image.File{
		{Path: "/bin/busybox", Source: "/bin/busybox"}, {Path: "/bin/cp", Link: "busybox"},
	}}
	for _, name := range Programs() {
		made.Files = append(made.Files, image.File{Path: "/bin/" + name, Source: o.cluster.Bin(name)})
	}
	return made
}

// definitions returns the CRDs of the Operator Lifecycle Manager, and CRDs of OpenShift. The Operator Lifecycle Manager waits for
// the latter if it finds any CRD of OpenShift, such as those that HyperShift needs.
func definitions(ctx context.Context) ([]byte, error) {
	var all [][]byte
	for _, d := range []struct{ module, files string }{
		{"github.com/operator-framework/operator-lifecycle-manager", "deploy/chart/crds/*.yaml"},
		{"github.com/openshift/api", "config/v1/zz_generated.crd-manifests/*_proxies.crd.yaml"},
		{"github.com/openshift/api", "config/v1/zz_generated.crd-manifests/*_apiservers-Default.crd.yaml"},
	} {
		dir, err := build.ModuleSource(ctx, "olm", d.module)
		if err != nil {
			return nil, err
		}
		files, err := filepath.Glob(filepath.Join(dir, d.files))
		if err != nil || len(files) == 0 {
			return nil, errors.Join(fmt.Errorf("%s has no %s", dir, d.files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			all = append(all, text)
		}
	}
	return bytes.Join(all, []byte("\n---\n")), nil
}

// load imports an image, and returns its reference by digest. With a tag, the Operator Lifecycle Manager would always pull it.
func (o *OLM) load(ctx context.Context, repository string, image image.Image) (reference string, err error) {
	packed, err := image.Pack()
	if err != nil {
		return "", err
	}
	image.Names = []string{repository + ":" + strings.TrimPrefix(packed.Digest, "sha256:")[:12]}
	return repository + "@" + packed.Digest, o.cluster.LoadImage(ctx, image)
}

func (o *OLM) kubectl(ctx context.Context, args ...string) error {
	_, err := o.cluster.Kubectl(ctx, args...)
	return err
}

// explained returns err with the state of the Operator Lifecycle Manager's objects in namespace.
func (o *OLM) explained(ctx context.Context, namespace string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	var said strings.Builder
	for _, args := range [][]string{
		{"-n", Namespace, "get", "pods,jobs,catalogsources", "-o", "wide"},
		{"-n", Namespace, "logs", "deployment/catalog-operator", "--tail=15"},
		{"-n", namespace, "get", "pods,deployments,operatorgroups,subscriptions,installplans,clusterserviceversions"},
		{"-n", namespace, "get", "subscriptions,installplans,clusterserviceversions", "-o", "jsonpath={range .items[*]}{.kind} {.metadata.name}: {.status.conditions}{\"\\n\"}{end}"},
	} {
		out, failed := o.cluster.Kubectl(ctx, args...)
		if failed != nil {
			out = []byte(failed.Error())
		}
		fmt.Fprintf(&said, "\n%s", out)
	}
	return fmt.Errorf("%w%s", err, &said)
}
