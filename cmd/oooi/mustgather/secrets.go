// This file decides what `oooi must-gather` leaves out. It is pure.

package mustgather

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const leftOut = "LEFT-OUT"

// keptOfVM returns the fields of a VirtualMachineInstance that are written. Others are left out, such as volumes, because
// cloud-init data in them may contain keys.
func keptOfVM() [][]string {
	return [][]string{
		{"apiVersion"}, {"kind"}, {"metadata"}, {"spec", "networks"}, {"spec", "domain", "devices", "interfaces"},
		{"status", "phase"}, {"status", "interfaces"}, {"status", "nodeName"}, {"status", "conditions"}, {"status", "migrationState"},
	}
}

func withoutSecrets(o unstructured.Unstructured) unstructured.Unstructured {
	out := *o.DeepCopy()
	out.SetManagedFields(nil)
	if all := out.GetAnnotations(); all["kubectl.kubernetes.io/last-applied-configuration"] != "" {
		delete(all, "kubectl.kubernetes.io/last-applied-configuration") // It is a copy of the object.
		out.SetAnnotations(all)
	}
	switch o.GetKind() {
	case "Route":
		if _, has, _ := unstructured.NestedString(out.Object, "spec", "tls", "key"); has {
			_ = unstructured.SetNestedField(out.Object, leftOut, "spec", "tls", "key")
		}
	case "VirtualMachineInstance":
		kept := map[string]any{}
		for _, path := range keptOfVM() {
			if v, has, _ := unstructured.NestedFieldNoCopy(out.Object, path...); has {
				_ = unstructured.SetNestedField(kept, v, path...)
			}
		}
		out.Object = kept
	}
	out.Object = cleaned(out.Object).(map[string]any)
	return out
}

func cleaned(v any) any {
	switch v := v.(type) {
	case string:
		return withoutCredentials(v)
	case []any:
		for i := range v {
			v[i] = cleaned(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = cleaned(v[k])
		}
	}
	return v
}

var (
	secretField  = regexp.MustCompile(`(?i)^(password|passwd|token|(access|id|refresh)_token|client_secret|private_key(_password)?|(proxy-)?authorization)$`)
	secretHeader = regexp.MustCompile(`(?i)^((proxy-)?authorization|(set-)?cookie)$`)
)

// withoutSecretFields replaces the values of secret fields by leftOut. It does the same for headers that authenticate, which
// Envoy's configuration contains as objects with the name of the header in field key.
func withoutSecretFields(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutSecretFields(v[i])
		}
	case map[string]any:
		header, _ := v["key"].(string)
		for k := range v {
			if secretField.MatchString(k) || secretHeader.MatchString(header) && k != "key" {
				v[k] = leftOut
				continue
			}
			v[k] = withoutSecretFields(v[k])
		}
	}
	return v
}
