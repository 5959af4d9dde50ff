// Package rbac holds the roles of oooi, as YAML files that kustomize and the bundle install. Go reads the one that
// nothing restores where the Operator Lifecycle Manager installed it.
package rbac

import (
	_ "embed" // for the file below
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed controlplane.yaml
var controlPlane []byte

// ControlPlane returns ClusterRole oooi-controlplane as it is shipped. An error means that this program was built from
// an invalid file.
func ControlPlane() (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(controlPlane, role); err != nil {
		return nil, fmt.Errorf("embedded ClusterRole: %w", err)
	}
	return role, nil
}
