package status

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/mustgather"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
)

// password is in each object and log that is collected.
const password = "hunter2"

// plantSecrets creates what has secrets in it, and an edge's pod that has restarted once.
func plantSecrets(t *testing.T, c client.Client) {
	t.Helper()
	g := NewWithT(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "oooi-edge-1", Labels: wire.NamedLabels(wire.NameEdge)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "dhcp", Image: "x"}, {Name: "dns", Image: "x"}, {Name: wire.Failover, Image: "x"}}},
	}
	for _, o := range []client.Object{pod,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "pull-secret"}, StringData: map[string]string{"x": password}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "kubeconfig"}, Data: map[string]string{"x": password}},
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "route.openshift.io/v1", "kind": "Route",
			"metadata": map[string]any{"namespace": "clusters-blue", "name": "with-key"},
			"spec":     map[string]any{"host": "x.example.com", "to": map[string]any{"kind": "Service", "name": "x"}, "tls": map[string]any{"termination": "edge", "key": password}}}},
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
			"metadata": map[string]any{"namespace": "clusters-blue", "name": "vm-1"},
			"spec": map[string]any{"domain": map[string]any{"devices": map[string]any{"interfaces": []any{map[string]any{"name": "vlan"}}}},
				"volumes": []any{map[string]any{"name": "init", "cloudInitNoCloud": map[string]any{"userData": password}}}}}},
	} {
		g.Expect(c.Create(t.Context(), o)).To(Succeed(), o.GetName())
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "dhcp", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, RestartCount: 1},
		{Name: "dns", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
		{Name: wire.Failover, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	}
	g.Expect(c.Status().Update(t.Context(), pod)).To(Succeed())
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(blue.FirstOf(t, "HostedCluster").GetObjectKind().GroupVersionKind())
	g.Expect(c.Get(t.Context(), blue.Key, u)).To(Succeed())
	g.Expect(unstructured.SetNestedField(u.Object, "http://user:"+password+"@proxy.example.com:3128", "spec", "configuration", "proxy", "httpProxy")).To(Succeed())
	g.Expect(c.Update(t.Context(), u)).To(Succeed())
}

// saidSecrets is a log with a secret.
func saidSecrets(_ context.Context, pod client.ObjectKey, container string, previous bool) (io.ReadCloser, error) {
	if previous {
		return nil, os.ErrPermission
	}
	return io.NopCloser(strings.NewReader("log of " + pod.Name + " " + container + ": https://user:" + password + "@registry.example.com\n")), nil
}

// toldSecrets is what an edge reports, with a secret.
func toldSecrets(_ context.Context, _ client.ObjectKey, _ string, _ []string, out, _ io.Writer) error {
	_, err := io.WriteString(out, `{"version": 1, "parts": [{"name": "envoyStats", "content": ["https://user:`+password+`@registry.example.com"]}]}`)
	return err
}

// contentOf are the files of a directory.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(text)
		return err
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

// gatherBlue collects blue with secrets in its logs.
func gatherBlue(t *testing.T, api client.Reader) (dir string, index source.ArchiveIndex) {
	t.Helper()
	g := mustgather.Gatherer{API: api, Logs: saidSecrets, Run: toldSecrets, Dir: filepath.Join(t.TempDir(), "report"), Index: source.ArchiveIndex{Format: source.ArchiveFormat, Time: time.Now().UTC()}}
	NewWithT(t).Expect(g.All(t.Context(), blue.Key)).To(Succeed())
	return g.Dir, g.Index
}

// archiveOf reads a directory that must-gather wrote.
func archiveOf(t *testing.T, dir string) source.Archive {
	t.Helper()
	g := NewWithT(t)
	scheme, err := source.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	files, faults, err := source.ReadArchive(nil, []string{dir}, manifest.Read, scheme)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(faults).To(BeEmpty())
	return files
}

// bothStatus is what status makes from blue in the cluster and in the directory, at one time, as JSON.
func bothStatus(t *testing.T, api client.Reader, dir string) (cluster, archived string) {
	t.Helper()
	g := NewWithT(t)
	files := archiveOf(t, dir)
	ask := Request{Name: blue.Key, At: files.Index.Time}
	var texts [2]strings.Builder
	for i, from := range []client.Reader{api, files} {
		all, err := ask.read(t.Context(), from)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(all[0].write(&texts[i], "json", false, true)).To(Succeed())
	}
	return texts[0].String(), texts[1].String()
}

// mustGather: status and plan read the directory as they read the cluster, no secret is in it, and what the user has no
// right to read is named in both.
func mustGather(t *testing.T, server *apiserver.Server) {
	admin := server.Admin
	blue.Create(t, admin)
	plantSecrets(t, admin)
	blue.Tell(t, admin, blue.Settings(t, admin))
	reader := blue.Reader(t, server)

	t.Run("of an administrator", func(t *testing.T) {
		g := NewWithT(t)
		dir, index := gatherBlue(t, admin)
		all := contentOf(t, dir)
		for name, text := range all {
			g.Expect(text).NotTo(ContainSubstring(password), name)
			g.Expect(name).NotTo(ContainSubstring("secret"))
		}
		g.Expect(all).To(HaveKey("objects/clusters-blue/configmap.oooi-plan.yaml"))
		g.Expect(all["objects/clusters/hostedcluster.hypershift.openshift.io.blue.yaml"]).To(ContainSubstring("http://LEFT-OUT@proxy.example.com:3128"))
		g.Expect(all["logs/clusters-blue/oooi-edge-1/dhcp.log"]).To(HavePrefix("log of oooi-edge-1 dhcp: https://LEFT-OUT@registry.example.com\n"))
		g.Expect(all).NotTo(HaveKey("logs/clusters-blue/oooi-edge-1/dns.log"), "it has not started")
		g.Expect(all["edges/clusters-blue/oooi-edge-1/diagnostics"]).To(ContainSubstring("https://LEFT-OUT@registry.example.com"))
		g.Expect(index.Unread).To(Equal([]source.Unread{{What: "log of clusters-blue/oooi-edge-1, container dhcp", Why: os.ErrPermission.Error()}}))

		cluster, archived := bothStatus(t, admin, dir)
		g.Expect(archived).To(Equal(cluster))
		g.Expect(archived).To(ContainSubstring("blue-1"))
		text, faults, _ := oooi(t, "", "status", "-f", dir)
		g.Expect(text).To(HavePrefix("HostedCluster clusters/blue: "))
		g.Expect(faults).To(BeEmpty())
		_, faults, code := oooi(t, "", "status", "-f", dir, "--vm", "blue-one")
		g.Expect(code).To(Equal(1))
		g.Expect(faults).To(ContainSubstring("no VM blue-one is known"))
		planned, faults, code := oooi(t, "", "plan", "-f", dir)
		g.Expect(code).To(Equal(3), "HyperShift publishes nothing here")
		g.Expect(faults).To(BeEmpty())
		g.Expect(planned).To(ContainSubstring("clusters/blue"))
		g.Expect(planned).To(ContainSubstring("192.168.100.0/24"))
		drawn, faults, code := oooi(t, "", "map", "-f", dir)
		g.Expect(code).To(BeZero(), faults)
		g.Expect(drawn).To(MatchRegexp(`192\.168\.100\.20 +blue-1\n`))
		g.Expect(drawn).To(ContainSubstring("192.168.100.4, ready"))
	})
	t.Run("of one who reads one namespace", func(t *testing.T) {
		g := NewWithT(t)
		dir, index := gatherBlue(t, reader)
		g.Expect(index.Unread).To(ContainElement(HaveField("What", "Services in namespace clusters-blue")))
		cluster, archived := bothStatus(t, reader, dir)
		g.Expect(archived).To(Equal(cluster))
		g.Expect(archived).To(ContainSubstring("You have no right to read HostedCluster clusters/blue."))
	})
	t.Run("with oc", func(t *testing.T) { mustGatherWithOC(t, server) })
	t.Run("names are completed", func(t *testing.T) {
		g := NewWithT(t)
		file := filepath.Join(t.TempDir(), "kubeconfig")
		g.Expect(os.WriteFile(file, server.Env.KubeConfig, 0o600)).To(Succeed())
		for _, command := range []string{"check", "status", "map", "must-gather"} {
			names, _, _ := oooi(t, "", "__complete", command, "--kubeconfig", file, "clu")
			g.Expect(names).To(HavePrefix("clusters/blue\n:4"), command)
		}
		names, _, _ := oooi(t, "", "__complete", "status", "--kubeconfig", file, "x")
		g.Expect(names).To(HavePrefix(":4"))
	})
	t.Run("into a directory with files", func(t *testing.T) {
		dir, _ := gatherBlue(t, admin)
		g := mustgather.Gatherer{API: admin, Logs: saidSecrets, Dir: dir}
		NewWithT(t).Expect(g.All(t.Context(), blue.Key)).To(MatchError(ContainSubstring("not empty")))
	})
	t.Run("of a newer release", func(t *testing.T) {
		g := NewWithT(t)
		dir, _ := gatherBlue(t, admin)
		g.Expect(os.WriteFile(filepath.Join(dir, source.IndexFile), []byte(`{"format": 99, "version": "v9.0.0"}`), 0o600)).To(Succeed())
		_, faults, code := oooi(t, "", "status", "-f", dir)
		g.Expect(code).To(Equal(1))
		g.Expect(faults).To(ContainSubstring("format 99 is of a newer release of oooi, v9.0.0"))
	})
}
