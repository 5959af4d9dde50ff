// Package acm evaluates the policy of config/samples with the program of Advanced Cluster Management's policy controller, and
// reads the other objects with their published types. It is a module of its own, so that the operator does not depend on them.
package acm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"open-cluster-management.io/config-policy-controller/pkg/dryrun"
	policyv1 "open-cluster-management.io/governance-policy-propagator/api/v1"
	"sigs.k8s.io/yaml"
)

// sample are the objects of the sample, in its order.
func sample(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "acm-policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n---\n")
}

// TestObjectsOfTheHub: no field is unknown to the types, and each object names the next one as it is.
func TestObjectsOfTheHub(t *testing.T) {
	var policy policyv1.Policy
	var placement clusterv1beta1.Placement
	var binding policyv1.PlacementBinding
	var set clusterv1beta2.ManagedClusterSetBinding
	into := []any{&policy, &placement, &binding, &set}
	all := sample(t)
	if len(all) != len(into) {
		t.Fatalf("the sample has %d objects", len(all))
	}
	for i, text := range all {
		if err := yaml.UnmarshalStrict([]byte(text), into[i]); err != nil {
			t.Error(err)
		}
	}
	if p := binding.PlacementRef; p.Name != placement.Name || p.Kind != placement.Kind || !strings.HasPrefix(placement.APIVersion, p.APIGroup+"/") {
		t.Errorf("the binding has the placement %+v", p)
	}
	if s := binding.Subjects; len(s) != 1 || s[0].Name != policy.Name || s[0].Kind != policy.Kind || !strings.HasPrefix(policy.APIVersion, s[0].APIGroup+"/") {
		t.Errorf("the binding has the subjects %+v", s)
	}
	if set.Name != set.Spec.ClusterSet {
		t.Errorf("a binding of set %s has the name of the set", set.Spec.ClusterSet)
	}
	for _, namespace := range []string{placement.Namespace, binding.Namespace, set.Namespace} {
		if namespace != policy.Namespace {
			t.Errorf("an object is in namespace %s", namespace)
		}
	}
}

// kinds are those that the policy and the worlds have.
const kinds = `
- {group: "", version: v1, kind: Namespace, singular: namespace, plural: namespaces, scope: root}
- {group: apps, version: v1, kind: Deployment, singular: deployment, plural: deployments, scope: namespace}
- {group: hypershift.openshift.io, version: v1beta1, kind: HostedCluster, singular: hostedcluster, plural: hostedclusters, scope: namespace}
`

// TestMain makes HostedClusters a kind of the dry run's cluster, which knows only those of its clients.
func TestMain(m *testing.M) {
	hypershift := schema.GroupVersion{Group: "hypershift.openshift.io", Version: "v1beta1"}
	scheme.Scheme.AddKnownTypeWithName(hypershift.WithKind("HostedCluster"), &unstructured.Unstructured{})
	scheme.Scheme.AddKnownTypeWithName(hypershift.WithKind("HostedClusterList"), &unstructured.UnstructuredList{})
	os.Exit(m.Run())
}

// operator is the operator's Deployment, with a status of its condition.
func operator(available string) string {
	return `
---
{apiVersion: v1, kind: Namespace, metadata: {name: oooi-system}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: oooi, namespace: oooi-system}
status: {conditions: [{type: Progressing, status: "True"}, {type: Available, status: "` + available + `"}]}
`
}

// hosted is a HostedCluster with a condition of its networks. Empty: it has not opted in.
func hosted(name, ready string) string {
	conditions := `{type: Available, status: "False"}`
	if ready != "" {
		conditions += `, {type: hostedcluster.densityops.com/NetworkReady, status: "` + ready + `", reason: Any, message: any}`
	}
	return `
---
apiVersion: hypershift.openshift.io/v1beta1
kind: HostedCluster
metadata: {name: ` + name + `, namespace: clusters}
status: {conditions: [` + conditions + `]}
`
}

// TestPolicy: the policy controller finds an operator that does not run, and each hosted cluster whose nodes cannot boot.
func TestPolicy(t *testing.T) {
	const clusters = "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}\n"
	for name, c := range map[string]struct {
		world string
		// says are parts of the message. None: the cluster is compliant.
		says, omits []string
	}{
		"all is well":             {world: operator("True") + clusters + hosted("blue", "True") + hosted("green", "")},
		"no hosted cluster":       {world: operator("True")},
		"the operator is down":    {operator("False") + clusters + hosted("blue", "True"), []string{"oooi"}, []string{"blue"}},
		"the operator is missing": {clusters + hosted("blue", "True"), []string{"oooi"}, []string{"blue"}},
		"two clusters fail":       {operator("True") + clusters + hosted("blue", "False") + hosted("green", "False") + hosted("red", "True"), []string{"blue", "green"}, []string{"red"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			var said bytes.Buffer
			command := (&dryrun.DryRunner{}).GetCmd()
			command.SetOut(&said)
			command.SetErr(&said)
			command.SetIn(strings.NewReader(""))
			command.SetArgs([]string{"--policy", file("policy.yaml", sample(t)[0]), "--mappings-file", file("kinds.yaml", kinds), "--print-diffs=false",
				file("world.yaml", c.world)})
			err := command.ExecuteContext(t.Context())
			if failed := len(c.says) > 0; failed != errors.Is(err, dryrun.ErrNonCompliant) || !failed && err != nil {
				t.Fatalf("%v: %s", err, &said)
			}
			for _, part := range c.says {
				if !strings.Contains(said.String(), part) {
					t.Errorf("it does not name %s: %s", part, &said)
				}
			}
			for _, part := range c.omits {
				if strings.Contains(said.String(), part) {
					t.Errorf("it names %s: %s", part, &said)
				}
			}
		})
	}
}
