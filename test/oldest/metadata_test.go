// This file tests what a stolen token can write into metadata.

package oldest

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	edgeUser     = "system:serviceaccount:clusters-blue:oooi-edge"
	operatorUser = "system:serviceaccount:oooi-system:oooi"
	reportKey    = "hostedcluster.densityops.com/report"
)

// owned is an object of oooi.
func owned(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace("clusters-blue")
	u.SetName(name)
	u.SetLabels(map[string]string{"app.kubernetes.io/part-of": "oooi", "app.kubernetes.io/managed-by": "oooi"})
	return u
}

// owners are references to objects that do not exist.
func owners(kind string, count int) []any {
	var out []any
	for i := range count {
		out = append(out, map[string]any{"apiVersion": "hypershift.openshift.io/v1beta1", "kind": kind, "name": fmt.Sprint(i), "uid": fmt.Sprint(i)})
	}
	return out
}

// managed are the managed fields of a client, below metadata.labels.
func managed(fields map[string]any) []any {
	return []any{map[string]any{"manager": "oooi", "operation": "Update", "apiVersion": "coordination.k8s.io/v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:labels": fields}, "f:spec": map[string]any{"f:holderIdentity": map[string]any{}}}}}
}

func set(t *testing.T, u *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// refused reports whether a policy refuses w. An expression without a result refuses it, too.
func refused(t *testing.T, policy string, w Write) bool {
	t.Helper()
	w.Namespace = controlPlane()
	var out bool
	for i, strict := range []bool{false, true} {
		got, err := compiled(t, policy, strict).Judge(w)
		if err != nil {
			t.Fatal(err)
		}
		if denied := len(got.Messages)+len(got.Errors) > 0; i == 0 {
			out = denied
		} else if denied != out {
			t.Errorf("strict costs decide otherwise: %q, %v", got.Messages, got.Errors)
		}
		t.Logf("%q, %v, cost %d", got.Messages, got.Errors, got.Cost)
	}
	return out
}

// TestLeasesOfEdgesAreSmall: an edge fills no memory and occupies no garbage collector with the metadata of its Leases.
func TestLeasesOfEdgesAreSmall(t *testing.T) {
	many := map[string]any{}
	for i := range 20000 {
		many[fmt.Sprintf("f:example.com/%d", i)] = map[string]any{}
	}
	deep := map[string]any{}
	for range 2000 {
		deep = map[string]any{"f:a": deep}
	}
	largest := func(u *unstructured.Unstructured) {
		u.SetAnnotations(map[string]string{reportKey: strings.Repeat(`"`, 8<<10), "hostedcluster.densityops.com/vm": strings.Repeat("x", 253)})
		set(t, u, strings.Repeat("x", 1024), "spec", "holderIdentity")
		few := map[string]any{".": map[string]any{}}
		for _, key := range []string{"app.kubernetes.io/part-of", "app.kubernetes.io/managed-by", "hostedcluster.densityops.com/network"} {
			few["f:"+key] = map[string]any{}
		}
		set(t, u, managed(few), "metadata", "managedFields")
	}
	for what, row := range map[string]struct {
		old    func(*unstructured.Unstructured)
		change func(*unstructured.Unstructured)
		denied bool
	}{
		"the largest that it needs": {change: largest},
		"renews it":                 {old: largest, change: largest},
		"leaves the owner that another client set": {
			old:    func(u *unstructured.Unstructured) { set(t, u, owners("ConfigMap", 1), "metadata", "ownerReferences") },
			change: func(u *unstructured.Unstructured) { set(t, u, owners("ConfigMap", 1), "metadata", "ownerReferences") },
		},
		"names an owner": {denied: true, change: func(u *unstructured.Unstructured) { set(t, u, owners("ConfigMap", 1), "metadata", "ownerReferences") }},
		"adds one to the owner that another client set": {
			denied: true,
			old:    func(u *unstructured.Unstructured) { set(t, u, owners("ConfigMap", 1), "metadata", "ownerReferences") },
			change: func(u *unstructured.Unstructured) { set(t, u, owners("ConfigMap", 2), "metadata", "ownerReferences") },
		},
		"names 7,000 owners": {denied: true, change: func(u *unstructured.Unstructured) {
			set(t, u, owners("ConfigMap", 7000), "metadata", "ownerReferences")
		}},
		"manages many fields": {denied: true, change: func(u *unstructured.Unstructured) { set(t, u, managed(many), "metadata", "managedFields") }},
		"manages a field in a field in a field": {denied: true, change: func(u *unstructured.Unstructured) {
			set(t, u, managed(deep), "metadata", "managedFields")
		}},
		"has many managers": {denied: true, change: func(u *unstructured.Unstructured) {
			var all []any
			for range 400 {
				all = append(all, managed(map[string]any{"f:a": map[string]any{}})...)
			}
			set(t, u, all, "metadata", "managedFields")
		}},
		"writes a report of 8 KiB letters, each with three bytes": {denied: true, change: func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{reportKey: strings.Repeat("€", 8<<10)})
		}},
		"names a long holder with letters of three bytes": {denied: true, change: func(u *unstructured.Unstructured) { set(t, u, strings.Repeat("€", 1024), "spec", "holderIdentity") }},
		"names a long holder that it would prefer":        {denied: true, change: func(u *unstructured.Unstructured) { set(t, u, strings.Repeat("x", 100<<10), "spec", "preferredHolder") }},
	} {
		t.Run(what, func(t *testing.T) {
			w := Write{User: edgeUser, Object: owned("coordination.k8s.io/v1", "Lease", "oooi-report.oooi-edge-x")}
			row.change(w.Object)
			if row.old != nil {
				w.Old = owned("coordination.k8s.io/v1", "Lease", "oooi-report.oooi-edge-x")
				row.old(w.Old)
			}
			if got := refused(t, "oooi-edge-leases", w); got != row.denied {
				t.Errorf("refused: %v", got)
			}
		})
	}
}

// TestATokenMakesFewReports: the operator holds reports in memory, and believes them. The token of an edge's pod makes no
// others than that of this pod.
func TestATokenMakesFewReports(t *testing.T) {
	const report, dhcp = "oooi-report", "dhcp"
	for what, row := range map[string]struct {
		pod, name, is string
		denied        bool
	}{
		"its own":                                {"oooi-edge-clusters-blue-1-6d4cf56db6-x2x5q", "oooi-report.oooi-edge-clusters-blue-1", report, false},
		"that of its address check":              {"oooi-acd-clusters-blue-6d4cf56db6-x2x5q", "oooi-report.oooi-acd-clusters-blue", report, false},
		"without a pod":                          {"", "oooi-report.oooi-edge-clusters-blue-1", report, false},
		"a DHCP lease":                           {"oooi-edge-clusters-blue-1-6d4cf56db6-x2x5q", "oooi.clusters.blue.192.168.100.10", dhcp, false},
		"that of its peer":                       {"oooi-edge-clusters-blue-1-6d4cf56db6-x2x5q", "oooi-report.oooi-edge-clusters-blue-2", report, true},
		"one of many":                            {"oooi-edge-clusters-blue-1-6d4cf56db6-x2x5q", "oooi-report.oooi-edge-clusters-blue-1-77", report, true},
		"that of a network whose name is longer": {"oooi-edge-clusters-blue-1-2-6d4cf56db6-x2x5q", "oooi-report.oooi-edge-clusters-blue-1", report, true},
		"that of its peer, without the label":    {"oooi-edge-clusters-blue-1-6d4cf56db6-x2x5q", "oooi-report.oooi-edge-clusters-blue-2", dhcp, true},
		"a DHCP lease that is one for watches":   {"oooi-edge-clusters-blue-1-6d4cf56db6-x2x5q", "oooi.clusters.blue.192.168.100.10", report, true},
	} {
		t.Run(what, func(t *testing.T) {
			w := Write{User: edgeUser, Pod: row.pod, Object: owned("coordination.k8s.io/v1", "Lease", row.name)}
			set(t, w.Object, row.is, "metadata", "labels", "app.kubernetes.io/name")
			if got := refused(t, "oooi-edge-leases", w); got != row.denied {
				t.Errorf("refused: %v", got)
			}
		})
	}
}

// TestOperatorNamesFewOwners: the operator's token occupies no garbage collector.
func TestOperatorNamesFewOwners(t *testing.T) {
	const plan = "oooi-plan"
	with := func(all []any) *unstructured.Unstructured {
		u := owned("v1", "ConfigMap", plan)
		set(t, u, all, "metadata", "ownerReferences")
		return u
	}
	for what, row := range map[string]struct {
		old, now []any
		denied   bool
	}{
		"its control plane":                   {nil, owners("HostedControlPlane", 1), false},
		"another kind":                        {nil, owners("ConfigMap", 1), true},
		"many":                                {nil, owners("HostedControlPlane", 100), true},
		"those that other clients set":        {owners("ConfigMap", 100), owners("ConfigMap", 100), false},
		"a control plane that was made again": {owners("HostedControlPlane", 1), owners("HostedControlPlane", 2), false},
	} {
		t.Run(what, func(t *testing.T) {
			w := Write{User: operatorUser, Resource: "configmaps", Object: with(row.now)}
			if row.old != nil {
				w.Old = with(row.old)
			}
			if got := refused(t, "oooi-operator", w); got != row.denied {
				t.Errorf("refused: %v", got)
			}
		})
	}
}
