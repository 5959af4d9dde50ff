package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/apiserver"
)

// renamed is KubeVirt as the platform serves it.
const renamed = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: internalvirtualmachines.internal.virt.example}
spec:
  group: internal.virt.example
  scope: Namespaced
  names: {plural: internalvirtualmachines, singular: internalvirtualmachine, kind: InternalVirtualMachine, listKind: InternalVirtualMachineList, shortNames: [vm]}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: internalvirtualmachineinstances.internal.virt.example}
spec:
  group: internal.virt.example
  scope: Namespaced
  names: {plural: internalvirtualmachineinstances, singular: internalvirtualmachineinstance, kind: InternalVirtualMachineInstance, listKind: InternalVirtualMachineInstanceList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// A world is a real API server that serves KubeVirt under another name, and a proxy in front of it.
type world struct {
	*apiserver.Server
	proxied    string // kubeconfig through the proxy
	direct     dynamic.Interface
	proxy      running
	kubectlBin string
}

func vms(group, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}

func newWorld(t *testing.T) world {
	t.Helper()
	g := NewWithT(t)
	s := apiserver.Start(t, nil)
	s.Apply(t, []byte(renamed))
	config := s.Env.Config
	kubeconfig := filepath.Join(t.TempDir(), "admin")
	g.Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "a", Contexts: map[string]*clientcmdapi.Context{"a": {Cluster: "a", AuthInfo: "a"}},
		Clusters:  map[string]*clientcmdapi.Cluster{"a": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"a": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
	}, kubeconfig)).To(Succeed())
	w := world{Server: s, kubectlBin: filepath.Join(s.Env.BinaryAssetsDirectory, "kubectl")}
	w.proxy, w.proxied = sidecar(t, "--kubeconfig", kubeconfig)
	var err error
	w.direct, err = dynamic.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error {
		for _, plural := range []string{"internalvirtualmachines", "internalvirtualmachineinstances"} {
			if _, err := w.direct.Resource(vms("internal.virt.example", plural)).List(t.Context(), metav1.ListOptions{}); err != nil {
				return err
			}
		}
		return nil
	}, time.Minute).Should(Succeed())
	return w
}

// TestRealAPIServer: clients that know kubevirt.io only, and a real API server that does not have it.
func TestRealAPIServer(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		name string
		test func(*testing.T)
	}{
		{"typed client", w.typed}, {"list and watch", w.listAndWatch}, {"patches", w.patches}, {"rights", w.rights}, {"definitions", w.definitions},
		{"discovery", w.discovery}, {"kubectl", w.kubectl}, {"manager", w.manager}, {"kubectl get -w", w.kubectlWatch}, {"webhook", w.webhook},
		{"kubectl patch", w.kubectlPatches}, {"Python", w.python},
	} {
		t.Run(row.name, row.test)
	}
}

func vm(name string) *kubevirtv1.VirtualMachine {
	return &kubevirtv1.VirtualMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachine"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"kubevirt.io/os": "linux"}, Finalizers: []string{"kubevirt.io/fin"}},
		Spec:       kubevirtv1.VirtualMachineSpec{Template: &kubevirtv1.VirtualMachineInstanceTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kubevirt.io/domain": name}}}},
	}
}

// stored is an object as the API server has it, without its managedFields' times.
func (w world) stored(t *testing.T, r schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := w.direct.Resource(r).Namespace("default").Get(t.Context(), name, metav1.GetOptions{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return u
}

// typed: a controller-runtime client with the types of kubevirt.io/api.
func (w world) typed(t *testing.T) {
	g := NewWithT(t)
	c, err := client.New(configOf(t, w.proxied), client.Options{Scheme: apiserver.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	one := vm("typed")
	g.Expect(c.Create(t.Context(), one)).To(Succeed())
	got := w.stored(t, vms("internal.virt.example", "internalvirtualmachines"), "typed")
	g.Expect(got.GetKind()).To(Equal("InternalVirtualMachine"))
	g.Expect(got.GetLabels()).To(Equal(map[string]string{"internal.virt.example/os": "linux"}))
	g.Expect(got.GetFinalizers()).To(Equal([]string{"internal.virt.example/fin"}))
	labels, _, _ := unstructured.NestedStringMap(got.Object, "spec", "template", "metadata", "labels")
	g.Expect(labels).To(Equal(map[string]string{"internal.virt.example/domain": "typed"}))

	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(one), one)).To(Succeed())
	g.Expect(one.Labels).To(Equal(map[string]string{"kubevirt.io/os": "linux"}))
	one.Labels["kubevirt.io/os"] = "other"
	g.Expect(c.Update(t.Context(), one)).To(Succeed())
	one.Status.Ready = true
	g.Expect(c.Status().Update(t.Context(), one)).To(Succeed())

	// An owned object of a built-in kind.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "virt-launcher", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(one, schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachine"})}},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"kubevirt.io/schedulable": "true"}, Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
	g.Expect(c.Create(t.Context(), pod)).To(Succeed())
	at := w.stored(t, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "virt-launcher")
	g.Expect(at.GetOwnerReferences()[0].APIVersion).To(Equal("internal.virt.example/v1"))
	g.Expect(at.GetOwnerReferences()[0].Kind).To(Equal("InternalVirtualMachine"))
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	g.Expect(metav1.IsControlledBy(pod, one)).To(BeTrue())
	g.Expect(pod.OwnerReferences[0].Kind).To(Equal("VirtualMachine"))
	g.Expect(pod.Spec.NodeSelector).To(Equal(map[string]string{"kubevirt.io/schedulable": "true"}))

	missing := c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "none"}, vm("none"))
	g.Expect(missing).To(MatchError(`virtualmachines.kubevirt.io "none" not found`))
	var all kubevirtv1.VirtualMachineList
	g.Expect(c.List(t.Context(), &all, client.MatchingLabels{"kubevirt.io/os": "other"})).To(Succeed())
	g.Expect(all.Items).To(HaveLen(1))
	one.Finalizers = nil
	g.Expect(c.Update(t.Context(), one)).To(Succeed())
	g.Expect(c.Delete(t.Context(), one)).To(Succeed())
}

// listAndWatch: pages, and a watch with bookmarks.
func (w world) listAndWatch(t *testing.T) {
	g := NewWithT(t)
	c, err := dynamic.NewForConfig(configOf(t, w.proxied))
	g.Expect(err).NotTo(HaveOccurred())
	vmis := c.Resource(vms("kubevirt.io", "virtualmachineinstances")).Namespace("default")
	for _, name := range []string{"a", "b", "c"} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": map[string]any{"name": name}}}
		_, err := vmis.Create(t.Context(), u, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	page, err := vmis.List(t.Context(), metav1.ListOptions{Limit: 2})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(page.GetKind()).To(Equal("VirtualMachineInstanceList"))
	g.Expect(page.Items).To(HaveLen(2))
	rest, err := vmis.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: page.GetContinue()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rest.Items).To(HaveLen(1))
	g.Expect(rest.Items[0].GetKind()).To(Equal("VirtualMachineInstance"))

	sends := true
	events, err := vmis.Watch(t.Context(), metav1.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: &sends, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	g.Expect(err).NotTo(HaveOccurred())
	defer events.Stop()
	for _, want := range []string{"ADDED a", "ADDED b", "ADDED c", "BOOKMARK "} {
		e := <-events.ResultChan()
		u, ok := e.Object.(*unstructured.Unstructured)
		g.Expect(ok).To(BeTrue())
		g.Expect(string(e.Type) + " " + u.GetName()).To(Equal(want))
		g.Expect(u.GroupVersionKind().String()).To(Equal("kubevirt.io/v1, Kind=VirtualMachineInstance"))
	}
	g.Expect(vmis.Delete(t.Context(), "a", metav1.DeleteOptions{})).To(Succeed())
	g.Expect(string((<-events.ResultChan()).Type)).To(Equal("DELETED"))
}

// patches of each kind.
func (w world) patches(t *testing.T) {
	g := NewWithT(t)
	c, err := dynamic.NewForConfig(configOf(t, w.proxied))
	g.Expect(err).NotTo(HaveOccurred())
	of := c.Resource(vms("kubevirt.io", "virtualmachines")).Namespace("default")
	applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
		"metadata": map[string]any{"name": "patched", "labels": map[string]any{"kubevirt.io/a": "1"}}}}
	_, err = of.Apply(t.Context(), "patched", applied, metav1.ApplyOptions{FieldManager: "tester"})
	g.Expect(err).NotTo(HaveOccurred())
	for kind, body := range map[types.PatchType]string{
		types.MergePatchType: `{"metadata":{"labels":{"kubevirt.io/b":"2"}}}`,
		types.JSONPatchType:  `[{"op":"test","path":"/metadata/labels/kubevirt.io~1a","value":"1"},{"op":"add","path":"/metadata/labels/kubevirt.io~1c","value":"3"},{"op":"add","path":"/metadata/annotations","value":{"kubevirt.io/d":"4"}}]`,
		types.ApplyPatchType: "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: patched\n  labels: {kubevirt.io/a: '1', kubevirt.io/e: '5'}\n",
	} {
		options := metav1.PatchOptions{}
		if kind == types.ApplyPatchType {
			options.FieldManager = "tester"
		}
		_, err := of.Patch(t.Context(), "patched", kind, []byte(body), options)
		g.Expect(err).NotTo(HaveOccurred(), string(kind))
	}
	got, err := of.Get(t.Context(), "patched", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.GetLabels()).To(Equal(map[string]string{"kubevirt.io/a": "1", "kubevirt.io/b": "2", "kubevirt.io/c": "3", "kubevirt.io/e": "5"}))
	g.Expect(got.GetAnnotations()).To(Equal(map[string]string{"kubevirt.io/d": "4"}))
	fields, err := json.Marshal(got.GetManagedFields())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(fields)).To(And(ContainSubstring(`"f:kubevirt.io/a"`), ContainSubstring(`"apiVersion":"kubevirt.io/v1"`), Not(ContainSubstring("internal.virt.example"))))
	// Without the label, its manager removes it.
	_, err = of.Apply(t.Context(), "patched", &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": map[string]any{"name": "patched"}}}, metav1.ApplyOptions{FieldManager: "tester"})
	g.Expect(err).NotTo(HaveOccurred())
	at := w.stored(t, vms("internal.virt.example", "internalvirtualmachines"), "patched")
	g.Expect(at.GetLabels()).To(Equal(map[string]string{"internal.virt.example/b": "2", "internal.virt.example/c": "3"}))

	maps := c.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	for _, name := range []string{"shown", "hidden"} {
		_, err := w.direct.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "labels": map[string]any{"internal.virt.example/a": "1"}}}}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	strategic, err := maps.Patch(t.Context(), "shown", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"kubevirt.io/a":null,"kubevirt.io/b":"2"},"finalizers":["kubevirt.io/f"],"$setElementOrder/finalizers":["kubevirt.io/f"]}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strategic.GetLabels()).To(Equal(map[string]string{"kubevirt.io/b": "2"}))
	g.Expect(w.stored(t, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "shown").GetFinalizers()).To(Equal([]string{"internal.virt.example/f"}))
	_, err = maps.Get(t.Context(), "hidden", metav1.GetOptions{})
	g.Expect(err).To(MatchError(ContainSubstring("not found")))
	all, err := maps.List(t.Context(), metav1.ListOptions{LabelSelector: "kubevirt.io/a"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all.Items).To(BeEmpty())
}

// rights: Roles and access reviews, which typed clients send in protobuf.
func (w world) rights(t *testing.T) {
	g := NewWithT(t)
	config := configOf(t, w.proxied)
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	c, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "vms"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"kubevirt.io"}, Resources: []string{"virtualmachines", "virtualmachines/status"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "vms"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "vms"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "eve", APIGroup: "rbac.authorization.k8s.io"}}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	var stored rbacv1.ClusterRole
	g.Expect(w.Admin.Get(t.Context(), types.NamespacedName{Name: "vms"}, &stored)).To(Succeed())
	g.Expect(stored.Rules[0].APIGroups).To(Equal([]string{"internal.virt.example"}))
	g.Expect(stored.Rules[0].Resources).To(Equal([]string{"internalvirtualmachines", "internalvirtualmachines/status"}))
	back, err := c.RbacV1().ClusterRoles().Get(t.Context(), "vms", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Rules[0].Resources).To(Equal([]string{"virtualmachines", "virtualmachines/status"}))
	config.Impersonate.UserName = "eve"
	eve, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	may := func(verb string) bool {
		r, err := eve.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "kubevirt.io", Resource: "virtualmachines", Verb: verb}}}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		return r.Status.Allowed
	}
	g.Eventually(func() bool { return may("get") }, "1m").Should(BeTrue())
	g.Expect(may("delete")).To(BeFalse())
	all, err := eve.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all.Status.ResourceRules).To(ContainElement(HaveField("APIGroups", []string{"kubevirt.io"})))
}

// definitions: a client sees and makes CustomResourceDefinitions under its own names.
func (w world) definitions(t *testing.T) {
	g := NewWithT(t)
	c, err := dynamic.NewForConfig(configOf(t, w.proxied))
	g.Expect(err).NotTo(HaveOccurred())
	crds := c.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	got, err := crds.Get(t.Context(), "virtualmachines.kubevirt.io", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	names, _, _ := unstructured.NestedString(got.Object, "spec", "names", "kind")
	accepted, _, _ := unstructured.NestedString(got.Object, "status", "acceptedNames", "listKind")
	g.Expect([]string{got.GetName(), names, accepted}).To(Equal([]string{"virtualmachines.kubevirt.io", "VirtualMachine", "VirtualMachineList"}))
	one, err := crds.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=virtualmachines.kubevirt.io"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(one.Items).To(HaveLen(1))
	g.Expect(one.Items[0].GetName()).To(Equal("virtualmachines.kubevirt.io"))
	_, err = crds.Patch(t.Context(), "virtualmachines.kubevirt.io", types.MergePatchType, []byte(`{"spec":{"names":{"kind":"VirtualMachine","categories":["all"]}}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	made := apiserver.Objects(t, []byte(renamed))[0]
	made.SetName("others.kubevirt.io")
	g.Expect(unstructured.SetNestedField(made.Object, "kubevirt.io", "spec", "group")).To(Succeed())
	g.Expect(unstructured.SetNestedMap(made.Object, map[string]any{"plural": "others", "singular": "other", "kind": "Other", "listKind": "OtherList"}, "spec", "names")).To(Succeed())
	_, err = crds.Create(t.Context(), made, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
}

// discovery in both forms.
func (w world) discovery(t *testing.T) {
	g := NewWithT(t)
	aggregated, err := discovery.NewDiscoveryClientForConfig(configOf(t, w.proxied))
	g.Expect(err).NotTo(HaveOccurred())
	legacy := *aggregated
	legacy.UseLegacyDiscovery = true
	for name, c := range map[string]*discovery.DiscoveryClient{"aggregated": aggregated, "legacy": &legacy} {
		groups, resources, err := c.ServerGroupsAndResources()
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(groups).To(ContainElement(HaveField("Name", "kubevirt.io")), name)
		g.Expect(groups).NotTo(ContainElement(HaveField("Name", "internal.virt.example")), name)
		found := false
		for _, list := range resources {
			for _, r := range list.APIResources {
				if list.GroupVersion == "kubevirt.io/v1" && r.Name == "virtualmachines" && r.Kind == "VirtualMachine" && r.SingularName == "virtualmachine" {
					found = true
				}
			}
		}
		g.Expect(found).To(BeTrue(), name)
	}
}

// runKubectl returns what kubectl says, with the error if it fails.
func (w world) runKubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), w.kubectlBin, append([]string{"--kubeconfig", w.proxied, "--cache-dir", t.TempDir()}, args...)...)
	c.Stdin, c.Env = bytes.NewBufferString(stdin), append(os.Environ(), "HOME="+t.TempDir())
	out, err := c.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// kubectl: tables, watches, and what it looks up itself.
func (w world) kubectl(t *testing.T) {
	g := NewWithT(t)
	run := func(stdin string, args ...string) string { return w.runKubectl(t, stdin, args...) }
	const manifest = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: k\n  namespace: default\n  labels: {kubevirt.io/os: linux}\n"
	g.Expect(run(manifest, "apply", "--validate=false", "-f", "-")).To(Equal("virtualmachine.kubevirt.io/k created\n"))
	g.Expect(run(manifest+"spec: {running: true}\n", "apply", "--validate=false", "-f", "-")).To(Equal("virtualmachine.kubevirt.io/k configured\n"))
	g.Expect(run(manifest, "apply", "--validate=false", "--server-side", "--force-conflicts", "-f", "-")).To(Equal("virtualmachine.kubevirt.io/k serverside-applied\n"))
	g.Expect(run("", "get", "vm", "k", "-L", "kubevirt.io/os")).To(MatchRegexp(`(?s)NAME +AGE +OS\nk +\S+ +linux\n`))
	g.Expect(run("", "get", "virtualmachines.kubevirt.io", "-l", "kubevirt.io/os=linux", "-o", "name")).To(Equal("virtualmachine.kubevirt.io/k\n"))
	seen := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "k.1"}, Reason: "SeenByKubectl", Type: "Normal",
		InvolvedObject: corev1.ObjectReference{Namespace: "default", Name: "k", APIVersion: "internal.virt.example/v1", Kind: "InternalVirtualMachine"}}
	g.Expect(w.Admin.Create(t.Context(), seen)).To(Succeed())
	g.Expect(run("", "events", "--for", "virtualmachine/k")).To(And(ContainSubstring("SeenByKubectl"), ContainSubstring("VirtualMachine/k"), Not(ContainSubstring("Internal"))))
	g.Expect(run("", "get", "vm", "none")).To(ContainSubstring(`virtualmachines.kubevirt.io "none" not found`))
	g.Expect(run("", "get", "vm", "k", "-o", "json", "--show-managed-fields")).To(And(ContainSubstring(`"f:kubevirt.io/os"`), Not(ContainSubstring("internal.virt.example"))))
	// The API server has written the annotation for kubectl's next apply, with its own names.
	g.Expect(run("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: k, namespace: default, labels: {other: a}}\n", "apply", "--validate=false", "-f", "-")).To(Equal("virtualmachine.kubevirt.io/k configured\n"))
	g.Expect(run("", "get", "vm", "k", "-o", "jsonpath={.metadata.labels}")).To(Equal(`{"other":"a"}`))
	g.Expect(run("", "label", "vm", "k", "kubevirt.io/x=y")).To(Equal("virtualmachine.kubevirt.io/k labeled\n"))
	g.Expect(run("", "get", "crd")).To(And(ContainSubstring("virtualmachines.kubevirt.io "), Not(ContainSubstring("internal.virt.example"))))
	g.Expect(run("", "api-resources", "--api-group", "kubevirt.io")).To(MatchRegexp(`virtualmachines +vm +kubevirt.io/v1 +true +VirtualMachine\n`))
	g.Expect(run("", "auth", "can-i", "get", "virtualmachines.kubevirt.io", "--as", "eve")).To(Equal("yes\n"))
	g.Expect(run("", "auth", "can-i", "delete", "virtualmachines.kubevirt.io", "--as", "eve")).To(HavePrefix("no"))
	g.Expect(run("", "wait", "vm/k", "--for", "jsonpath={.metadata.labels.kubevirt\\.io/x}=y", "--timeout", "60s")).To(ContainSubstring("condition met"))
	g.Expect(run("", "delete", "vm", "k")).To(ContainSubstring(`virtualmachine.kubevirt.io "k" deleted`))
	g.Expect(run("", "get", "configmaps", "-n", "default")).To(And(ContainSubstring("shown"), Not(ContainSubstring("hidden"))))
}
