package annotations_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/test/apiserver"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// A server is a real API server with the policies, and one object of each kind.
type server struct {
	*apiserver.Server
	objects map[settings.Place]*unstructured.Unstructured
}

// warnings are those that the API server sent.
type warnings struct {
	lock sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	out := w.text
	w.text = nil
	return out
}

// start runs a server whose objects have no annotations.
func start(t *testing.T) *server {
	t.Helper()
	log.SetLogger(logr.Discard())
	g := NewWithT(t)
	s := &server{Server: apiserver.Start(t, nil), objects: map[settings.Place]*unstructured.Unstructured{}}
	s.InstallKinds(t)
	for _, name := range []string{"clusters", "vlans"} {
		g.Expect(s.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	}
	g.Expect(s.Admin.Create(t.Context(), apiserver.ControlPlaneNamespace("clusters-blue"))).To(Succeed())
	objects := append(apiserver.Sample(t, "blue"), service("clusters-blue"))
	for _, u := range objects {
		u.SetAnnotations(nil)
		g.Expect(client.IgnoreAlreadyExists(s.Admin.Create(t.Context(), u))).To(Succeed())
		s.objects[settings.Place(u.GetKind())] = u
	}
	for _, name := range []string{"annotations.yaml", "annotation_keys.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "admission", name))
		g.Expect(err).NotTo(HaveOccurred())
		s.Apply(t, text)
	}
	for _, u := range s.objects {
		s.awaitPolicies(t, u)
	}
	return s
}

// awaitPolicies waits until the API server judges a kind.
func (s *server) awaitPolicies(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	key := map[string]string{"Service": "publish"}[u.GetKind()]
	if key == "" {
		key = "cidr"
	}
	if !slices.ContainsFunc(settings.Keys(), func(k settings.Key) bool { return slices.Contains(k.On, settings.Place(u.GetKind())) }) {
		return
	}
	NewWithT(t).Eventually(func() error { return s.annotate(t, u, map[string]string{key: "x"}) }).WithTimeout(patience).
		Should(MatchError(ContainSubstring("'"+admission.Annotations+"'")), u.GetKind())
}

func service(ns string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Service")
	u.SetNamespace(ns)
	u.SetName("git")
	u.Object["spec"] = map[string]any{"ports": []any{map[string]any{"port": int64(443)}}}
	return u
}

// patch is a merge patch that sets annotations, whose keys have no prefix.
func patch(annotations map[string]string) client.Patch {
	full := map[string]string{}
	for k, v := range annotations {
		full[settings.Prefix+k] = v
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": full}})
	if err != nil {
		panic(err)
	}
	return client.RawPatch(types.MergePatchType, text)
}

// annotate sets annotations, and stores nothing.
func (s *server) annotate(t *testing.T, u *unstructured.Unstructured, annotations map[string]string) error {
	t.Helper()
	return s.Admin.Patch(t.Context(), u.DeepCopy(), patch(annotations), client.DryRunAll)
}

// asks returns the text of the operator's first problem that blocks, or "".
func asks(kind, object, key, value string) string {
	problems := settings.Check(kind, object, map[string]string{settings.Prefix + key: value})
	for _, p := range problems {
		if p.Blocks() {
			return explain.Problem(p).String()
		}
	}
	return ""
}

// TestOnAPIServer checks the policies on a real API server.
func TestOnAPIServer(t *testing.T) {
	s := start(t)
	t.Run("Values", func(t *testing.T) { testValues(t, s) })
	t.Run("GeneratedValues", func(t *testing.T) { testGeneratedValues(t, s) })
	t.Run("Keys", func(t *testing.T) { testKeys(t, s) })
	t.Run("SimilarKeys", func(t *testing.T) { testSimilarKeys(t, s) })
	t.Run("Kubectl", func(t *testing.T) { testKubectl(t, s) })
	t.Run("InTheWayOfNothing", func(t *testing.T) { testInTheWayOfNothing(t, s) })
}

// testValues: for each key on each object, the API server denies what the operator refuses, with the same words.
func testValues(t *testing.T, s *server) {
	for _, k := range settings.Keys() {
		t.Run(k.Name, func(t *testing.T) {
			g := NewWithT(t)
			v, ok := casesOf(k)
			g.Expect(ok).To(BeTrue(), "add values to cases")
			for _, at := range k.On {
				u := s.objects[at]
				names := []string{k.Name}
				if k.PerNodePool && at == settings.OnHostedCluster {
					names = append(names, k.Name+".workers")
				}
				for _, name := range names {
					for _, good := range append([]string{k.Example}, v.good...) {
						g.Expect(asks(u.GetKind(), u.GetName(), name, good)).To(BeEmpty(), "%s=%q", name, good)
						g.Expect(s.annotate(t, u, map[string]string{name: good})).To(Succeed(), "%s=%q", name, good)
					}
					for _, bad := range v.bad {
						text := asks(u.GetKind(), u.GetName(), name, bad)
						g.Expect(text).NotTo(BeEmpty(), "the operator accepts %s=%q", name, bad)
						err := s.annotate(t, u, map[string]string{name: bad})
						g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s=%q: %v", name, bad, err)
						g.Expect(err).To(MatchError(HaveSuffix("denied request: "+text)), "%s=%q", name, bad)
					}
					for _, value := range v.operatorOnly {
						g.Expect(asks(u.GetKind(), u.GetName(), name, value)).NotTo(BeEmpty(), "%s=%q", name, value)
						g.Expect(s.annotate(t, u, map[string]string{name: value})).To(Succeed(), "%s=%q", name, value)
					}
				}
			}
		})
	}
}

// testGeneratedValues: the API server denies no value that the operator accepts. It accepts what the operator refuses
// in few cases, which cases lists. The long run tries four times as many.
func testGeneratedValues(t *testing.T, s *server) {
	each := 15
	if programs.Long() {
		each = 60
	}
	alphabet := []string{"", "0", "1", "9", "255", ".", "-", ":", "=", "/", ",", "*", " ", "a", "Z", "_", "\t", "\n", "auto", "none", "svc", "\u212a", "\u00e9", "[", "]", "'", `\`, "+", "h", "T"}
	random := rand.New(rand.NewPCG(1, 2))
	type attempt struct {
		key, value   string
		operatorOnly bool
	}
	var attempts []attempt
	for _, k := range settings.Keys() {
		v, _ := casesOf(k)
		from := slices.Concat([]string{k.Example}, v.good, v.bad)
		from = slices.DeleteFunc(from, func(s string) bool { return len(s) > 200 })
		for range each {
			value := from[random.IntN(len(from))]
			for range 1 + random.IntN(3) {
				a, b := random.IntN(len(value)+1), random.IntN(len(value)+1)
				value = value[:min(a, b)] + alphabet[random.IntN(len(alphabet))] + value[max(a, min(b, a+2)):]
			}
			attempts = append(attempts, attempt{k.Name, strings.ToValidUTF8(value, "?"), len(v.operatorOnly) > 0})
		}
	}
	work := make(chan attempt)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for a := range work {
				u := s.objects[keys()[a.key].On[0]]
				err, text := s.annotate(t, u, map[string]string{a.key: a.value}), asks(u.GetKind(), u.GetName(), a.key, a.value)
				switch {
				case err == nil && text != "" && !a.operatorOnly:
					t.Errorf("the operator refuses %s=%q, and the API server accepts it: %s", a.key, a.value, text)
				case err != nil && text == "":
					t.Errorf("the operator accepts %s=%q: %v", a.key, a.value, err)
				}
			}
		})
	}
	for _, a := range attempts {
		work <- a
	}
	close(work)
	wait.Wait()
}

// warned returns a client that collects the API server's warnings.
func (s *server) warned(t *testing.T) (client.Client, *warnings) {
	t.Helper()
	w := &warnings{}
	config := rest.CopyConfig(s.Env.Config)
	config.WarningHandler = w
	c, err := client.New(config, client.Options{Scheme: s.Admin.Scheme()})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c, w
}

// testKeys: a key that has no effect is a warning with the words of the condition.
func testKeys(t *testing.T, s *server) {
	g := NewWithT(t)
	c, w := s.warned(t)
	warn := func(u *unstructured.Unstructured, annotations map[string]string) []string {
		g.Expect(c.Patch(t.Context(), u.DeepCopy(), patch(annotations), client.DryRunAll)).To(Succeed())
		return w.take()
	}
	for _, at := range []settings.Place{settings.OnHostedCluster, settings.OnNodePool, settings.OnNetworkAttachmentDefinition, settings.OnService} {
		u := s.objects[at]
		names := []string{"gatway", "sidr", "mut", "dhcp-ranges", "publsh", "nonsense", "registries", "registry", "cidr.workers", "Network", "a", "edges1"}
		for _, k := range settings.Keys() {
			names = append(names, k.Name)
		}
		for _, name := range names {
			value := "auto"
			if k, ok := keys()[strings.TrimSuffix(name, ".workers")]; ok {
				value = k.Example
			}
			var texts []string
			for _, p := range settings.Check(u.GetKind(), u.GetName(), map[string]string{settings.Prefix + name: value}) {
				texts = append(texts, "Validation failed for ValidatingAdmissionPolicy 'oooi-annotation-keys' with binding 'oooi-annotation-keys': "+explain.Problem(p).String())
			}
			g.Expect(warn(u, map[string]string{name: value})).To(Equal(texts), "%s on %s", name, at)
		}
	}
	two := warn(s.objects[settings.OnHostedCluster], map[string]string{"gatway": "x", "edgse": "2", "mtu": "1500"})
	g.Expect(two).To(ConsistOf(And(ContainSubstring("Did you mean gateway?"), ContainSubstring("Did you mean edges?"))), "all keys in one warning")
}

// testSimilarKeys: "Did you mean" finds each key that has one wrong letter, as the operator does.
func testSimilarKeys(t *testing.T, s *server) {
	g := NewWithT(t)
	c, w := s.warned(t)
	u := s.objects[settings.OnHostedCluster]
	for _, k := range settings.Keys() {
		if !slices.Contains(k.On, settings.OnHostedCluster) {
			continue
		}
		n, i := k.Name, len(k.Name)/2
		swapped := n[:i] + n[i+1:i+2] + n[i:i+1] + n[i+2:]
		for _, wrong := range []string{n[1:], n[:i] + n[i+1:], n + "x", n[:i] + "x" + n[i:], n[:i] + "x" + n[i+1:], swapped} {
			if _, known := keys()[strings.Split(wrong, ".")[0]]; known {
				continue
			}
			g.Expect(c.Patch(t.Context(), u.DeepCopy(), patch(map[string]string{wrong: "x"}), client.DryRunAll)).To(Succeed())
			g.Expect(w.take()).To(ConsistOf(HaveSuffix("Did you mean "+n+"?")), wrong)
		}
	}
}

// testInTheWayOfNothing: an object that was invalid before the policies existed can be changed, finalized and deleted.
// A Service outside of control plane namespaces, a copy of a Service of the hosted cluster, and an object of oooi are
// not judged.
func testInTheWayOfNothing(t *testing.T, s *server) {
	g := NewWithT(t)
	c, w := s.warned(t)
	policies, err := admission.Policies()
	g.Expect(err).NotTo(HaveOccurred())
	binding := policies[2].Binding
	g.Expect(s.Admin.Delete(t.Context(), binding.DeepCopy())).To(Succeed())
	u := s.objects[settings.OnHostedCluster].DeepCopy()
	bad := patch(map[string]string{"mtu": "9", "mut": "9", "cidr.workers": "x"})
	g.Eventually(func() error { return s.Admin.Patch(t.Context(), u, bad) }).WithTimeout(patience).Should(Succeed())
	g.Expect(s.Admin.Create(t.Context(), binding.DeepCopy())).To(Succeed())
	s.awaitPolicies(t, u)

	merge := func(text string) error {
		return c.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}
	prefix := settings.Prefix
	g.Expect(merge(`{"metadata":{"labels":{"team":"a"},"annotations":{"example.com/note":"x","mtu":"9"}}}`)).To(Succeed())
	g.Expect(merge(`{"spec":{"pausedUntil":"true"}}`)).To(Succeed())
	g.Expect(merge(`{"metadata":{"annotations":{"`+prefix+`edges":"2","`+prefix+`mtu":"9"}}}`)).To(Succeed(), "another key is valid")
	g.Expect(merge(`{"metadata":{"annotations":{"`+prefix+`cidr.workers":null}}}`)).To(Succeed(), "one is removed")
	g.Expect(w.take()).To(BeEmpty(), "what was there is no warning")
	g.Expect(merge(`{"metadata":{"annotations":{"` + prefix + `mtu":"10"}}}`)).To(MatchError(ContainSubstring(`mtu of HostedCluster blue has the invalid value "10"`)))
	live := u.DeepCopy()
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(u), live)).To(Succeed())
	g.Expect(c.Update(t.Context(), live)).To(Succeed(), "as HyperShift writes it")
	live.Object["status"] = map[string]any{"version": map[string]any{"history": []any{}, "observedGeneration": int64(1), "desired": map[string]any{"image": "x", "version": "4.20.8"}, "availableUpdates": []any{}}}
	g.Expect(c.Status().Update(t.Context(), live)).To(Succeed())

	for ns, judged := range map[string]bool{"clusters-blue": true, "vlans": false} {
		git := service(ns)
		git.SetName("other")
		git.SetAnnotations(map[string]string{prefix + "publish": "git"})
		if !judged {
			g.Expect(c.Create(t.Context(), git)).To(Succeed())
			g.Expect(w.take()).To(ConsistOf(ContainSubstring("Set it on one of: Service in the control plane namespace.")))
			continue
		}
		g.Expect(c.Create(t.Context(), git)).To(MatchError(ContainSubstring("has the invalid value \"git\"")))
	}
	guests := service("clusters-blue")
	guests.SetName("guests")
	guests.SetLabels(map[string]string{settings.LabelHostedService: "git"})
	guests.SetAnnotations(map[string]string{prefix + "publish": "git", prefix + "publsh": "x"})
	g.Expect(c.Create(t.Context(), guests)).To(Succeed(), "a user of the hosted cluster set the annotations")
	g.Expect(w.take()).To(BeEmpty(), "the cloud provider can do nothing about them")
	edge := s.objects[settings.OnNetworkAttachmentDefinition].DeepCopy()
	edge.SetName("oooi-edge")
	edge.SetResourceVersion("")
	edge.SetLabels(map[string]string{wire.LabelManagedBy: wire.Owner})
	edge.SetAnnotations(map[string]string{wire.Prefix + "desired": "x"})
	g.Expect(c.Create(t.Context(), edge)).To(Succeed())

	g.Expect(merge(`{"metadata":{"finalizers":["example.com/wait"]}}`)).To(Succeed())
	g.Expect(c.Delete(t.Context(), u.DeepCopy())).To(Succeed())
	g.Expect(merge(`{"metadata":{"annotations":{"`+prefix+`mtu":"11"}}}`)).To(Succeed(), "a deleted object is not judged")
	g.Expect(merge(`{"metadata":{"finalizers":null}}`)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(u), u.DeepCopy()))
	}).WithTimeout(patience).Should(BeTrue())
	g.Expect(w.take()).To(BeEmpty())
}

// testKubectl: what a user of kubectl reads.
func testKubectl(t *testing.T, s *server) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, s.Env.KubeConfig, 0o600)).To(Succeed())
	annotate := func(annotation string) (string, error) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(s.Env.BinaryAssetsDirectory, "kubectl"), "--kubeconfig", file,
			"annotate", "--dry-run=server", "-n", "clusters", "hostedcluster", "blue", settings.Prefix+annotation).CombinedOutput()
		return string(out), err
	}
	out, err := annotate("gatway=192.168.100.1")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(out).To(And(ContainSubstring("Warning: "), ContainSubstring("Did you mean gateway?"), ContainSubstring("annotated")))
	out, err = annotate("cidr=192.168.100.0/244")
	g.Expect(err).To(HaveOccurred())
	g.Expect(out).To(ContainSubstring(`Annotation cidr of HostedCluster blue has the invalid value "192.168.100.0/244". Set an IPv4 network such as 192.168.100.0/24.`))
}
