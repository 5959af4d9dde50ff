// This file shows that the laws are those of every kind that a real API server has, and of its own answers.

package apirewrite_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/test/apiserver"
	_ "github.com/cldmnky/oooi/test/patience"
)

// definitionOfVMs is KubeVirt's kind by the name that the server has.
const definitionOfVMs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: internalvirtualmachines.internal.virt.example}
spec:
  group: internal.virt.example
  scope: Namespaced
  names: {plural: internalvirtualmachines, singular: internalvirtualmachine, kind: InternalVirtualMachine, listKind: InternalVirtualMachineList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestEveryKindOfDiscovery: no kind of discovery is missing in the corpus, and each list and each form of discovery of a real API
// server obeys the laws.
func TestEveryKindOfDiscovery(t *testing.T) {
	g := NewWithT(t)
	l, err := newLaw()
	g.Expect(err).NotTo(HaveOccurred())
	s := apiserver.Start(t, map[string]string{"runtime-config": "api/all=true"})
	s.Apply(t, []byte(definitionOfVMs))
	config := s.Env.Config
	client, err := rest.HTTPClientFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	ask := func(path, accept string) (int, []byte) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(config.Host, "/")+path, nil)
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Accept", accept)
		answer, err := client.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return answer.StatusCode, text
	}
	obeys := func(path, accept string, of schema.GroupVersionKind) {
		code, text := ask(path, accept)
		g.Expect(code).To(Equal(http.StatusOK), path)
		if err := l.bothWays(text, l.toClient(of)); err != nil {
			t.Errorf("%s as %s: %v", path, accept, err)
		}
	}
	g.Eventually(func() int {
		code, _ := ask("/apis/internal.virt.example/v1/internalvirtualmachines", "application/json")
		return code
	}, "1m").Should(Equal(http.StatusOK))
	c, err := discovery.NewDiscoveryClientForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	groups, lists, err := c.ServerGroupsAndResources()
	g.Expect(err).NotTo(HaveOccurred())
	for _, path := range []string{"/api", "/apis"} {
		obeys(path, "application/json", schema.GroupVersionKind{})
		obeys(path, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", schema.GroupVersionKind{})
	}
	for _, group := range groups {
		if group.Name != "" {
			obeys("/apis/"+group.Name, "application/json", schema.GroupVersionKind{})
		}
	}
	seen := 0
	for _, list := range lists {
		at := "/apis/"
		if !strings.Contains(list.GroupVersion, "/") {
			at = "/api/"
		}
		obeys(at+list.GroupVersion, "application/json", schema.GroupVersionKind{})
		for _, one := range list.APIResources {
			kind := kindOf(list, one)
			if kind.Group != "internal.virt.example" && !slices.Contains(l.corpus.kinds, kind) {
				t.Errorf("the corpus has no %s", kind)
			}
			if seen++; slices.Contains(one.Verbs, "list") && !strings.Contains(one.Name, "/") {
				obeys(at+list.GroupVersion+"/"+one.Name, "application/json", kind)
				_, text := ask(at+list.GroupVersion+"/"+one.Name, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
				there, err := l.toClient(kind)(text) // The kind is the request's alone, so there is no way back.
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(there)).To(And(ContainSubstring("PartialObjectMetadataList"), Not(ContainSubstring("internal.virt.example"))), one.Name)
			}
		}
	}
	g.Expect(seen).To(BeNumerically(">", 100))
}

// kindOf is the kind of a resource, which may be one of another group.
func kindOf(list *metav1.APIResourceList, one metav1.APIResource) schema.GroupVersionKind {
	if one.Version != "" {
		return schema.GroupVersionKind{Group: one.Group, Version: one.Version, Kind: one.Kind}
	}
	return schema.FromAPIVersionAndKind(list.GroupVersion, one.Kind)
}
