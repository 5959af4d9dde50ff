package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/test/programs"
)

// kubectlPatches: kubectl creates, describes and edits objects, with each kind of patch.
func (w world) kubectlPatches(t *testing.T) {
	g := NewWithT(t)
	const manifest = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: p, namespace: default, labels: {kubevirt.io/a: '1'}}\n"
	g.Expect(w.runKubectl(t, manifest, "create", "--validate=false", "-f", "-")).To(Equal("virtualmachine.kubevirt.io/p created\n"))
	g.Expect(w.runKubectl(t, manifest, "create", "--validate=false", "-f", "-")).To(ContainSubstring(`virtualmachines.kubevirt.io "p" already exists`))
	g.Expect(w.runKubectl(t, manifest, "diff", "-f", "-")).To(BeEmpty(), "nothing differs")
	g.Expect(w.runKubectl(t, "", "patch", "vm", "p", "--type", "merge", "-p", `{"metadata":{"labels":{"kubevirt.io/b":"2"}}}`)).To(Equal("virtualmachine.kubevirt.io/p patched\n"))
	g.Expect(w.runKubectl(t, "", "patch", "vm", "p", "--type", "json", "-p", `[{"op":"test","path":"/metadata/labels/kubevirt.io~1a","value":"1"},{"op":"move","from":"/metadata/labels/kubevirt.io~1a","path":"/metadata/labels/kubevirt.io~1c"}]`)).To(Equal("virtualmachine.kubevirt.io/p patched\n"))
	g.Expect(w.runKubectl(t, "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: p, namespace: default, labels: {kubevirt.io/d: '4'}}\n", "apply", "--server-side", "--validate=false", "-f", "-")).To(Equal("virtualmachine.kubevirt.io/p serverside-applied\n"))
	g.Expect(w.runKubectl(t, "", "annotate", "vm", "p", "kubevirt.io/e=5", "other=a")).To(Equal("virtualmachine.kubevirt.io/p annotated\n"))
	at := w.stored(t, vms("internal.virt.example", "internalvirtualmachines"), "p")
	g.Expect(at.GetLabels()).To(Equal(map[string]string{"internal.virt.example/b": "2", "internal.virt.example/c": "1", "internal.virt.example/d": "4"}))
	g.Expect(at.GetAnnotations()).To(Equal(map[string]string{"internal.virt.example/e": "5", "other": "a"}))
	g.Expect(w.runKubectl(t, "", "get", "vm", "p", "--show-labels", "--no-headers")).To(MatchRegexp(`^p +\S+ +kubevirt.io/b=2,kubevirt.io/c=1,kubevirt.io/d=4\n$`))
	g.Expect(w.runKubectl(t, "", "describe", "vm", "p")).To(And(MatchRegexp(`(?m)^Kind: +VirtualMachine$`), MatchRegexp(`(?m)^API Version: +kubevirt.io/v1$`),
		MatchRegexp(`(?m)kubevirt.io/b=2$`), Not(ContainSubstring("nternalv")), Not(ContainSubstring("internal."))))

	// Only kinds of Kubernetes itself have strategic merge patches.
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", OwnerReferences: []metav1.OwnerReference{{APIVersion: "internal.virt.example/v1", Kind: "InternalVirtualMachine", Name: "p", UID: at.GetUID()}}}}
	g.Expect(w.Admin.Create(t.Context(), owned)).To(Succeed())
	g.Expect(w.runKubectl(t, "", "patch", "configmap", "p", "--type", "strategic", "-p", `{"metadata":{"finalizers":["kubevirt.io/f"],"ownerReferences":[{"uid":"`+string(at.GetUID())+`","apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"p","controller":true}]}}`)).To(Equal("configmap/p patched\n"))
	patched := w.stored(t, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "p")
	g.Expect(patched.GetFinalizers()).To(Equal([]string{"internal.virt.example/f"}))
	g.Expect(patched.GetOwnerReferences()).To(HaveExactElements(And(HaveField("Kind", "InternalVirtualMachine"), HaveField("APIVersion", "internal.virt.example/v1"))))
	g.Expect(w.runKubectl(t, "", "get", "configmap", "p", "-o", "json")).To(And(ContainSubstring(`"kind": "VirtualMachine"`), ContainSubstring(`"kubevirt.io/f"`)))
	g.Expect(w.runKubectl(t, "", "patch", "vm", "p", "--type", "strategic", "-p", `{}`)).To(Not(ContainSubstring("nternalv")))
	g.Expect(w.runKubectl(t, "", "delete", "vm", "-l", "kubevirt.io/d=4")).To(Equal("virtualmachine.kubevirt.io \"p\" deleted from default namespace\n"))
}

const pythonClient = `
import json, sys
from kubernetes import client, config, watch
config.load_kube_config(sys.argv[1])
vms, core = client.CustomObjectsApi(), client.CoreV1Api()
of = ("kubevirt.io", "v1", "default", "virtualmachines")
made = vms.create_namespaced_custom_object(*of, body={"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "python", "labels": {"kubevirt.io/client": "python"}}})
listed = vms.list_namespaced_custom_object(*of, label_selector="kubevirt.io/client=python")
patched = vms.patch_namespaced_custom_object(*of, name="python", body={"metadata": {"labels": {"kubevirt.io/os": "linux"}}})
for event in watch.Watch().stream(vms.list_namespaced_custom_object, *of, label_selector="kubevirt.io/client=python", resource_version=listed["metadata"]["resourceVersion"], timeout_seconds=60):
    seen = [event["type"], event["object"]["kind"], event["object"]["metadata"]["labels"]]
    break
owner = client.V1OwnerReference(api_version="kubevirt.io/v1", kind="VirtualMachine", name="python", uid=made["metadata"]["uid"])
owned = core.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name="python", owner_references=[owner])))
owned = core.patch_namespaced_config_map("python", "default", [{"op": "add", "path": "/metadata/labels", "value": {"kubevirt.io/a": "1"}}])
try:
    vms.get_namespaced_custom_object(*of, name="none")
except client.ApiException as e:
    missing = json.loads(e.body)["message"]
print(json.dumps([listed["kind"], [v["kind"] for v in listed["items"]], patched["metadata"]["labels"], seen, owned.metadata.owner_references[0].kind, owned.metadata.labels, missing]))
`

// python: Python's Kubernetes client creates, lists, patches and watches.
func (w world) python(t *testing.T) {
	g := NewWithT(t)
	python, modules := programs.RequirePythonModules(t, "python3-kubernetes", "python3-cachetools", "python3-certifi", "python3-chardet", "python3-dateutil", "python3-google-auth", "python3-idna", "python3-oauthlib",
		"python3-pyasn1", "python3-pyasn1-modules", "python3-requests", "python3-requests-oauthlib", "python3-rsa", "python3-six", "python3-urllib3", "python3-websocket", "python3-yaml")
	c := exec.CommandContext(t.Context(), python, "-c", pythonClient, w.proxied)
	c.Env, c.Stderr = append(os.Environ(), modules, "HOME="+t.TempDir()), t.Output()
	out, err := c.Output()
	g.Expect(err).NotTo(HaveOccurred())
	var said []any
	g.Expect(json.Unmarshal(out, &said)).To(Succeed())
	labels := map[string]any{"kubevirt.io/client": "python", "kubevirt.io/os": "linux"}
	g.Expect(said).To(Equal([]any{"VirtualMachineList", []any{"VirtualMachine"}, labels, []any{"MODIFIED", "VirtualMachine", labels}, "VirtualMachine", map[string]any{"kubevirt.io/a": "1"}, `virtualmachines.kubevirt.io "none" not found`}))
	g.Expect(w.stored(t, vms("internal.virt.example", "internalvirtualmachines"), "python").GetLabels()).To(Equal(map[string]string{"internal.virt.example/client": "python", "internal.virt.example/os": "linux"}))
	g.Expect(w.stored(t, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "python").GetLabels()).To(Equal(map[string]string{"internal.virt.example/a": "1"}))
}
