// This file shows a platform that serves KubeVirt under other names: HyperShift, Cluster API and kubectl know its own names only and
// reach the API server through a gateway, the operator uses the same rules itself, and a worker boots. All of it is set up as
// docs/clients.md says.

package e2e

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/pki"
	"github.com/cldmnky/oooi/test/testbed/worker"
)

// A platform is a testbed where KubeVirt has other names, and a directory with the files of the page.
type platform struct {
	bed
	dir     string
	section string // of the page
}

// TestRenamedKubeVirt has a testbed of its own, since KubeVirt has its own names on the others.
func TestRenamedKubeVirt(t *testing.T) {
	p := platform{dir: t.TempDir(), section: sectionsOf(document(t, "clients.md"))["KubeVirt under another name"]}
	p.bed = newBed(t, bedOptions{nodes: 1, apiRules: p.rules(), kustomization: p.kustomization(t)})
	p.playServiceCA(t)
	p.run(t, "kubectl create configmap")
	p.run(t, "kubectl create namespace")
	h, _ := p.create(t, hypershift.HostedClusterOptions{
		Name: "blue", BaseDomain: "example.com", VLAN: 240, Replicas: 1, MachineCIDR: netip.MustParsePrefix("192.168.100.0/24"), Flags: p.flags(t),
	})
	t.Run("kubectl", p.testStreams) // while the control plane starts
	g := NewWithT(t)
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
	g.Expect(p.hypershift.BootstrapGuest(t.Context(), h.Name)).To(Succeed())
	g.Expect(p.hypershift.WaitAvailable(t.Context(), h.Name)).To(Succeed())
	g.Expect(h.WaitReady(t.Context())).To(Succeed())
	w := testWorkers(t, p.bed, h, 1)[0]
	t.Run("names", func(t *testing.T) { p.testNames(t, w) })
	t.Run("tried", func(t *testing.T) { testTried(t, p.bed, h, "--api-rules", p.rules()) })
	t.Run("ingress", func(t *testing.T) { p.testEndpoints(t, h, w) })
	p.destroy(h)
	t.Run("deletion", func(t *testing.T) { testDeletions(t, p.bed) })
}

// rules is the file of the rules in the copy of config/api-rules.
func (p platform) rules() string { return filepath.Join(p.dir, "api-rules", "rules.yaml") }

// kustomization is that of a user: config/default with a copy of config/api-rules, which has the names of this platform.
func (p platform) kustomization(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	root, err := host.ProjectDir()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.CopyFS(filepath.Dir(p.rules()), os.DirFS(filepath.Join(root, "config", "api-rules")))).To(Succeed())
	base, err := filepath.Rel(p.dir, filepath.Join(root, "config", "default"))
	g.Expect(err).NotTo(HaveOccurred())
	text, err := yaml.Marshal(map[string]any{"resources": []string{base}, "components": []string{"api-rules"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(p.dir, "kustomization.yaml"), text, 0o600)).To(Succeed())
	return p.dir
}

// playServiceCA makes what OpenShift's service CA does: the gateway's certificate, and the ConfigMap with the CA.
func (p platform) playServiceCA(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	ca, err := pki.NewAuthority("service-ca")
	g.Expect(err).NotTo(HaveOccurred())
	at := func(name string) string { return filepath.Join(p.dir, name) }
	g.Expect(ca.Write(at("service-ca"))).To(Succeed())
	g.Expect(ca.Issue(at("gateway"), pkix.Name{CommonName: "oooi-apiproxy"}, gatewayHost)).To(Succeed())
	p.kubectl(t, "-n", Namespace, "create", "secret", "tls", "oooi-apiproxy-tls", "--cert", at("gateway.crt"), "--key", at("gateway.key"))
	p.kubectl(t, "-n", Namespace, "create", "configmap", "openshift-service-ca.crt", "--from-file=service-ca.crt="+at("service-ca.crt"))
}

const gatewayHost = "oooi-apiproxy." + Namespace + ".svc"

// kubectl is the administrator's.
func (p platform) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.cluster.Kubectl(t.Context(), args...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// run runs the block of the page that begins with these words. The manifests are those of this checkout.
func (p platform) run(t *testing.T, words string) {
	t.Helper()
	g := NewWithT(t)
	root, err := host.ProjectDir()
	g.Expect(err).NotTo(HaveOccurred())
	script := strings.ReplaceAll(blockOf(t, p.section, words), "config/samples/", filepath.Join(root, "config", "samples")+"/")
	if strings.Contains(script, "apply -f apiproxy.yaml") {
		g.Expect(p.cluster.LoadImages(t.Context(), "oooi-apiproxy")).To(Succeed())
		manifest := regexp.MustCompile(`ghcr\.io/cldmnky/oooi-apiproxy:\S+`).ReplaceAllString(p.kubectl(t, "kustomize", filepath.Join(root, "config", "apiproxy")), cluster.APIProxyImage)
		g.Expect(os.WriteFile(filepath.Join(p.dir, "apiproxy.yaml"), []byte(manifest), 0o600)).To(Succeed())
	}
	cmd := p.cluster.Command(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", script, out)
}

// flags are those of the page's command that creates a cluster, except for its name.
func (p platform) flags(t *testing.T) []string {
	t.Helper()
	text := strings.ReplaceAll(blockOf(t, p.section, "hypershift create cluster"), "\\\n", "")
	words := strings.Fields(strings.ReplaceAll(text, "infra.kubeconfig", filepath.Join(p.dir, "infra.kubeconfig")))
	NewWithT(t).Expect(words[:6]).To(Equal([]string{"hypershift", "create", "cluster", "kubevirt", "--name", "blue"}))
	NewWithT(t).Expect(words[len(words)-1]).To(Equal("..."))
	return words[6 : len(words)-1]
}

// testNames expects that the API server has no name of KubeVirt's, and that clients of the gateway have no other. HyperShift's machine
// controller made the VM, and owns it.
func (p platform) testNames(t *testing.T, w *worker.Worker) {
	g := NewWithT(t)
	g.Expect(p.kubectl(t, "api-resources", "-o", "name")).NotTo(MatchRegexp(`(?m)^virtualmachine`))
	direct := func(args ...string) ([]byte, error) { return p.cluster.Kubectl(t.Context(), args...) }
	gateway := func(args ...string) ([]byte, error) { return p.through(t, "", args...) }
	for _, through := range []struct {
		kubectl func(...string) ([]byte, error)
		name    string
	}{
		{direct, "internalvirtualizationvirtualmachineinstances.internal.virtualization.example"},
		{gateway, "virtualmachineinstances.kubevirt.io"},
	} {
		out, err := through.kubectl("-n", w.VM.Namespace, "get", through.name, w.VM.Name, "-o", "json")
		g.Expect(err).NotTo(HaveOccurred())
		var vmi meta.PartialObjectMetadata
		g.Expect(json.Unmarshal(out, &vmi)).To(Succeed())
		resource, group, _ := strings.Cut(through.name, ".")
		g.Expect(vmi.APIVersion).To(Equal(group + "/v1"))
		g.Expect(strings.ToLower(vmi.Kind) + "s").To(Equal(resource))
		g.Expect(vmi.OwnerReferences).To(HaveExactElements(And(HaveField("APIVersion", group+"/v1"), HaveField("Kind", strings.TrimSuffix(vmi.Kind, "Instance")))))
	}
	g.Eventually(func() string {
		return p.kubectl(t, "-n", w.VM.Namespace, "get", "kubevirtmachines", "-o", "jsonpath={.items[*].status.ready}")
	}).WithPolling(time.Second).Should(Equal("true"), "Cluster API's provider sees the VM")
}

// testEndpoints expects that HyperShift's configuration operator, which looks the VM up through the gateway, publishes its address.
func (p platform) testEndpoints(t *testing.T, h Hosted, w *worker.Worker) {
	g := NewWithT(t)
	service, err := p.hypershift.BalanceIngress(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() ([]discovery.EndpointSlice, error) {
		var all discovery.EndpointSliceList
		err := h.Client.List(t.Context(), &all, client.InNamespace(h.Namespace()), client.MatchingLabels{discovery.LabelServiceName: service.Name})
		return all.Items, err
	}).WithPolling(time.Second).Should(ContainElement(And(
		HaveField("OwnerReferences", ContainElement(HaveField("Kind", "InternalVirtualizationVirtualMachine"))),
		HaveField("Endpoints", ContainElement(HaveField("Addresses", ContainElement(w.Lease.Address.Addr().String())))),
	)))
}

// streams is a pod that logs, serves a directory by HTTP, and can be entered.
const streams = `
apiVersion: v1
kind: Pod
metadata: {name: streams, namespace: default}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: localhost/busybox:1
    imagePullPolicy: Never
    args: [sh, -c, "echo served; exec busybox httpd -f -p 8080 -h /tmp"]
    volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
`

// testStreams uses what a kubelet streams, with kubectl through the gateway, over WebSockets and over SPDY.
func (p platform) testStreams(t *testing.T) {
	g := NewWithT(t)
	g.Expect(p.cluster.LoadImages(t.Context(), "busybox")).To(Succeed())
	g.Expect(p.cluster.Apply(t.Context(), []byte(streams))).To(Succeed())
	p.kubectl(t, "wait", "--for=condition=Ready", "--timeout="+await.Patience.String(), "pod/streams")
	var out []byte
	g.Eventually(func() (err error) { out, err = p.through(t, "", "logs", "streams"); return err }).WithPolling(time.Second).
		Should(Succeed(), "nodes know the endpoints of the gateway's Service soon after its pods are ready")
	g.Expect(string(out)).To(Equal("served\n"))
	content := make([]byte, 3<<20)
	_, _ = rand.Read(content)
	file := filepath.Join(p.dir, "random")
	g.Expect(os.WriteFile(file, content, 0o644)).To(Succeed())
	for _, webSockets := range []string{"true", "false"} {
		t.Run("WebSockets "+webSockets, func(t *testing.T) {
			g := NewWithT(t)
			in := "/tmp/" + webSockets
			_, err := p.through(t, webSockets, "cp", file, "streams:"+in)
			g.Expect(err).NotTo(HaveOccurred())
			out, err := p.through(t, webSockets, "exec", "streams", "--", "busybox", "cat", in)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(Equal(content), "%d bytes, not %d", len(out), len(content))
			g.Expect(p.forwarded(t, webSockets)).To(Equal(content))
		})
	}
}

// forwarded is what the pod serves through `kubectl port-forward`.
func (p platform) forwarded(t *testing.T, webSockets string) []byte {
	t.Helper()
	g := NewWithT(t)
	forward := p.gatewayCommand(t, webSockets, "port-forward", "pod/streams", ":8080")
	stdout, err := forward.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(forward.Start()).To(Succeed())
	defer func() { _ = forward.Process.Kill(); _ = forward.Wait() }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	_, after, found := strings.Cut(line, "Forwarding from ")
	g.Expect(found).To(BeTrue(), line)
	out, err := p.cluster.Command(t.Context(), "curl", "-sS", "--fail", "http://"+strings.Fields(after)[0]+"/"+webSockets).Output()
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// through runs kubectl through the gateway, and gives what it printed.
func (p platform) through(t *testing.T, webSockets string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := p.gatewayCommand(t, webSockets, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return out, err
}

// gatewayCommand is kubectl of an administrator who uses the gateway. webSockets is "true" or "false"; "" is kubectl's own choice.
func (p platform) gatewayCommand(t *testing.T, webSockets string, args ...string) *exec.Cmd {
	t.Helper()
	g := NewWithT(t)
	kubeconfig := filepath.Join(p.dir, "admin.kubeconfig")
	if _, err := os.Stat(kubeconfig); err != nil {
		p.kubectl(t, "-n", "default", "create", "serviceaccount", "administrator")
		p.kubectl(t, "create", "clusterrolebinding", "administrator", "--clusterrole=cluster-admin", "--serviceaccount=default:administrator")
		address := p.kubectl(t, "-n", Namespace, "get", "service", "oooi-apiproxy", "-o", "jsonpath={.spec.clusterIP}")
		g.Expect(clientcmd.WriteToFile(clientcmdapi.Config{
			CurrentContext: "x", Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "x", AuthInfo: "x"}},
			Clusters: map[string]*clientcmdapi.Cluster{"x": {
				Server: "https://" + address, TLSServerName: gatewayHost, CertificateAuthority: filepath.Join(p.dir, "service-ca.crt"),
			}},
			AuthInfos: map[string]*clientcmdapi.AuthInfo{"x": {Token: strings.TrimSpace(p.kubectl(t, "-n", "default", "create", "token", "administrator", "--duration=2h"))}},
		}, kubeconfig)).To(Succeed())
	}
	cmd := p.cluster.Command(t.Context(), p.cluster.Bin("kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	if webSockets != "" {
		cmd.Env = append(cmd.Env, "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+webSockets, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+webSockets)
	}
	return cmd
}
