// This file fills objects of every kind at random, and puts renamed names into them.

package apirewrite_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/randfill"
)

// A corpus makes objects of all kinds that client-go and KubeVirt know, and of two that neither has.
type corpus struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	kinds  []schema.GroupVersionKind
}

const (
	definitionSample = `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"a.b","labels":{"a":"b"},"managedFields":[{}]},
"spec":{"group":"a.b","names":{"plural":"a","singular":"a","kind":"A","listKind":"AList","shortNames":["vm"]},"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}}}]},
"status":{"acceptedNames":{"plural":"a","singular":"a","kind":"A","listKind":"AList"}}}`
	serviceSample = `{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":"v1.a","labels":{"a":"b"}},"spec":{"group":"a","version":"v1","service":{"name":"a","namespace":"b"}}}`
)

func newCorpus() (corpus, error) {
	c := corpus{scheme: runtime.NewScheme()}
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kubevirtv1.AddToScheme} {
		if err := add(c.scheme); err != nil {
			return c, err
		}
	}
	c.codecs = serializer.NewCodecFactory(c.scheme)
	for kind := range c.scheme.AllKnownTypes() {
		// Neither is what an API server answers as an object. A Status has a message for people, which does not come back.
		if kind.Version != runtime.APIVersionInternal && kind.Kind != "WatchEvent" && kind.Kind != "Status" {
			c.kinds = append(c.kinds, kind)
		}
	}
	for _, kind := range []string{"CustomResourceDefinition", "CustomResourceDefinitionList"} {
		c.kinds = append(c.kinds, schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: kind})
	}
	for _, kind := range []string{"APIService", "APIServiceList"} {
		c.kinds = append(c.kinds, schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: kind})
	}
	slices.SortFunc(c.kinds, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return c, nil
}

// object is one of a kind, as an API server writes it.
func (c corpus) object(kind schema.GroupVersionKind, seed int64) (map[string]any, error) {
	text, err := c.filled(kind, seed)
	if err != nil {
		return nil, err
	}
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	out := member(v)
	out["kind"], out["apiVersion"] = kind.Kind, kind.GroupVersion().String()
	return out, nil
}

func (c corpus) filled(kind schema.GroupVersionKind, seed int64) ([]byte, error) {
	for list, item := range map[string]string{"CustomResourceDefinition": definitionSample, "APIService": serviceSample} {
		switch kind.Kind {
		case list:
			return []byte(item), nil
		case list + "List":
			return []byte(`{"items":[` + item + "," + strings.Replace(item, `"kind":"`+list+`",`, "", 1) + `]}`), nil
		}
	}
	o, err := c.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewSource(seed))
	own := func(serializer.CodecFactory) []any {
		return []any{
			func(s *string, _ randfill.Continue) {
				*s = []string{"a", "b.c", "<&>", "é\u2028", `"\`, "a/b", ""}[r.Intn(7)]
			},
			func(x *runtime.RawExtension, _ randfill.Continue) {
				x.Raw = []byte(`{"apiVersion":"a/v1","kind":"A","metadata":{"labels":{"a":"b"}}}`)
			},
			func(m *metav1.ManagedFieldsEntry, _ randfill.Continue) {
				m.FieldsType, m.FieldsV1 = "FieldsV1", &metav1.FieldsV1{}
			},
			func(i *intstr.IntOrString, _ randfill.Continue) { *i = intstr.FromInt32(r.Int31()) },
		}
	}
	all := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, own)
	fuzzer.FuzzerFor(all, rand.NewSource(seed), c.codecs).NilChance(0.3).NumElements(1, 2).MaxDepth(12).Fill(o)
	return json.Marshal(o)
}

// A strewer puts names of a group into an object.
type strewer struct {
	*rand.Rand
	group, prefix string // kubevirt.io and nothing, or the server's words
	free          bool   // puts them into any text, too
}

func (s strewer) kind() string         { return s.prefix + "VirtualMachine" }
func (s strewer) singular() string     { return strings.ToLower(s.kind()) }
func (s strewer) resource() string     { return s.singular() + "s" }
func (s strewer) key() string          { return s.group + "/" + []string{"os", "a_b", "c.d"}[s.Intn(3)] }
func (s strewer) groupVersion() string { return s.group + "/v1" }
func (s strewer) named() string        { return s.resource() + "." + s.group }

func (s strewer) strew(v any, name string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = s.strew(v[i], name)
		}
		if _, ok := first(v).(string); ok && slices.Contains([]string{"finalizers", "matchLabelKeys", "mismatchLabelKeys", "topologyKeys"}, name) {
			return append(v, s.key())
		}
		return v
	case map[string]any:
		for _, n := range slices.Sorted(maps.Keys(v)) {
			if name != "" || n != "kind" && n != "apiVersion" {
				v[n] = s.strew(v[n], n)
			}
		}
		s.object(v, name)
		return v
	case string:
		if name == "selector" || name == "labelSelector" || name == "rawSelector" {
			return s.key() + "=linux,!" + s.key() + ", " + s.key() + " notin (a,b)," + s.key() + ">1"
		}
		if s.free && s.Intn(5) == 0 {
			return []string{s.group, s.kind(), s.resource(), s.resource() + "/status", s.groupVersion(), s.key(), s.named(), "vm." + s.key(), s.group + "/"}[s.Intn(9)]
		}
		return v
	}
	return v
}

func first(of []any) any {
	if len(of) == 0 {
		return nil
	}
	return of[0]
}

func (s strewer) object(v map[string]any, name string) {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { _, ok := v[n]; return !ok })
	}
	isText := true
	for _, m := range v {
		_, ok := m.(string)
		isText = isText && ok
	}
	switch {
	case slices.Contains([]string{"labels", "annotations", "nodeSelector", "matchLabels", "selector"}, name) && isText && len(v) > 0:
		v[s.key()] = "x"
		if name == "annotations" {
			v["kubectl.kubernetes.io/last-applied-configuration"] = encode(map[string]any{"apiVersion": s.groupVersion(), "kind": s.kind(), "metadata": map[string]any{"labels": map[string]any{s.key(): "<é\u2028"}}})
		}
		return
	case name == "hard" || name == "used":
		v["count/"+s.named()] = "1"
		return
	case name == "managedFields":
		v["apiVersion"] = s.groupVersion()
		v["fieldsV1"] = map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:" + s.key(): map[string]any{}, ".": map[string]any{}}, "f:finalizers": map[string]any{`v:"` + s.key() + `"`: map[string]any{}}},
			`k:{"apiVersion":"` + s.groupVersion() + `","kind":"` + s.kind() + `","x":"<"}`: map[string]any{}}
		return
	case name == "fieldRef":
		v["fieldPath"] = "metadata." + []string{"labels", "annotations"}[s.Intn(2)] + "['" + s.key() + "']"
		return
	case has("key") && (has("operator") || has("effect") || name == "tolerations" || name == "matchLabelExpressions"):
		v["key"] = s.key()
		return
	case has("topologyKey"):
		v["topologyKey"] = s.key()
		return
	case has("apiGroups", "resources") && s.Intn(2) == 0:
		v["apiGroups"], v["resources"] = []any{"", s.group}, []any{"pods", s.resource(), s.resource() + "/status"}
		return
	case has("apiGroups", "resources"):
		v["apiGroups"], v["resources"], v["resourceNames"] = []any{"apiextensions.k8s.io"}, []any{"customresourcedefinitions"}, []any{s.named(), "a.b"}
		return
	}
	s.reference(v, name, has)
}

// reference puts the names of a kind or a resource where both stand together.
func (s strewer) reference(v map[string]any, name string, has func(...string) bool) {
	version, isText := v["apiVersion"].(string)
	switch kind := text(v, "kind"); {
	case name == "" && version == "kubevirt.io/v1":
		v["apiVersion"] = s.groupVersion()
		if slices.Contains([]string{"VirtualMachine", "VirtualMachineInstance"}, strings.TrimSuffix(kind, "List")) {
			v["kind"] = s.prefix + kind
		}
	case name == "" && (kind == "CustomResourceDefinition" || kind == "APIService"), name == "items" && has("spec", "metadata"):
		s.definition(v)
	case name != "" && isText && version != "v1" && kind != "":
		v["apiVersion"], v["kind"] = s.groupVersion(), s.kind()
	case has("apiGroup", "kind"):
		v["apiGroup"], v["kind"] = s.group, s.kind()
	case has("group", "kind"), has("group", "resource"):
		v["group"] = s.group
		for member, word := range map[string]string{"kind": s.kind(), "resource": s.resource()} {
			if has(member) {
				v[member] = word
			}
		}
	case kind == "APIResourceList":
		v["groupVersion"] = s.groupVersion()
		v["resources"] = []any{map[string]any{"name": s.resource(), "singularName": s.singular(), "kind": s.kind(), "verbs": []any{"get"}}, map[string]any{"name": s.resource() + "/scale", "group": "autoscaling", "version": "v1", "kind": "Scale"}}
	case kind == "APIGroup", name == "groups" && has("name", "versions"):
		v["name"], v["versions"] = s.group, []any{map[string]any{"groupVersion": s.groupVersion(), "version": "v1"}}
	}
}

// definition makes v the definition of the kind, or its service.
func (s strewer) definition(v map[string]any) {
	spec := member(v, "spec")
	switch {
	case member(spec, "names") != nil:
		member(v, "metadata")["name"], spec["group"] = s.named(), s.group
		for _, names := range []map[string]any{member(spec, "names"), member(v, "status", "acceptedNames")} {
			names["plural"], names["singular"], names["kind"], names["listKind"] = s.resource(), s.singular(), s.kind(), s.kind()+"List"
		}
	case spec["group"] == "a" && spec["version"] == "v1":
		member(v, "metadata")["name"], spec["group"] = "v1."+s.group, s.group
	}
}
