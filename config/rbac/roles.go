// Package rbac contains the roles of oooi as YAML files. kustomize and the bundle install them. Go code reads only the role
// oooi-controlplane: where the Operator Lifecycle Manager installed it, only oooi restores it.
package rbac

import (
	_ "embed" // for the file below
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed controlplane.yaml
var controlPlane []byte

// ControlPlane returns the ClusterRole oooi-controlplane. It returns an error if this program was built from an invalid
// file.
func ControlPlane() (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(controlPlane, role); err != nil {
		return nil, fmt.Errorf("embedded ClusterRole: %w", err)
	}
	return role, nil
}
