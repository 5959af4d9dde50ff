// This file installs the operator for the demo: with kustomize, or with the Operator Lifecycle Manager.

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/e2e"
	"github.com/cldmnky/oooi/test/testbed/olm"
)

// An installer installs the operator on the demo's cluster. install returns a sentence about it.
type installer struct {
	programs []string // that only it needs
	install  func(context.Context, *demo) (string, error)
}

// installers returns all installers, by their value of $DEMO_INSTALL.
func installers() map[string]installer {
	return map[string]installer{
		"kustomize": {install: applyDefault},
		"olm":       {programs: olm.Programs(), install: subscribe},
	}
}

// installerNamed returns the installer with this name; "" means kustomize.
func installerNamed(name string) (installer, error) {
	if name == "" {
		name = "kustomize"
	}
	i, ok := installers()[name]
	if !ok {
		return i, fmt.Errorf("%q: want one of %v", name, slices.Sorted(maps.Keys(installers())))
	}
	return i, nil
}

// programs returns the names of the programs that this demo needs.
func (d *demo) programs() []string {
	return slices.DeleteFunc(build.All(), func(name string) bool {
		return slices.Contains(olm.Programs(), name) && !slices.Contains(d.installer.programs, name)
	})
}

func applyDefault(ctx context.Context, d *demo) (string, error) {
	return "config/default is applied, with the RBAC that is shipped", e2e.InstallOperator(ctx, d.cluster)
}

// subscribe installs the operator from a catalog's image, as OperatorHub does.
func subscribe(ctx context.Context, d *demo) (string, error) {
	o, err := olm.Install(ctx, d.cluster, d.lines())
	if err != nil {
		return "", err
	}
	version, err := olm.Version()
	if err != nil {
		return "", err
	}
	catalog, err := o.Build(ctx, version, "")
	if err != nil {
		return "", err
	}
	return "config/samples/olm.yaml is applied; the ClusterServiceVersion of " + version + " is Succeeded", o.Subscribe(ctx, catalog, e2e.Namespace)
}
