// Package rbac holds the roles of oooi, as YAML files that kustomize and the bundle install. Go code reads only
// oooi-controlplane: if the Operator Lifecycle Manager installed this role, nothing else would restore it.
package rbac

import (
	_ "embed" // for the file below
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed controlplane.yaml
var controlPlane []byte

// ControlPlane returns the ClusterRole oooi-controlplane from its YAML file. An error means that this program was built
// from an invalid file.
func ControlPlane() (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(controlPlane, role); err != nil {
		return nil, fmt.Errorf("embedded ClusterRole: %w", err)
	}
	return role, nil
}
