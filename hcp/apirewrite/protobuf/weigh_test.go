package protobuf

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/encoding/protowire"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// field is the text of a field with a message, or with a string.
func field(number protowire.Number, text []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), text)
}

// sent is a body with the text of an object.
func sent(t *testing.T, version, kind string, text []byte) []byte {
	t.Helper()
	unknown := kruntime.Unknown{TypeMeta: kruntime.TypeMeta{APIVersion: version, Kind: kind}, Raw: text}
	out, err := unknown.Marshal()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return append([]byte("k8s\x00"), out...)
}

// TestHeavyObjects: an object whose few bytes would need a thousand times as much memory is not decoded completely.
func TestHeavyObjects(t *testing.T) {
	c, err := New()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	const size = 256 << 10
	many := func(number protowire.Number) []byte { return bytes.Repeat(field(number, nil), size/2) }
	for name, row := range map[string]struct {
		version, kind string
		text          []byte
	}{
		"pods":                    {"v1", "PodList", many(2)},
		"containers":              {"v1", "Pod", field(2, many(2))},
		"sidecars":                {"v1", "Pod", field(2, many(20))},
		"owners":                  {"v1", "Pod", field(1, many(13))},
		"containers of templates": {"apps/v1", "Deployment", field(2, bytes.Repeat(field(3, field(2, bytes.Repeat(field(2, nil), 64))), 1024))},
		"a long number":           {"v1", "PodList", bytes.Repeat([]byte("\x92\x80\x80\x80\x80\x01\x00"), size/7)},
		"within a group":          {"v1", "PodList", append(many(2), "\x0b\x0c"...)},
		"cut off":                 {"v1", "PodList", append(many(2), 0x12)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			body := sent(t, row.version, row.kind, row.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.JSON(body)
			runtime.ReadMemStats(&after)
			g.Expect(err).To(HaveOccurred())
			g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 4*size), "bytes that are allocated")
		})
	}
	_, err = c.JSON(sent(t, "v1", "PodList", many(2)))
	NewWithT(t).Expect(errors.Is(err, errHeavy)).To(BeTrue(), "%v", err)
}

// TestHeaviest: the conversion to JSON of the heaviest object that is decoded allocates less than eight times the limit.
func TestHeaviest(t *testing.T) {
	g := NewWithT(t)
	c, err := New()
	g.Expect(err).NotTo(HaveOccurred())
	list := bytes.Repeat(field(2, nil), heaviest/(int(reflect.TypeFor[corev1.Pod]().Size())+2))
	body := sent(t, "v1", "PodList", list)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := c.JSON(body)
	runtime.ReadMemStats(&after)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Count(out, []byte(`"spec"`))).To(Equal(len(list) / 2))
	g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 8*heaviest), "bytes that are allocated in all")
}

// TestLargeObjects: objects that clients send are not heavy.
func TestLargeObjects(t *testing.T) {
	g := NewWithT(t)
	c, err := New()
	g.Expect(err).NotTo(HaveOccurred())
	data := map[string]string{"a": strings.Repeat("x", 256<<10)}
	for len(data) < 10_000 {
		data[strings.Repeat("a", 10)+string(rune(0x4e00+len(data)))] = "b"
	}
	labels := metav1.ObjectMeta{Labels: map[string]string{"kubevirt.io/a": "b"}}
	template := corev1.PodTemplateSpec{}
	for range 100 {
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: "a", Image: strings.Repeat("x", 2<<10), Env: make([]corev1.EnvVar, 100)})
	}
	endpoints := corev1.EndpointSubset{}
	for range 1_000 {
		endpoints.Addresses = append(endpoints.Addresses, corev1.EndpointAddress{IP: "192.0.2.1", TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "a", Name: "a", UID: "1"}})
	}
	for kind, object := range map[schema.GroupVersionKind]kruntime.Object{
		{Version: "v1", Kind: "ConfigMap"}:                 &corev1.ConfigMap{ObjectMeta: labels, Data: data},
		{Version: "v1", Kind: "Secret"}:                    &corev1.Secret{ObjectMeta: labels, Data: map[string][]byte{"a": bytes.Repeat([]byte{0x12, 0}, 512<<10)}},
		{Version: "v1", Kind: "Endpoints"}:                 &corev1.Endpoints{ObjectMeta: labels, Subsets: []corev1.EndpointSubset{endpoints}}, //nolint:staticcheck // Clients send it.
		{Group: "apps", Version: "v1", Kind: "Deployment"}: &appsv1.Deployment{ObjectMeta: labels, Spec: appsv1.DeploymentSpec{Template: template}},
		{Group: "authorization.k8s.io", Version: "v1", Kind: "SubjectAccessReview"}: &authorizationv1.SubjectAccessReview{
			ObjectMeta: labels, Spec: authorizationv1.SubjectAccessReviewSpec{Extra: map[string]authorizationv1.ExtraValue{"kubevirt.io/a": {"b", "c"}}}},
	} {
		_, err := c.JSON(encoded(t, object, kind))
		g.Expect(err).NotTo(HaveOccurred(), kind.String())
	}
}

// TestEachFieldIsWeighed: the fields of each kind have tags with their numbers, so that no field is decoded without being counted.
func TestEachFieldIsWeighed(t *testing.T) {
	g := NewWithT(t)
	c, err := New()
	g.Expect(err).NotTo(HaveOccurred())
	seen := map[reflect.Type]bool{}
	var look func(within []reflect.Type, of reflect.Type)
	look = func(within []reflect.Type, of reflect.Type) {
		for _, one := range within {
			g.Expect(one).NotTo(Equal(of), "a kind within itself has no limit of levels")
		}
		if seen[of] {
			return
		}
		seen[of] = true
		parts := partsOf(of)
		if of.Kind() == reflect.Struct {
			for i := range of.NumField() {
				f := of.Field(i)
				own := of == reflect.TypeFor[resource.Quantity]() || f.Type == reflect.TypeFor[metav1.TypeMeta]() || !f.IsExported() || f.Tag.Get("json") == "-" || f.Type.PkgPath() == "time"
				if _, tagged := f.Tag.Lookup("protobuf"); !tagged && !own {
					t.Errorf("%s.%s has no number", of, f.Name)
				}
			}
		}
		for _, p := range parts {
			if p.of != nil {
				look(append(within[:len(within):len(within)], of), p.of)
			}
		}
	}
	for _, of := range c.scheme.AllKnownTypes() {
		if _, decodes := reflect.New(of).Interface().(interface{ Unmarshal([]byte) error }); decodes {
			look(nil, of)
		}
	}
	g.Expect(len(seen)).To(BeNumerically(">", 300))
}
