package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/programs"
)

// renamedVMs is the definition of VirtualMachineInstances on a platform with other names.
const renamedVMs = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: internalvirtualizationvirtualmachineinstances.internal.virtualization.example}
spec:
  group: internal.virtualization.example
  scope: Namespaced
  names: {plural: internalvirtualizationvirtualmachineinstances, kind: InternalVirtualizationVirtualMachineInstance}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// A renamedWorld is a real API server on which KubeVirt has other names, with config/default and config/api-rules, and one
// hosted cluster that opted in.
type renamedWorld struct {
	*apiserver.Server
	t          *testing.T
	deployment appsv1.Deployment
	rules      string // the file that the Deployment mounts
	key        client.ObjectKey
	vms        dynamic.ResourceInterface
}

func newRenamedWorld(t *testing.T, server *apiserver.Server) renamedWorld {
	t.Helper()
	g := NewWithT(t)
	w := renamedWorld{Server: server, t: t, key: client.ObjectKey{Namespace: "clusters", Name: "blue"}, rules: filepath.Join(t.TempDir(), "rules.yaml")}
	text := w.kustomized("config/default", "config/api-rules")
	w.Apply(t, text)
	for _, o := range apiserver.Objects(t, text) {
		switch {
		case o.GetKind() == "Deployment":
			at, err := json.Marshal(o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(json.Unmarshal(at, &w.deployment)).To(Succeed())
		case o.GetKind() == "ConfigMap":
			rules, _, err := unstructured.NestedString(o.Object, "data", "rules.yaml")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(w.rules, []byte(rules), 0o600)).To(Succeed())
		}
	}
	for name, definition := range apiserver.Definitions(t) {
		if !strings.HasSuffix(name, ".kubevirt.io") {
			g.Expect(w.Admin.Create(t.Context(), definition)).To(Succeed())
		}
	}
	w.Apply(t, []byte(renamedVMs))
	all, err := dynamic.NewForConfig(w.Env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	w.vms = all.Resource(schema.GroupVersionResource{Group: "internal.virtualization.example", Version: "v1", Resource: "internalvirtualizationvirtualmachineinstances"}).Namespace("clusters-blue")
	for _, ns := range []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}, apiserver.ControlPlaneNamespace("clusters-blue")} {
		g.Expect(w.Admin.Create(t.Context(), ns)).To(Succeed())
	}
	for _, o := range apiserver.Sample(t, "blue") {
		g.Eventually(func() error { return w.Admin.Create(t.Context(), o) }).WithTimeout(time.Minute).Should(Succeed())
	}
	hc := &hyperv1.HostedCluster{}
	g.Expect(w.Admin.Get(t.Context(), w.key, hc)).To(Succeed())
	for _, o := range apiserver.Published(hc, "clusters-blue") {
		g.Eventually(func() error { return client.IgnoreAlreadyExists(apiserver.Create(t.Context(), w.Admin, o)) }).WithTimeout(time.Minute).Should(Succeed())
	}
	hc.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: apiserver.APIAddress, Port: 6443}
	g.Expect(w.Admin.Status().Update(t.Context(), hc)).To(Succeed())
	return w
}

// kustomized builds a kustomization of a user, with a component.
func (w renamedWorld) kustomized(base, component string) []byte {
	g, dir := NewWithT(w.t), w.t.TempDir()
	root, err := programs.Root()
	g.Expect(err).NotTo(HaveOccurred())
	at := func(path string) string {
		out, err := filepath.Rel(dir, filepath.Join(root, path))
		g.Expect(err).NotTo(HaveOccurred())
		return out
	}
	text, err := yaml.Marshal(map[string]any{"resources": []string{at(base)}, "components": []string{at(component)}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600)).To(Succeed())
	out, err := exec.CommandContext(w.t.Context(), filepath.Join(w.Env.BinaryAssetsDirectory, "kubectl"), "kustomize", dir).Output()
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// kubeconfig writes the credentials of a ServiceAccount. Empty: those of an administrator.
func (w renamedWorld) kubeconfig(account string) string {
	config := w.Env.Config
	user := &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	if account != "" {
		as := apiserver.Impersonating(config, "oooi-system", account).Impersonate
		user.Impersonate, user.ImpersonateGroups = as.UserName, as.Groups
	}
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	NewWithT(w.t).Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "x", Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "x", AuthInfo: "x"}},
		Clusters: map[string]*clientcmdapi.Cluster{"x": {Server: config.Host, CertificateAuthorityData: config.CAData}}, AuthInfos: map[string]*clientcmdapi.AuthInfo{"x": user},
	}, file)).To(Succeed())
	return file
}

// manager runs the operator until the test ends, as its Deployment does: with the rights of the manifests, and no others.
func (w renamedWorld) manager(t *testing.T, environment ...string) *programs.Output {
	path, env := programs.Self(t)
	c := exec.CommandContext(context.WithoutCancel(t.Context()), path, "manager", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	c.Env = append(env, "KUBECONFIG="+w.kubeconfig("oooi"), command.EnvNamespace+"=oooi-system", command.EnvServiceAccount+"=oooi", command.EnvEdgeImage+"=localhost/edge:dev", command.EnvEnvoyImage+"=localhost/envoy:dev")
	c.Env = append(c.Env, environment...)
	return programs.Start(t, c)
}

// condition is what the operator says.
func (w renamedWorld) condition() string {
	hc := &hyperv1.HostedCluster{}
	NewWithT(w.t).Expect(w.Admin.Get(w.t.Context(), w.key, hc)).To(Succeed())
	if c := meta.FindStatusCondition(hc.Status.Conditions, wire.Prefix+"NetworkReady"); c != nil {
		return c.Reason + ": " + c.Message
	}
	return ""
}

// vm creates a VM that reports an address of the edges.
func (w renamedWorld) vm(name string) {
	_, err := w.vms.Create(w.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "internal.virtualization.example/v1", "kind": "InternalVirtualizationVirtualMachineInstance",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"networks": []any{map[string]any{"name": "iface1", "multus": map[string]any{"networkName": "clusters-blue/vlan100"}}}},
		"status":   map[string]any{"interfaces": []any{map[string]any{"name": "iface1", "mac": "02:00:00:00:01:01", "ipAddress": "192.168.100.4", "ipAddresses": []any{"192.168.100.4"}}}},
	}}, metav1.CreateOptions{})
	NewWithT(w.t).Expect(err).NotTo(HaveOccurred())
}

// renamedKubeVirt is the operator on a real API server on which KubeVirt has other names.
func renamedKubeVirt(t *testing.T, server *apiserver.Server) {
	w := newRenamedWorld(t, server)
	t.Run("without rules", w.withoutRules)
	t.Run("with rules", w.withRules)
}

// withoutRules: VMs are not found, and the log and oooi check say what is missing.
func (w renamedWorld) withoutRules(t *testing.T) {
	g := NewWithT(t)
	w.vm("early")
	log := w.manager(t)
	g.Eventually(w.condition).WithTimeout(time.Minute).ShouldNot(BeEmpty())
	g.Eventually(log.String).WithTimeout(time.Minute).Should(And(ContainSubstring("kinds do not exist yet"), ContainSubstring("VirtualMachineInstance.kubevirt.io")))
	g.Expect(w.condition()).NotTo(ContainSubstring("early"))
	text, _, code := oooi(t, "", "check", "--kubeconfig", w.kubeconfig(""))
	g.Expect(code).To(Equal(2))
	g.Expect(text).To(MatchRegexp(`failure +VirtualMachineInstances of KubeVirt: .*set --api-rules`))
}

// withRules: VMs are found and followed, and all that the operator writes has the API server's names.
func (w renamedWorld) withRules(t *testing.T) {
	g := NewWithT(t)
	container := w.deployment.Spec.Template.Spec.Containers[0]
	g.Expect(container.Env).To(ContainElement(corev1.EnvVar{Name: command.EnvAPIRules, Value: container.VolumeMounts[0].MountPath + "/rules.yaml"}))
	log := w.manager(t, command.EnvAPIRules+"="+w.rules)
	g.Eventually(w.condition).WithTimeout(time.Minute).Should(And(ContainSubstring("AddressInUse"), ContainSubstring("early")), "it is listed")
	g.Expect(w.vms.Delete(t.Context(), "early", metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(w.condition).WithTimeout(time.Minute).ShouldNot(ContainSubstring("AddressInUse"))
	w.vm("late")
	g.Eventually(w.condition).WithTimeout(time.Minute).Should(ContainSubstring("late"), "it is watched")
	g.Expect(log.String()).NotTo(Or(ContainSubstring("kinds do not exist yet"), ContainSubstring("kinds cannot be watched")))

	var edges appsv1.DeploymentList
	g.Eventually(func() []appsv1.Deployment {
		g.Expect(w.Admin.List(t.Context(), &edges, client.InNamespace("clusters-blue"))).To(Succeed())
		for i := range edges.Items {
			if apiserver.Serve(&edges.Items[i]) {
				_ = w.Admin.Status().Update(t.Context(), &edges.Items[i]) // Else at the next turn.
			}
		}
		return edges.Items
	}).WithTimeout(2 * time.Minute).Should(ContainElement(HaveField("Name", HavePrefix("oooi-edge-"))))
	w.written(t, edges.Items)
	w.commands(t)
}

// written: the objects of the operator, as the API server has them.
func (w renamedWorld) written(t *testing.T, all []appsv1.Deployment) {
	g := NewWithT(t)
	const resource, group = "internalvirtualizationvirtualmachineinstances", "internal.virtualization.example"
	var role rbacv1.Role
	g.Expect(w.Admin.Get(t.Context(), client.ObjectKey{Namespace: "clusters-blue", Name: wire.ServiceAccount}, &role)).To(Succeed())
	g.Expect(role.Rules).To(ContainElement(rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"list", "watch"}}))
	g.Expect(role.OwnerReferences).To(ConsistOf(And(HaveField("APIVersion", hyperv1.GroupVersion.String()), HaveField("Kind", "HostedControlPlane"))))
	for _, d := range all {
		if !strings.HasPrefix(d.Name, "oooi-edge-") {
			continue
		}
		text, err := json.Marshal(d.Spec)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(And(ContainSubstring(`"`+group+`/schedulable"`), Not(ContainSubstring(`"kubevirt.io/`))), "a label of nodes")
		g.Expect(string(text)).To(ContainSubstring(`"--watch","--vm-resource","` + resource + "." + group + `"`))
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == "ntp" || c.Name == wire.Failover {
				g.Expect(c.Args).NotTo(ContainElement("--vm-resource"), c.Name)
			}
		}
	}
	// What an edge may do with the name in its arguments.
	c := rest.CopyConfig(w.Env.Config)
	c.Impersonate = apiserver.Impersonating(c, "clusters-blue", wire.ServiceAccount).Impersonate
	edge, err := dynamic.NewForConfig(c)
	g.Expect(err).NotTo(HaveOccurred())
	found, err := edge.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}).Namespace("clusters-blue").List(t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Items).To(HaveLen(1))
}

// commands read the cluster by the same rules.
func (w renamedWorld) commands(t *testing.T) {
	g := NewWithT(t)
	flags := []string{"--kubeconfig", w.kubeconfig(""), "--api-rules", w.rules}
	text, _, _ := oooi(t, "", append([]string{"check"}, flags...)...)
	g.Expect(text).To(MatchRegexp(`ok +VirtualMachineInstances of KubeVirt\n`))
	g.Expect(text).NotTo(ContainSubstring("--api-rules"))
	dir := filepath.Join(t.TempDir(), "report")
	_, errs, code := oooi(t, "", append([]string{"must-gather", "clusters/blue", "--to", dir}, flags...)...)
	g.Expect(code).To(BeZero(), errs)
	planned, _, _ := oooi(t, "", "plan", "-f", dir)
	g.Expect(planned).To(ContainSubstring("late"), "a directory of must-gather has KubeVirt's names")
}
