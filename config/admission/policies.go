// Package admission contains the ValidatingAdmissionPolicies that limit what the ServiceAccounts of oooi may write, and those
// that check users' annotations. kustomize installs them from the YAML files in this directory. The Operator Lifecycle
// Manager cannot install policies. Where it installed oooi, `oooi admission` applies the same files.
package admission

import (
	"bytes"
	"embed"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// The names of the policies. The binding of a policy has the same name.
const (
	// Operator limits what the operator may write.
	Operator = "oooi-operator"
	// EdgeLeases limits what edges may write.
	EdgeLeases = "oooi-edge-leases"
	// Annotations denies invalid values of annotations.
	Annotations = "oooi-annotations"
	// AnnotationKeys warns about annotations that have no effect.
	AnnotationKeys = "oooi-annotation-keys"
)

// OperatorAccount is the name of the ServiceAccounts that the policy Operator applies to, in any namespace.
const OperatorAccount = "oooi"

//go:embed operator.yaml edge_leases.yaml annotations.yaml annotation_keys.yaml
var files embed.FS

// A Policy is a policy and its binding. The defaults of the API server are set, so that the policy and the binding can
// be compared with stored objects.
type Policy struct {
	Policy  admissionregistrationv1.ValidatingAdmissionPolicy
	Binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
}

// Limits reports whether the policy limits what the ServiceAccounts of oooi may write. The other policies check users'
// annotations.
func (p Policy) Limits() bool {
	return p.Policy.Spec.FailurePolicy != nil && *p.Policy.Spec.FailurePolicy == admissionregistrationv1.Fail
}

// Policies returns all policies. It returns an error if this program was built from invalid files.
func Policies() ([]Policy, error) {
	var out []Policy
	for _, name := range []string{"operator.yaml", "edge_leases.yaml", "annotations.yaml", "annotation_keys.yaml"} {
		p, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("embedded admission policy %s: %w", name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// read returns the policy and its binding in the file with this name. The file contains the policy first.
func read(name string) (Policy, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return Policy{}, err
	}
	var p Policy
	policy, binding, _ := bytes.Cut(text, []byte("\n---\n"))
	return p, errors.Join(yaml.UnmarshalStrict(policy, &p.Policy), yaml.UnmarshalStrict(binding, &p.Binding))
}
