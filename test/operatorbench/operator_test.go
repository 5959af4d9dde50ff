package operatorbench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/hcp/settings"
)

// settle is how long the operator sends no request once it has nothing left to do.
const settle = 2 * time.Second

// A size is how many there are of what.
type size struct {
	clusters int
	// others is how many times the clusters' Services, EndpointSlices and VMs exist besides.
	others int
	// quiet is how long nothing happens.
	quiet time.Duration
}

// sizeOf is what the environment asks for: $OOOI_CLUSTERS (20), $OOOI_OTHERS (1) and $OOOI_QUIET (5s).
func sizeOf(t *testing.T) size {
	t.Helper()
	g := NewWithT(t)
	s := size{clusters: 20, others: 1, quiet: 5 * time.Second}
	var err error
	for name, n := range map[string]*int{"OOOI_CLUSTERS": &s.clusters, "OOOI_OTHERS": &s.others} {
		if text := os.Getenv(name); text != "" {
			*n, err = strconv.Atoi(text)
			g.Expect(err).NotTo(HaveOccurred(), name)
		}
	}
	if text := os.Getenv("OOOI_QUIET"); text != "" {
		s.quiet, err = time.ParseDuration(text)
		g.Expect(err).NotTo(HaveOccurred(), "OOOI_QUIET")
	}
	return s
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // The operator has a log of its own.
	os.Exit(m.Run())
}

// A table collects rows of figures.
type table struct{ strings.Builder }

func (x *table) row(t *testing.T, what, figure string) {
	t.Helper()
	t.Logf("%s: %s", what, figure)
	fmt.Fprintf(x, "| %s | %s |\n", what, figure)
}

// TestOperator asserts how many requests many hosted clusters cost, and prints what else they cost.
// $OOOI_OPERATOR_TABLE is a file for the figures.
func TestOperator(t *testing.T) {
	g := NewWithT(t)
	s, w := sizeOf(t), newWorld(t)
	l := w.launcher(t)
	l.elects = true
	began := time.Now()
	w.addOthers(t, s.clusters, s.others)
	w.addClusters(t, s.clusters)
	t.Logf("the world took %s", time.Since(began))
	w.playDeployments(t)
	x := &table{}
	fmt.Fprintf(x, "| %d hosted clusters, %d times as many objects of others | |\n| --- | --- |\n", s.clusters, s.others)
	all := s.clusters

	began = time.Now()
	m := l.start(t)
	g.Eventually(func() int { _, ready := m.ready(); return ready }, "20m", "100ms").Should(Equal(all))
	x.row(t, "all served from nothing", fmt.Sprintf("%.1f s", time.Since(began).Seconds()))
	first, position := w.until(t, 0, settle)
	x.row(t, "its requests for one cluster", fmt.Sprintf("%d, %d of them writes", len(first)/all, len(writes(first))/all))
	x.row(t, "its cost", m.cost(t).String())
	t.Log(counts(first))

	before := m.cost(t)
	quiet, position := w.during(t, position, s.quiet)
	x.row(t, fmt.Sprintf("%s in which nothing happens", s.quiet), fmt.Sprintf("%d requests, %d writes, %.2f CPU seconds", len(quiet), len(writes(quiet)), (m.cost(t).cpu-before.cpu).Seconds()))
	statuses, others := ofStatuses(writes(quiet))
	if len(others) > 0 {
		t.Errorf("nothing happens, and the operator writes: %s", counts(others))
	}
	if most := all * int(1+s.quiet/report.StatusEvery); len(statuses) > most {
		t.Errorf("%d statuses are stored again, want at most %d", len(statuses), most)
	}

	x.row(t, "its cost since it started", m.cost(t).String())
	position = w.measureEdit(t, x, m, position)
	position = w.measurePass(t, x, m, position)

	m.stop(syscall.SIGTERM)
	began = time.Now()
	m = l.start(t)
	g.Eventually(func() int { reconciled, _ := m.ready(); return reconciled }, "20m", "100ms").Should(Equal(all))
	x.row(t, "restart, until all are reconciled", fmt.Sprintf("%.1f s", time.Since(began).Seconds()))
	again, _ := w.until(t, position, settle)
	x.row(t, "its requests for one cluster", fmt.Sprintf("%.1f", float64(len(again))/float64(all)))
	x.row(t, "its cost", m.cost(t).String())
	t.Log(counts(again))
	if file := os.Getenv("OOOI_OPERATOR_TABLE"); file != "" {
		g.Expect(os.WriteFile(file, []byte(x.String()), 0o644)).To(Succeed())
	}
}

// during are the requests while some time passes.
func (w *world) during(t *testing.T, from int64, length time.Duration) (all []request, end int64) {
	t.Helper()
	<-time.After(length)
	return w.asked(t, from)
}

// What one hosted cluster may cost: requests of a pass that changes nothing, requests for a change of
// one setting, and how many of these write.
const (
	maxPass       = 1
	maxEdit       = 8
	maxEditWrites = 4
)

// measureEdit changes a setting of one cluster. Only that cluster may cost anything.
func (w *world) measureEdit(t *testing.T, x *table, m *manager, position int64) (end int64) {
	t.Helper()
	g := NewWithT(t)
	name := w.names[len(w.names)/2]
	before := w.condition(t, name)
	passes, spent, began := m.passes(t), m.cost(t).cpu, time.Now()
	w.annotate(t, name, "lease-time", "30m")
	g.Eventually(func() string { return w.condition(t, name).Message }, "60s", "50ms").ShouldNot(Equal(before.Message))
	took := time.Since(began)
	all, end := w.until(t, position, settle)
	x.row(t, "a setting of one cluster changes", fmt.Sprintf("%.1f s, %d requests, %d of them writes, in %d passes, %.2f CPU seconds",
		took.Seconds(), len(all), len(writes(all)), m.passes(t)-passes, (m.cost(t).cpu-spent).Seconds()))
	t.Log(counts(all))
	g.Expect(len(ofClusters(all))).To(BeNumerically("<=", maxEdit))
	g.Expect(len(writes(all))).To(BeNumerically("<=", maxEditWrites))
	g.Expect(namespaces(all)).To(HaveEach(BeElementOf(clustersNamespace, controlPlane(name))))
	return end
}

// measurePass lets HyperShift write a condition, which changes nothing that oooi reads.
func (w *world) measurePass(t *testing.T, x *table, m *manager, position int64) (end int64) {
	t.Helper()
	g := NewWithT(t)
	passes, spent := m.passes(t), m.cost(t).cpu
	hc := w.hostedCluster(t, w.names[0])
	meta.SetStatusCondition(&hc.Status.Conditions, metav1.Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "AsExpected"})
	g.Expect(w.Admin.Status().Update(t.Context(), hc)).To(Succeed())
	g.Eventually(func() int { return m.passes(t) }, "1m", "50ms").Should(BeNumerically(">", passes))
	all, end := w.until(t, position, settle)
	n := m.passes(t) - passes
	all = ofClusters(all)
	x.row(t, "a pass that changes nothing", fmt.Sprintf("%d requests, %d of them writes, %.3f CPU seconds", len(all)/n, len(writes(all))/n, (m.cost(t).cpu-spent).Seconds()/float64(n)))
	t.Log(counts(all))
	g.Expect(len(all)).To(BeNumerically("<=", n*maxPass))
	return end
}

func (w *world) hostedCluster(t *testing.T, name string) *hyperv1.HostedCluster {
	t.Helper()
	hc := &hyperv1.HostedCluster{}
	NewWithT(t).Expect(w.Admin.Get(t.Context(), types.NamespacedName{Namespace: clustersNamespace, Name: name}, hc)).To(Succeed())
	return hc
}

// condition is the operator's, zero where there is none.
func (w *world) condition(t *testing.T, name string) (c metav1.Condition) {
	t.Helper()
	if found := meta.FindStatusCondition(w.hostedCluster(t, name).Status.Conditions, settings.Prefix+"NetworkReady"); found != nil {
		c = *found
	}
	return c
}

// annotate sets an annotation of oooi. An empty value removes it.
func (w *world) annotate(t *testing.T, name, key, value string) {
	t.Helper()
	hc := w.hostedCluster(t, name)
	before := hc.DeepCopy()
	metav1.SetMetaDataAnnotation(&hc.ObjectMeta, settings.Prefix+key, value)
	if value == "" {
		delete(hc.Annotations, settings.Prefix+key)
	}
	NewWithT(t).Expect(w.Admin.Patch(t.Context(), hc, client.MergeFrom(before))).To(Succeed())
}
