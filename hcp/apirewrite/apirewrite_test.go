package apirewrite

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	. "github.com/onsi/gomega"
)

const rulesText = `version: 1
groups:
- client: kubevirt.io
  server: internal.virt.example
  kindPrefix: Internal
  resourcePrefix: internal
  resources: {virtualmachines: VirtualMachine, virtualmachineinstances: VirtualMachineInstance}
- {client: subresources.kubevirt.io, server: subresources.internal.virt.example, kindPrefix: Internal, resourcePrefix: internal, resources: {virtualmachineinstances: VirtualMachineInstance}}
keys:
- {client: kubevirt.io/, server: internal.virt.example/}
- {client: kubevirt.io, server: internal.virt.example}
hide:
- {group: "", resource: configmaps, name: kubevirt-leader}
webhooks: {/validate-vm: /internal-validate-vm}
`

func testRules(t testing.TB) *Rules {
	t.Helper()
	r, err := Parse("rules.yaml", []byte(rulesText))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestShapes: what is renamed in each kind of object. Renamed back, it has the same bytes.
func TestShapes(t *testing.T) {
	r := testRules(t)
	for _, row := range []struct{ name, client, server string }{
		{"object", `{"kind":"VirtualMachine","apiVersion":"kubevirt.io/v1","spec":{"running":1.50,"x":"kubevirt.io/v1"}}`,
			`{"kind":"InternalVirtualMachine","apiVersion":"internal.virt.example/v1","spec":{"running":1.50,"x":"kubevirt.io/v1"}}`},
		{"unknown kind of the group", `{"apiVersion":"kubevirt.io/v1","kind":"KubeVirt"}`, `{"apiVersion":"internal.virt.example/v1","kind":"KubeVirt"}`},
		{"the kind of another group", `{"apiVersion":"other/v1","kind":"VirtualMachine"}`, `{"apiVersion":"other/v1","kind":"VirtualMachine"}`},
		{"owner", `{"metadata":{"ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","name":"a","uid":"1"}]}}`,
			`{"metadata":{"ownerReferences":[{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachineInstance","name":"a","uid":"1"}]}}`},
		{"labels", `{"metadata":{"labels":{"kubevirt.io/os":"kubevirt.io/os","kubevirt.io":"virt-launcher","vm.kubevirt.io/name":"a"},"annotations":{"kubevirt.io/x":"{\"apiVersion\":\"kubevirt.io/v1\"}"},"finalizers":["kubevirt.io/fin","other"]}}`,
			`{"metadata":{"labels":{"internal.virt.example/os":"kubevirt.io/os","internal.virt.example":"virt-launcher","vm.kubevirt.io/name":"a"},"annotations":{"internal.virt.example/x":"{\"apiVersion\":\"kubevirt.io/v1\"}"},"finalizers":["internal.virt.example/fin","other"]}}`},
		{"both names at the server", `{"metadata":{"labels":{"kubevirt.io/a":"1","internal.virt.example/a":"2"}}}`, `{"metadata":{"labels":{"internal.virt.example/a":"1","kubevirt.io/a":"2"}}}`},
		{"expressions", `{"matchExpressions":[{"key":"kubevirt.io/a","operator":"Exists"}],"tolerations":[{"key":"kubevirt.io/b","effect":"NoSchedule"}],"topologyKey":"kubevirt.io/c","env":[{"key":"kubevirt.io/d","name":"x"}]}`,
			`{"matchExpressions":[{"key":"internal.virt.example/a","operator":"Exists"}],"tolerations":[{"key":"internal.virt.example/b","effect":"NoSchedule"}],"topologyKey":"internal.virt.example/c","env":[{"key":"kubevirt.io/d","name":"x"}]}`},
		{"toleration without an operator", `{"tolerations":[{"key":"kubevirt.io/b","value":"x"}]}`, `{"tolerations":[{"key":"internal.virt.example/b","value":"x"}]}`},
		{"downward API", `{"valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['kubevirt.io/x']"}},"fieldPath":"spec.nodeName"}`,
			`{"valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['internal.virt.example/x']"}},"fieldPath":"spec.nodeName"}`},
		{"quota", `{"spec":{"hard":{"pods":"1","count/virtualmachines.kubevirt.io":"2"}}}`, `{"spec":{"hard":{"pods":"1","count/internalvirtualmachines.internal.virt.example":"2"}}}`},
		{"role", `{"rules":[{"apiGroups":["","kubevirt.io"],"resources":["pods","virtualmachines/status","virtualmachines"],"verbs":["get"]},{"apiGroups":["x"],"resources":["virtualmachines"]},{"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions"],"resourceNames":["virtualmachines.kubevirt.io"]}]}`,
			`{"rules":[{"apiGroups":["","internal.virt.example"],"resources":["pods","internalvirtualmachines/status","internalvirtualmachines"],"verbs":["get"]},{"apiGroups":["x"],"resources":["virtualmachines"]},{"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions"],"resourceNames":["internalvirtualmachines.internal.virt.example"]}]}`},
		{"access review", `{"spec":{"resourceAttributes":{"group":"kubevirt.io","resource":"virtualmachines","verb":"get"}}}`,
			`{"spec":{"resourceAttributes":{"group":"internal.virt.example","resource":"internalvirtualmachines","verb":"get"}}}`},
		{"data source", `{"spec":{"dataSourceRef":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}}}`, `{"spec":{"dataSourceRef":{"apiGroup":"internal.virt.example","kind":"InternalVirtualMachine","name":"a"}}}`},
		{"data of a user", `{"kind":"ConfigMap","apiVersion":"v1","data":{"group":"kubevirt.io","version":"v1","kubevirt.io/a":"kubevirt.io"}}`, `{"kind":"ConfigMap","apiVersion":"v1","data":{"group":"kubevirt.io","version":"v1","kubevirt.io/a":"kubevirt.io"}}`},
		{"managed fields", `{"metadata":{"managedFields":[{"apiVersion":"kubevirt.io/v1","fieldsV1":{"f:metadata":{"f:labels":{"f:kubevirt.io/os":{}},"f:finalizers":{"v:\"kubevirt.io/fin\"":{}}},"f:spec":{"k:{\"topologyKey\":\"kubevirt.io/z\",\"x\":1}":{".":{}}}}}]}}`,
			`{"metadata":{"managedFields":[{"apiVersion":"internal.virt.example/v1","fieldsV1":{"f:metadata":{"f:labels":{"f:internal.virt.example/os":{}},"f:finalizers":{"v:\"internal.virt.example/fin\"":{}}},"f:spec":{"k:{\"topologyKey\":\"internal.virt.example/z\",\"x\":1}":{".":{}}}}}]}}`},
		{"definition", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"virtualmachines.kubevirt.io"},"spec":{"group":"kubevirt.io","names":{"plural":"virtualmachines","singular":"virtualmachine","kind":"VirtualMachine","listKind":"VirtualMachineList","shortNames":["vm"]}},"status":{"acceptedNames":{"kind":"VirtualMachine","plural":"virtualmachines"}}}`,
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"internalvirtualmachines.internal.virt.example"},"spec":{"group":"internal.virt.example","names":{"plural":"internalvirtualmachines","singular":"internalvirtualmachine","kind":"InternalVirtualMachine","listKind":"InternalVirtualMachineList","shortNames":["vm"]}},"status":{"acceptedNames":{"kind":"InternalVirtualMachine","plural":"internalvirtualmachines"}}}`},
		{"groups", `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"kubevirt.io","versions":[{"groupVersion":"kubevirt.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"kubevirt.io/v1","version":"v1"}}]}`,
			`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"internal.virt.example","versions":[{"groupVersion":"internal.virt.example/v1","version":"v1"}],"preferredVersion":{"groupVersion":"internal.virt.example/v1","version":"v1"}}]}`},
		{"group", `{"kind":"APIGroup","apiVersion":"v1","name":"subresources.kubevirt.io"}`, `{"kind":"APIGroup","apiVersion":"v1","name":"subresources.internal.virt.example"}`},
		{"resources", `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"kubevirt.io/v1","resources":[{"name":"virtualmachines","singularName":"virtualmachine","kind":"VirtualMachine"},{"name":"virtualmachines/scale","group":"autoscaling","version":"v1","kind":"Scale"}]}`,
			`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"internal.virt.example/v1","resources":[{"name":"internalvirtualmachines","singularName":"internalvirtualmachine","kind":"InternalVirtualMachine"},{"name":"internalvirtualmachines/scale","group":"autoscaling","version":"v1","kind":"Scale"}]}`},
		{"aggregated discovery", `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"kubevirt.io"},"versions":[{"version":"v1","resources":[{"resource":"virtualmachines","responseKind":{"group":"kubevirt.io","version":"v1","kind":"VirtualMachine"},"singularResource":"virtualmachine"}]}]}]}`,
			`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"internal.virt.example"},"versions":[{"version":"v1","resources":[{"resource":"internalvirtualmachines","responseKind":{"group":"internal.virt.example","version":"v1","kind":"InternalVirtualMachine"},"singularResource":"internalvirtualmachine"}]}]}]}`},
		{"list", `{"apiVersion":"kubevirt.io/v1","items":[ {"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"} ,{"a":"\ud800"}],"kind":"VirtualMachineList","metadata":{"continue":"x"}}` + "\n",
			`{"apiVersion":"internal.virt.example/v1","items":[ {"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine"} ,{"a":"\ud800"}],"kind":"InternalVirtualMachineList","metadata":{"continue":"x"}}` + "\n"},
		{"admission review", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"kind":{"group":"kubevirt.io","version":"v1","kind":"VirtualMachine"},"resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachines"},"object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"}}}`,
			`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"kind":{"group":"internal.virt.example","version":"v1","kind":"InternalVirtualMachine"},"resource":{"group":"internal.virt.example","version":"v1","resource":"internalvirtualmachines"},"object":{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine"}}}`},
		{"strategic merge", `{"metadata":{"$setElementOrder/finalizers":["kubevirt.io/a"],"labels":{"kubevirt.io/os":null}}}`, `{"metadata":{"$setElementOrder/finalizers":["internal.virt.example/a"],"labels":{"internal.virt.example/os":null}}}`},
		{"duplicate names", `{"kind":"VirtualMachine","apiVersion":"v1","apiVersion":"kubevirt.io/v1"}`, `{"kind":"InternalVirtualMachine","apiVersion":"v1","apiVersion":"internal.virt.example/v1"}`},
		{"what a client applied", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachine\",\"x\":\"\\u003c\"}\n"}}}`,
			`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"internal.virt.example/v1\",\"kind\":\"InternalVirtualMachine\",\"x\":\"\\u003c\"}\n"}}}`},
		{"selector as text", `{"status":{"selector":"kubevirt.io/a=kubevirt.io, !kubevirt.io/b,kubevirt.io in (kubevirt.io,x) ,a!=b"},"labelSelector":"kubevirt.io/a in (","selector":{"kubevirt.io/c":"kubevirt.io/d=e"}}`,
			`{"status":{"selector":"internal.virt.example/a=kubevirt.io, !internal.virt.example/b,internal.virt.example in (kubevirt.io,x) ,a!=b"},"labelSelector":"kubevirt.io/a in (","selector":{"internal.virt.example/c":"kubevirt.io/d=e"}}`},
		{"surrogate in a key", `{"labels":{"kubevirt.io/\ud800":1}}`, `{"labels":{"internal.virt.example/\ud800":1}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := r.Body("application/json", []byte(row.client), Target{}, ToServer)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(got)).To(Equal(row.server))
			back, err := io.ReadAll(r.Answer(strings.NewReader(row.server), Target{API: true}, Largest))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(back)).To(Equal(row.client))
			slow, err := io.ReadAll(r.Answer(iotest.OneByteReader(strings.NewReader(row.server)), Target{API: true}, Largest))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(slow)).To(Equal(row.client), "in pieces of one byte")
			for cut := range len(strings.TrimSpace(row.server)) {
				if _, err := io.ReadAll(r.Answer(strings.NewReader(row.server[:cut]), Target{API: true}, Largest)); cut > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("cut after %d bytes, the answer ends with %v", cut, err)
				}
			}
		})
	}
}

// TestEscapedNames: a name with an escape sequence is renamed.
func TestEscapedNames(t *testing.T) {
	g := NewWithT(t)
	got, err := testRules(t).Body("", []byte(`{"\u0061piVersion":"\u006bubevirt.io\/v1","kind":"VirtualMachine","labels":{"kubevirt.io\u002fos":"x"}}`), Target{}, ToServer)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal(`{"\u0061piVersion":"internal.virt.example\/v1","kind":"InternalVirtualMachine","labels":{"internal.virt.example\u002fos":"x"}}`))
}

func TestPatches(t *testing.T) {
	vm := Target{API: true, Group: "kubevirt.io", Resource: "virtualmachines", Name: "a"}
	crd := Target{API: true, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "virtualmachines.kubevirt.io"}
	for _, row := range []struct {
		contentType string
		target      Target
		body, want  string
	}{
		{JSONPatch, vm, `[{"op":"add","path":"/metadata/labels/kubevirt.io~1os","value":"kubevirt.io/x"},{"op":"move","from":"/metadata/annotations/kubevirt.io~1a~0b","path":"/metadata/annotations/b"}]`,
			`[{"op":"add","path":"/metadata/labels/internal.virt.example~1os","value":"kubevirt.io/x"},{"op":"move","from":"/metadata/annotations/internal.virt.example~1a~0b","path":"/metadata/annotations/b"}]`},
		{JSONPatch, vm, `[{"op":"add","path":"/metadata/labels","value":{"kubevirt.io/os":"x"}},{"op":"add","path":"/metadata/finalizers/-","value":"kubevirt.io/f"},{"op":"add","path":"/metadata/finalizers","value":["kubevirt.io/f"]}]`,
			`[{"op":"add","path":"/metadata/labels","value":{"internal.virt.example/os":"x"}},{"op":"add","path":"/metadata/finalizers/-","value":"internal.virt.example/f"},{"op":"add","path":"/metadata/finalizers","value":["internal.virt.example/f"]}]`},
		{JSONPatch, vm, `[{"op":"test","path":"/apiVersion","value":"kubevirt.io/v1"},{"op":"test","path":"/kind","value":"VirtualMachine"},{"op":"add","path":"/metadata/ownerReferences/-","value":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"}}]`,
			`[{"op":"test","path":"/apiVersion","value":"internal.virt.example/v1"},{"op":"test","path":"/kind","value":"InternalVirtualMachine"},{"op":"add","path":"/metadata/ownerReferences/-","value":{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine"}}]`},
		{JSONPatch, vm, `[{"op":"add","path":"/status/labelSelector","value":"kubevirt.io/a=b"}]`, `[{"op":"add","path":"/status/labelSelector","value":"internal.virt.example/a=b"}]`},
		{JSONPatch, vm, `[{"op":"test","path":"/kind","value":"VirtualMachine"}]`, `[{"op":"test","path":"/kind","value":"InternalVirtualMachine"}]`},
		{JSONPatch, vm, `[{"op":"replace","path":"/spec/tolerations/0/key","value":"kubevirt.io/a"}]`, `[{"op":"replace","path":"/spec/tolerations/0/key","value":"internal.virt.example/a"}]`},
		{JSONPatch, vm, `[{"op":"add","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachine\"}"}]`,
			`[{"op":"add","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"{\"apiVersion\":\"internal.virt.example/v1\",\"kind\":\"InternalVirtualMachine\"}"}]`},
		{ApplyPatch, vm, "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  labels: {kubevirt.io/os: x}\n",
			`{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine","metadata":{"labels":{"internal.virt.example/os":"x"}}}`},
		{ApplyPatch, vm, "apiVersion: v1\n", "apiVersion: v1\n"},
		{ApplyPatch, vm, `{"apiVersion":"kubevirt\u002eio/v1"}`, `{"apiVersion":"internal.virt.example/v1"}`},
		{ApplyPatch, vm, `apiVersion: "kubevirt\x2eio/v1"`, `{"apiVersion":"internal.virt.example/v1"}`},
		{ApplyPatch, vm, `a: "\n"`, `a: "\n"`},
		{"application/merge-patch+json", crd, `{"spec":{"names":{"kind":"VirtualMachine"}}}`, `{"spec":{"names":{"kind":"InternalVirtualMachine"}}}`},
		{"application/merge-patch+json", vm, `{"kind" kubevirt.io`, `{"kind" kubevirt.io`},
	} {
		got, err := testRules(t).Body(row.contentType, []byte(row.body), row.target, ToServer)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(string(got)).To(Equal(row.want))
	}
}

// TestAdmissionPatch: a webhook's patch is renamed within its base64.
func TestAdmissionPatch(t *testing.T) {
	g := NewWithT(t)
	review := func(patch string) string {
		return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(patch)) + `"}}`
	}
	// The review itself has no word of the rules: only the patch has.
	got, err := testRules(t).Body("application/json", []byte(review(`[{"op":"add","path":"/metadata/labels/kubevirt.io~1os","value":"x"}]`)), Target{}, ToServer)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal(review(`[{"op":"add","path":"/metadata/labels/internal.virt.example~1os","value":"x"}]`)))
}

func TestPathsAndQueries(t *testing.T) {
	r := testRules(t)
	for _, row := range []struct{ path, want, query, wantQuery string }{
		{"/apis/kubevirt.io/v1/namespaces/a/virtualmachines/b/status", "/apis/internal.virt.example/v1/namespaces/a/internalvirtualmachines/b/status", "watch=1", "watch=1"},
		{"/apis/kubevirt.io/v1/virtualmachines", "/apis/internal.virt.example/v1/internalvirtualmachines", "labelSelector=kubevirt.io%2Fos%3Dlinux%2Ca", "labelSelector=internal.virt.example%2Fos%3Dlinux%2Ca"},
		{"/apis/kubevirt.io", "/apis/internal.virt.example", "", ""},
		{"/apis/subresources.kubevirt.io/v1/version", "/apis/subresources.internal.virt.example/v1/version", "", ""},
		{"/apis/kubevirt.io/v1/watch/namespaces/a/virtualmachines", "/apis/internal.virt.example/v1/watch/namespaces/a/internalvirtualmachines", "", ""},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/virtualmachines.kubevirt.io", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/internalvirtualmachines.internal.virt.example", "", ""},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "fieldSelector=metadata.name%3dvirtualmachines.kubevirt.io", "fieldSelector=metadata.name%3Dinternalvirtualmachines.internal.virt.example"},
		{"/apis/apiregistration.k8s.io/v1/apiservices/v1.subresources.kubevirt.io", "/apis/apiregistration.k8s.io/v1/apiservices/v1.subresources.internal.virt.example", "", ""},
		{"/api/v1/namespaces/a%2Fb/pods/c%20d/proxy/apis/kubevirt.io", "/api/v1/namespaces/a%2Fb/pods/c%20d/proxy/apis/kubevirt.io", "labelSelector=%21%21", "labelSelector=%21%21"},
		{"/api/v1/namespaces/kubevirt.io/status", "/api/v1/namespaces/kubevirt.io/status", "x=kubevirt.io", "x=kubevirt.io"},
		{"/api/v1/events", "/api/v1/events", "fieldSelector=involvedObject.kind%3DVirtualMachine%2CinvolvedObject.apiVersion%3Dkubevirt.io%2Fv1", "fieldSelector=involvedObject.apiVersion%3Dinternal.virt.example%2Fv1%2CinvolvedObject.kind%3DInternalVirtualMachine"},
		{"/api/v1/events", "/api/v1/events", "fieldSelector=involvedObject.kind%3DVirtualMachine", "fieldSelector=involvedObject.kind%3DInternalVirtualMachine"},
		{"/api/v1/events", "/api/v1/events", "fieldSelector=involvedObject.apiVersion%3Dv1%2CinvolvedObject.kind%3DVirtualMachine", "fieldSelector=involvedObject.apiVersion%3Dv1%2CinvolvedObject.kind%3DVirtualMachine"},
		{"/openapi/v3/apis/kubevirt.io/v1", "/openapi/v3/apis/kubevirt.io/v1", "", ""},
	} {
		path, target := r.Path(row.path)
		query, _ := r.Query(row.query, target)
		if strings.Contains(row.query, "involvedObject") { // The order of its parts has no meaning.
			query = strings.Join(sorted(strings.Split(strings.TrimPrefix(query, "fieldSelector="), "%2C")), "%2C")
			row.wantQuery = strings.TrimPrefix(row.wantQuery, "fieldSelector=")
		}
		if path != row.want || query != row.wantQuery {
			t.Errorf("%s?%s is %s?%s", row.path, row.query, path, query)
		}
	}
	for query, want := range map[string]bool{"watch=true": true, "watch=1": true, "watch=T": true, "watch": true, "watch=0": false, "watch=False": false, "": false} {
		if _, watch := r.Query(query, Target{}); watch != want {
			t.Errorf("%q is a watch: %v", query, watch)
		}
	}
}

func sorted(all []string) []string {
	if len(all) == 2 && all[0] > all[1] {
		all[0], all[1] = all[1], all[0]
	}
	return all
}

func TestStatusAndTables(t *testing.T) {
	r := testRules(t)
	crds := Target{API: true, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	for _, row := range []struct {
		target       Target
		server, want string
	}{
		{Target{API: true}, `{"kind":"Status","apiVersion":"v1","message":"internalvirtualmachines.internal.virt.example \"a\" not found, InternalVirtualMachine.internal.virt.example is invalid","details":{"group":"internal.virt.example","kind":"internalvirtualmachines","causes":[{"message":"no InternalVirtualMachine"}]}}`,
			`{"kind":"Status","apiVersion":"v1","message":"virtualmachines.kubevirt.io \"a\" not found, VirtualMachine.kubevirt.io is invalid","details":{"group":"kubevirt.io","kind":"virtualmachines","causes":[{"message":"no VirtualMachine"}]}}`},
		{crds, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["internalvirtualmachines.internal.virt.example","x"],"object":{"kind":"PartialObjectMetadata","metadata":{"name":"internalvirtualmachines.internal.virt.example"}}}]}`,
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["virtualmachines.kubevirt.io","x"],"object":{"kind":"PartialObjectMetadata","metadata":{"name":"virtualmachines.kubevirt.io"}}}]}`},
		{crds, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"internalvirtualmachines.internal.virt.example"}}]}`,
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"virtualmachines.kubevirt.io"}}]}`},
		{Target{API: true, Resource: "events"}, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["internalvirtualmachine/a"],"object":null}]}`, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["virtualmachine/a"],"object":null}]}`},
		{Target{API: true, Resource: "events", Watch: true}, `{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["internalvirtualmachine/a"]}]}}`, `{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["virtualmachine/a"]}]}}`},
		{Target{API: true, Group: "apps", Resource: "controllerrevisions"}, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["x","internalvirtualmachine.internal.virt.example/a"]}]}`,
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["x","virtualmachine.kubevirt.io/a"]}]}`},
		{Target{API: true, Resource: "configmaps", Watch: true}, `{"type":"ADDED","object":{"kind":"Table","metadata":{},"rows":[{"cells":["kubevirt-leader"],"object":{"metadata":{"name":"kubevirt-leader"}}}]}}`, ""},
		{Target{API: true, Resource: "configmaps"}, `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"kubevirt-leader"}},{"metadata":{"name":"a"}},{"metadata":{"name":"kubevirt-leader"}}, {"metadata":{"name":"b"}}]}`,
			`{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}, {"metadata":{"name":"b"}}]}`},
		{Target{API: true, Resource: "configmaps"}, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["kubevirt-leader"],"object":{"metadata":{"name":"kubevirt-leader"}}}]}`, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`},
		{Target{API: true, Resource: "configmaps"}, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["kubevirt-leader"],"object":null},{"cells":["a"]}]}`, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["a"]}]}`},
		{crds, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["internalvirtualmachines.internal.virt.example"],"object":null}]}`, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["virtualmachines.kubevirt.io"],"object":null}]}`},
		{Target{API: true}, "<html>internal.virt.example</html>", "<html>internal.virt.example</html>"},
		{Target{API: true}, "", ""},
	} {
		got, err := io.ReadAll(r.Answer(strings.NewReader(row.server), row.target, Largest))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(string(got)).To(Equal(row.want))
	}
}

// TestWatch: events are renamed one by one, without buffering, each on its own line.
func TestWatch(t *testing.T) {
	g := NewWithT(t)
	in, out := io.Pipe()
	reader := testRules(t).Answer(in, Target{API: true, Watch: true, Resource: "configmaps"}, Largest)
	read := make([]byte, 4096)
	for _, row := range []struct{ event, want string }{
		{`{"type":"ADDED","object":{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine"}}` + "\n", `{"type":"ADDED","object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"}}` + "\n"},
		{`{"type":"ADDED","object":{"metadata":{"name":"kubevirt-leader"}}}` + "\n" + `{"type":"BOOKMARK","object":{"kind":"ConfigMap"}}` + "\n", `{"type":"BOOKMARK","object":{"kind":"ConfigMap"}}` + "\n"},
	} {
		go func() { _, _ = io.WriteString(out, row.event) }()
		n, err := reader.Read(read)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(read[:n])).To(Equal(row.want))
	}
	go func() { _, _ = io.WriteString(out, `{"type":"ADDED"`); _ = out.Close() }()
	_, err := reader.Read(read)
	g.Expect(err).To(MatchError(io.ErrUnexpectedEOF))
}

// TestLimits: depth and size are limited, and so is the memory to that of one item.
func TestLimits(t *testing.T) {
	g := NewWithT(t)
	r := testRules(t)
	deep := strings.Repeat(`{"a":[`, 500) + `{"apiVersion":"internal.virt.example/v1"}` + strings.Repeat(`]}`, 500)
	got, err := io.ReadAll(r.Answer(strings.NewReader(deep), Target{API: true}, Largest))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(ContainSubstring(`"kubevirt.io/v1"`))
	large := `{"kind":"PodList","apiVersion":"v1","items":[{"a":"` + strings.Repeat("x", 300_000) + `"}]}`
	for _, text := range []string{large, strings.Replace(large, "items", "other", 1)} {
		_, err = io.ReadAll(r.Answer(strings.NewReader(text), Target{API: true}, 200_000))
		g.Expect(err).To(MatchError(ErrTooLarge))
	}
	item := `{"metadata":{"name":"a","labels":{"internal.virt.example/os":"x"}},"x":"` + strings.Repeat("x", 900) + `"}`
	list := `{"kind":"PodList","apiVersion":"v1","items":[` + strings.Repeat(item+",", 20_000) + item + "]}"
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := io.Copy(io.Discard, r.Answer(strings.NewReader(list), Target{API: true}, Largest)); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	g.Expect(allocated).To(BeNumerically("<", 2<<20), "of a list of %d bytes", len(list))
}

// TestRefusedRules: the error for invalid rules begins with the file and the line.
func TestRefusedRules(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "f:1: the file has no rules",
		"a: [":                   "f: line 1",
		"groups: []":             "f:1: version is missing",
		"version: 2":             `f:1: version "2" is unknown`,
		"version: 1\nmore: 1":    "f:2: unknown field more",
		"version: 1\nversion: 1": "set twice",
		"version: 1\ngroups:\n- {client: a.b, server: c.d, resources: {vms: VM}}\n- {client: c.d, server: e.f}":                  "f:4: group c.d has a rule already",
		"version: 1\ngroups:\n- {client: A.b, server: c.d}":                                                                      "lower case",
		"version: 1\ngroups:\n- {client: apps, server: c.d}":                                                                     "belongs to Kubernetes itself",
		"version: 1\ngroups:\n- {client: a.b, server: c.d, kindPrefix: I, resourcePrefix: i, resources: {vms: VM,\n ivms: IVM}}": "not one-to-one",
		"version: 1\ngroups:\n- {client: a.b, server: c.d}":                                                                      "f:3: group a.b: want resources",
		"version: 1\ngroups:\n- {client: a.b, server: c.d, resources: {}}":                                                       "f:3: group a.b: want resources",
		"version: 1\ngroups:\n- {client: a.b, server: c.d, resources: {vms: VM,\n others: VM}}":                                  "f:4: kind VM of group a.b has a resource already",
		"version: 1\ngroups: []": "f:1: the rules rename nothing",
		"version: 1\nhide: [{group: '', resource: ConfigMap, name: a}]":               "f:2: hide: want a resource in lower case",
		"version: 1\nkeys:\n- {client: a/, server: b}":                                "f:3: key",
		"version: 1\nkeys:\n- {client: a/, server: b/}\n- {client: a/x, server: c/x}": "f:4: key a/x overlaps",
		"version: 1\nkeys:\n- {client: a/x, server: c/x}\n- {client: a/, server: b/}": "f:4: key a overlaps",
		"version: 1\nhide: [{group: '', resource: pods}]":                             "f:2: hide",
		"version: 1\nwebhooks: {/a: /c, /b: /c}":                                      "f:2: webhook path /b or /c",
		"version: 1\ngroups: [{client: a.b, server: c.d, resources: {x: [1]}}]":       "f:2: resource",
		"version: 1\ngroups: {}":                                                      "f:2: want a list",
	} {
		_, err := Parse("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzRoundTrip: a document that is renamed for the server and back is the same, byte for byte.
func FuzzRoundTrip(f *testing.F) {
	r := testRules(f)
	f.Add([]byte(`{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"labels":{"kubevirt.io/a":"b"}}}`))
	f.Add([]byte(`{"kind":"RoleList","apiVersion":"v1","items":[{"rules":[{"apiGroups":["kubevirt.io"],"resources":["virtualmachines/x"]}]}]}`))
	f.Add([]byte(`{"group":"internal.virt.example","kind":"VirtualMachine","resource":"internalvirtualmachines","fieldsV1":{"f:kubevirt.io/x":{},"v:\"kubevirt.io/x\"":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.IndexByte(text, '\\') >= 0 || bytes.Contains(text, []byte("Status")) || bytes.Contains(text, []byte("Table")) {
			return // An escape in a name has another spelling afterwards. Messages for people do not come back.
		}
		there, err := r.Body("application/json", text, Target{}, ToServer)
		if err != nil {
			return
		}
		back, err := r.Body("application/json", there, Target{}, ToClient)
		if err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%s is %s there, and %s back: %v", text, there, back, err)
		}
	})
}

// FuzzAnswer: no answer causes a panic, and the sizes of reads do not matter.
func FuzzAnswer(f *testing.F) {
	r := testRules(f)
	f.Add([]byte(`{"apiVersion":"internal.virt.example/v1","items":[{"a":1},[2],3 ],"kind":"InternalVirtualMachineList"}`), false)
	f.Add([]byte(`{"apiVersion":"v1","kind":"PodList","items":[}`), false)
	f.Add([]byte(`{"type":"ADDED","object":{"kind":"Status","apiVersion":"v1","message":"internal.virt.example"}}`+"\n"), true)
	f.Add([]byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["a"],"object":{}}]}`), false)
	f.Fuzz(func(t *testing.T, text []byte, watch bool) {
		// The fuzzer itself has no limit of time for one input. The slowest one takes milliseconds.
		hung := time.AfterFunc(5*time.Minute, func() { panic(fmt.Sprintf("hangs, watch %v: %q", watch, text)) })
		defer hung.Stop()
		target := Target{API: true, Resource: "configmaps", Watch: watch}
		whole, err := io.ReadAll(r.Answer(bytes.NewReader(text), target, 1<<20))
		pieces, err2 := io.ReadAll(r.Answer(iotest.OneByteReader(bytes.NewReader(text)), target, 1<<20))
		if (err == nil) != (err2 == nil) || err == nil && !bytes.Equal(whole, pieces) {
			t.Fatalf("%q and %q: %v, %v", whole, pieces, err, err2)
		}
	})
}

func BenchmarkList(b *testing.B) {
	r := testRules(b)
	item := `{"apiVersion":"%[1]s/v1","kind":"InternalVirtualMachine","metadata":{"name":"worker-1","namespace":"clusters-blue","resourceVersion":"1","labels":{"%[1]s/os":"linux","%[1]s/nodePool":"blue","app":"worker"},"annotations":{"%[1]s/version":"v1"},"finalizers":["%[1]s/foreground"],` +
		`"ownerReferences":[{"apiVersion":"%[1]s/v1","kind":"InternalVirtualMachine","name":"worker-1","uid":"1c0de5a1-93aa-4c38-8f1e-000000000001","controller":true}]},` +
		`"spec":{"domain":{"cpu":{"cores":4,"sockets":1,"threads":1},"memory":{"guest":"16Gi"},"devices":{"interfaces":[{"name":"default","bridge":{},"macAddress":"02:00:00:00:00:01"}]}}},` +
		`"status":{"phase":"Running","nodeName":"node-1","message":"` + strings.Repeat("x", 100) + `"}}`
	for name, group := range map[string]string{"renamed": "internal.virt.example", "untouched": "other.example"} {
		list := `{"kind":"PodList","apiVersion":"v1","items":[` + strings.Repeat(fmt.Sprintf(item, group)+",", 30_000) + "{}]}"
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(list)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := io.Copy(io.Discard, r.Answer(strings.NewReader(list), Target{API: true}, Largest)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
