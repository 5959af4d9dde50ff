package operatorbench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	_ "github.com/cldmnky/oooi/test/patience"
)

// patience is how long the operator may take until everything is as asked.
const patience = 60 * time.Second

// What a hosted cluster asks for.
type wish struct {
	// network is auto or none.
	network string
	edges   int
	lease   time.Duration
}

// asks sets all of x on a hosted cluster.
func (w *world) asks(t *testing.T, name string, x wish) {
	t.Helper()
	w.annotate(t, name, "edges", strconv.Itoa(x.edges))
	w.annotate(t, name, "lease-time", x.lease.String())
	w.annotate(t, name, "network", x.network)
}

// ours are all objects of oooi in a control plane namespace, as "Kind name".
func (w *world) ours(t *testing.T, name string) []string {
	t.Helper()
	out := []string{}
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("ServiceAccount"), appsv1.SchemeGroupVersion.WithKind("Deployment"),
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, {Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		NewWithT(t).Expect(w.Admin.List(t.Context(), list, client.InNamespace(controlPlane(name)), client.MatchingLabels(wire.OwnedLabels()))).To(Succeed())
		for _, o := range list.Items {
			out = append(out, kind.Kind+" "+o.Name)
		}
	}
	return out
}

// differs says what of a hosted cluster differs from what it requests. Empty: nothing.
func (w *world) differs(t *testing.T, name string, x wish) string {
	t.Helper()
	there, condition := w.ours(t, name), w.condition(t, name)
	if x.network == "none" {
		if len(there) > 0 || condition.Type != "" {
			return fmt.Sprintf("%s opted out and has %v, condition %s", name, there, condition.Reason)
		}
		return ""
	}
	cm := &corev1.ConfigMap{}
	if err := w.Admin.Get(t.Context(), client.ObjectKey{Namespace: controlPlane(name), Name: wire.PlanConfigMap}, cm); err != nil {
		return err.Error()
	}
	plan, err := network.ReadPlan([]byte(cm.Data[wire.PlanKey]))
	deployments := 0
	for _, o := range there {
		if strings.HasPrefix(o, "Deployment ") {
			deployments++
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case len(plan.Networks) != 1 || len(plan.Networks[0].Edges) != x.edges || deployments != x.edges:
		return fmt.Sprintf("%s asks for %d edges and has %v", name, x.edges, there)
	case !strings.Contains(cm.Data[wire.PlanKey], fmt.Sprintf("%q", x.lease.String())):
		return fmt.Sprintf("%s asks for leases of %s", name, x.lease)
	case condition.Status != metav1.ConditionTrue:
		return fmt.Sprintf("%s: %s: %s", name, condition.Reason, condition.Message)
	}
	return ""
}

// TestChaos changes random settings for $OOOI_CHAOS (5s), and kills the operator every second. Once
// this ends, everything is as asked, and nothing is left of clusters that opted out. The same
// holds where the operator is killed instead of one certain write, and while the API server is away.
func TestChaos(t *testing.T) {
	length := 5 * time.Second
	if text := os.Getenv("OOOI_CHAOS"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	w := newWorld(t)
	w.addClusters(t, 4)
	w.playDeployments(t)
	l := w.launcher(t)
	t.Run("killed every second", func(t *testing.T) { w.killed(t, l, length) })
	t.Run("killed between two writes", func(t *testing.T) { w.killedBetweenWrites(t, l, length > time.Minute) })
	t.Run("the API server is away", func(t *testing.T) { w.withoutAPIServer(t, l) })
}

func (w *world) killed(t *testing.T, l launcher, length time.Duration) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random, wishes := rand.New(rand.NewPCG(seed, 1)), map[string]wish{}
	m := l.start(t)
	edit, kill, end := time.NewTicker(150*time.Millisecond), time.NewTicker(time.Second), time.After(length)
	defer edit.Stop()
	defer kill.Stop()
	edits, kills := 0, 0
	for end != nil {
		select {
		case <-end:
			end = nil
		case <-kill.C:
			m.stop(syscall.SIGKILL)
			m, kills = l.start(t), kills+1
		case <-edit.C:
			name := w.names[random.IntN(len(w.names))]
			x := wish{network: []string{"auto", "auto", "none"}[random.IntN(3)], edges: 1 + random.IntN(2), lease: time.Duration(20+random.IntN(40)) * time.Minute}
			wishes[name], edits = x, edits+1
			w.asks(t, name, x)
		}
	}
	t.Logf("%d edits, %d kills", edits, kills)
	for name, x := range wishes {
		NewWithT(t).Eventually(func() string { return w.differs(t, name, x) }, patience, "200ms").Should(BeEmpty())
	}
	m.stop(syscall.SIGTERM)
}

// killedBetweenWrites kills the operator instead of each write of an operation: every one, or some.
func (w *world) killedBetweenWrites(t *testing.T, l launcher, every bool) {
	x := w.newGate(t)
	l.through(t, x)
	name, step := w.names[0], 9
	if every {
		step = 1
	}
	none, two := wish{"none", 2, time.Hour}, wish{"auto", 2, time.Hour}
	for _, op := range []struct {
		what         string
		before, then wish
	}{
		{"opt in", none, two}, {"a change", two, wish{"auto", 2, 30 * time.Minute}}, {"one edge", two, wish{"auto", 1, time.Hour}}, {"opt out", two, none},
	} {
		cut := true
		for n := 0; cut; n += step {
			cut = w.cutAfter(t, l, x, name, n, op.before, op.then)
			t.Logf("%s, killed instead of write %d: %v", op.what, n+1, cut)
		}
	}
}

// cutAfter kills the operator after n of the writes with which it changes a hosted cluster from one wish to another.
// It reports whether there were more.
func (w *world) cutAfter(t *testing.T, l launcher, x *gate, name string, n int, before, then wish) (cut bool) {
	t.Helper()
	g := NewWithT(t)
	x.set(false, -1, nil)
	m := l.start(t)
	w.asks(t, name, before)
	g.Eventually(func() string { return w.differs(t, name, before) }, patience, "50ms").Should(BeEmpty())
	died := make(chan struct{})
	x.set(false, n, func() { _ = m.Process.Signal(syscall.SIGKILL); close(died) })
	w.asks(t, name, then)
	g.Eventually(func() bool {
		select {
		case <-died:
			cut = true
		default:
		}
		return cut || w.differs(t, name, then) == ""
	}, patience, "20ms").Should(BeTrue())
	m.stop(syscall.SIGKILL)
	x.set(false, -1, nil)
	m = l.start(t)
	g.Eventually(func() string { return w.differs(t, name, then) }, patience, "50ms").Should(BeEmpty(), "killed instead of write %d", n+1)
	m.stop(syscall.SIGTERM)
	return cut
}

// withoutAPIServer changes a setting while the operator cannot reach the API server.
func (w *world) withoutAPIServer(t *testing.T, l launcher) {
	g := NewWithT(t)
	x := w.newGate(t)
	l.through(t, x)
	m, name := l.start(t), w.names[1]
	first, then := wish{"auto", 2, time.Hour}, wish{"auto", 1, 25 * time.Minute}
	w.asks(t, name, first)
	g.Eventually(func() string { return w.differs(t, name, first) }, patience, "100ms").Should(BeEmpty())
	x.set(true, -1, nil)
	w.asks(t, name, then)
	g.Consistently(func() string { return w.differs(t, name, then) }, "2s", "200ms").ShouldNot(BeEmpty())
	x.set(false, -1, nil)
	g.Eventually(func() string { return w.differs(t, name, then) }, patience, "100ms").Should(BeEmpty())
	m.stop(syscall.SIGTERM)
}
