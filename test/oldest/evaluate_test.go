package oldest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// policies are those that config/default installs, by name.
func policies(t testing.TB) map[string]*admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "admission", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*admissionregistrationv1.ValidatingAdmissionPolicy{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
			p := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			if err := yaml.Unmarshal(doc, p); err != nil {
				t.Fatal(file, err)
			}
			if p.Kind == "ValidatingAdmissionPolicy" {
				out[p.Name] = p
			}
		}
	}
	return out
}

func compiled(t *testing.T, name string, strict bool) *Policy {
	t.Helper()
	p, err := Compile(policies(t)[name], strict)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// TestPoliciesCompile: the oldest Kubernetes stores all policies.
func TestPoliciesCompile(t *testing.T) {
	all := policies(t)
	if len(all) != 4 {
		t.Fatalf("%d policies", len(all))
	}
	for name := range all {
		for _, strict := range []bool{false, true} {
			compiled(t, name, strict)
		}
	}
}

// object is one with annotations.
func object(kind string, annotations map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("hypershift.openshift.io/v1beta1")
	u.SetKind(kind)
	u.SetNamespace("clusters-blue")
	u.SetName("blue")
	u.SetAnnotations(annotations)
	return u
}

func controlPlane() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-blue", Labels: map[string]string{"hypershift.openshift.io/hosted-control-plane": "true"}}}
}

// A verdict is what the operator says about one value.
type verdict struct {
	Kind, Key, Value, Denied string
	Labels                   map[string]string
}

func verdicts(t *testing.T) []verdict {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "config", "annotations", "testdata", "verdicts.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []verdict
	for lines := json.NewDecoder(f); lines.More(); {
		var v verdict
		if err := lines.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// TestVerdicts: the oldest Kubernetes denies what the operator refuses, with the operator's words.
func TestVerdicts(t *testing.T) {
	p := compiled(t, "oooi-annotations", true)
	all := verdicts(t)
	if len(all) < 300 {
		t.Fatalf("%d verdicts", len(all))
	}
	for _, v := range all {
		u := object(v.Kind, map[string]string{v.Key: v.Value})
		u.SetLabels(v.Labels)
		got, err := p.Judge(Write{Object: u, Namespace: controlPlane()})
		if err != nil {
			t.Fatal(err)
		}
		if first := strings.Join(got.Messages[:min(1, len(got.Messages))], ""); first != v.Denied {
			t.Errorf("%s=%q, labels %v: %q, not %q; %v", v.Key, v.Value, v.Labels, first, v.Denied, got.Errors)
		}
		if len(got.Errors) > 0 && v.Denied != "" {
			t.Errorf("%s=%q: %v", v.Key, v.Value, got.Errors)
		}
	}
}

// largest is an object with all annotations, as long as a large user needs them, and with those of others.
func largest(t *testing.T) *unstructured.Unstructured {
	repeat := func(entry string, n int) string { return strings.TrimSuffix(strings.Repeat(entry+",", n), ",") }
	name := strings.TrimSuffix(strings.Repeat(strings.Repeat("a", 62)+".", 4), ".")
	annotations := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 100<<10)}
	for _, v := range verdicts(t) {
		if _, ok := annotations[v.Key]; !ok && v.Kind == "HostedCluster" {
			annotations[v.Key] = v.Value // the first one is the example
		}
	}
	const prefix = "hostedcluster.densityops.com/"
	var labels []string
	for i := range 16 {
		labels = append(labels, strings.Repeat("a", 62)+".example.com/"+strings.Repeat("a", 60)+strconv.Itoa(i)+"="+strings.Repeat("b", 63))
	}
	for i := range 100 {
		annotations["example.com/"+strings.Repeat("a", i%60)+string(rune('a'+i%26))] = "x"
		if i < 30 {
			annotations[prefix+"cidr."+strings.Repeat("p", i+1)] = "192.168.100.0/24"
		}
	}
	for key, value := range map[string]string{
		"reservations": repeat("02:00:00:00:00:01=192.168.100.200", 500), "dhcp-exclude": repeat("192.168.100.100-192.168.100.200", 64),
		"dns-records": repeat("*."+name+"=192.168.100.200", 64), "allowed-hosts": "auto," + repeat(name+":65535", 64),
		"search-domains": repeat(name, 16), "edge-node-selector": strings.Join(labels, ","),
		"ntp-servers": repeat("192.168.100.200", 16), "dhcp-relays": repeat("192.168.100.200", 16), "dns-upstreams": repeat("192.168.100.200:853", 16),
	} {
		annotations[prefix+key] = value
	}
	return object("HostedCluster", annotations)
}

// invalid is u with all annotations of oooi invalid.
func invalid(u *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := u.GetAnnotations()
	for key := range annotations {
		if strings.HasPrefix(key, "hostedcluster.") {
			annotations[key] += "[x]"
		}
	}
	u.SetAnnotations(annotations)
	return u
}

// TestBudget: the largest object takes less than a fifth of the budgets of the API server. Each expression has a budget of
// its own, which Errors would name.
func TestBudget(t *testing.T) {
	for _, name := range []string{"oooi-annotations", "oooi-annotation-keys"} {
		for what, u := range map[string]*unstructured.Unstructured{"valid": largest(t), "invalid": invalid(largest(t))} {
			for _, strict := range []bool{false, true} {
				got, err := compiled(t, name, strict).Judge(Write{Object: u, Namespace: controlPlane()})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s, %s, strict %v: conditions %d of %d, validations %d and messages %d of %d", name, what, strict,
					got.ConditionsCost, celconfig.RuntimeCELCostBudgetMatchConditions, got.Cost, got.MessagesCost, celconfig.RuntimeCELCostBudget)
				if len(got.Errors) > 0 {
					t.Errorf("%s, %s: %v", name, what, got.Errors)
				}
				if got.ConditionsCost > celconfig.RuntimeCELCostBudgetMatchConditions/5 || got.Cost+got.MessagesCost > celconfig.RuntimeCELCostBudget/5 {
					t.Errorf("%s, %s: too much of the budget", name, what)
				}
				if denied := name == "oooi-annotations" && what == "invalid"; denied != (len(got.Messages) > 0) {
					t.Errorf("%s, %s: %q", name, what, got.Messages)
				}
			}
		}
	}
}

// TestLongListsAreNotJudged: CEL takes a time that grows with the square of a list's length, and the budget does not
// count it. A quarter of a megabyte must not occupy an API server.
func TestLongListsAreNotJudged(t *testing.T) {
	const prefix = "hostedcluster.densityops.com/"
	both := []*Policy{compiled(t, "oooi-annotations", true), compiled(t, "oooi-annotation-keys", true)}
	judged := func(annotations map[string]string) bool {
		var messages []string
		for _, p := range both {
			got, err := p.Judge(Write{Object: object("HostedCluster", annotations), Namespace: controlPlane()})
			if err != nil || len(got.Errors) > 0 {
				t.Fatal(err, got.Errors)
			}
			messages = append(messages, got.Messages...)
		}
		return len(messages) > 0
	}
	const unlimited = prefix + "reservations"
	if !judged(map[string]string{unlimited: strings.Repeat(",", 499)}) {
		t.Errorf("%s: 500 entries are not judged", unlimited)
	}
	if judged(map[string]string{unlimited: strings.Repeat(",", 200<<10)}) {
		t.Errorf("%s: 200,000 entries are judged", unlimited)
	}
	for _, key := range []string{"dns-records", "search-domains", "dhcp-exclude", "ntp-servers", "dhcp-relays", "dns-upstreams", "edge-addresses", "edge-node-selector"} {
		if !judged(map[string]string{prefix + key: strings.Repeat(",", 200<<10)}) {
			t.Errorf("%s: a list is too long for any cluster", key)
		}
	}
	many := map[string]string{}
	for i := range 8000 {
		many[prefix+strconv.Itoa(i)] = "x"
	}
	if judged(many) {
		t.Error("8,000 annotations are judged")
	}
}

// BenchmarkJudge is what an API server takes to judge one write.
func BenchmarkJudge(b *testing.B) {
	p, err := Compile(policies(b)["oooi-annotations"], true)
	if err != nil {
		b.Fatal(err)
	}
	for what, annotations := range map[string]map[string]string{
		"annotations of others": {"example.com/a": "b"}, "one annotation": {"hostedcluster.densityops.com/network": "auto"},
		"a list of 500 invalid entries": {"hostedcluster.densityops.com/ntp-servers": strings.Repeat(",", 499)},
	} {
		b.Run(what, func(b *testing.B) {
			u := object("HostedCluster", annotations)
			for b.Loop() {
				if _, err := p.Judge(Write{Object: u, Namespace: controlPlane()}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
