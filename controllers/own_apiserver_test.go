package controllers

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// sentRequests are those that the operator's account sent. The zero value is empty.
type sentRequests struct {
	mu  sync.Mutex
	all []string
}

// wrap records what passes through rt.
func (r *sentRequests) wrap(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		r.all = append(r.all, req.Method+" "+req.URL.Path)
		r.mu.Unlock()
		return rt.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// during are the requests while do runs, except those of the leader election.
func (r *sentRequests) during(do func()) []string {
	r.mu.Lock()
	before := len(r.all)
	r.mu.Unlock()
	do()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.all[before:]), func(s string) bool { return strings.HasSuffix(s, "/leases/oooi.densityops.com") })
}

// testQuietPass: a pass that changes nothing asks the API server for nothing that a cache has. It lists the
// endpoints of Services without a selector, which the Services of tests are.
func testQuietPass(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "quiet")
	g.Eventually(func() []string { return s.requests.during(func() { again(t, r, h) }) }).
		Should(Or(BeEmpty(), ConsistOf(HavePrefix("GET /apis/discovery.k8s.io/v1/namespaces/"+h.ns+"/endpointslices"))))
}

// testFormerLeases: leases of a network that is no longer served are removed, and no pass after that
// fails for it, whatever the caches show.
func testFormerLeases(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "former")
	labels := wire.NamedLabels(wire.NameDHCP)
	labels[wire.LabelNetwork] = "former"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: h.ns, Name: wire.LeaseName("former", netip.MustParseAddr("192.168.9.9")), Labels: labels}}
	g.Expect(s.admin.Create(t.Context(), lease)).To(Succeed())
	now := time.Now()
	later := &Reconciler{Client: r.Client, Live: r.Live, SecondNames: r.SecondNames, Events: r.Events, Metrics: r.Metrics, Options: r.Options,
		Now: func() time.Time { return now }}
	again(t, later, h)
	g.Expect(apierrors.IsNotFound(s.admin.Get(t.Context(), client.ObjectKeyFromObject(lease), lease))).To(BeTrue())
	now = now.Add(own.UnseenFor)
	g.Expect(s.requests.during(func() { again(t, later, h) })).NotTo(ContainElement(ContainSubstring(h.ns + "/leases")))
	// What other tests change for all clusters may be written meanwhile. The cache shows it soon.
	g.Eventually(func() bool { again(t, later, h); return later.writes.Pending(h.ns) }).Should(BeFalse())
}

// testStoriesNeedOneWrite: what the API server makes from each story's objects is recognized as what is
// desired, also by an operator that started since.
func testStoriesNeedOneWrite(t *testing.T, s *apiServer, _ *Reconciler) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldOf(t, story)
			d, all := writtenFor(t, &w)
			if d.Action != decide.Serve {
				return
			}
			s.writerIn(t, w)
			operator := s.likeManager(t)
			for _, u := range all {
				_, err := s.reconciler(operator).writer().Write(t.Context(), u.DeepCopy())
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(s.requests.during(func() {
					changed, err := s.reconciler(operator).writer().Write(t.Context(), u.DeepCopy())
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(changed).To(BeFalse())
				})).NotTo(ContainElement(HavePrefix("PATCH")), "%s %s", u.GetKind(), u.GetName())
			}
		})
	}
}

// testDefaultedObject: an object to which the API server adds defaults is written again only if something
// else is desired.
func testDefaultedObject(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	w, _ := served(t, "lb-ip")
	s.writerIn(t, w)
	r := s.reconciler(s.likeManager(t))
	dials := func(port int64) *unstructured.Unstructured {
		all := decide.About(w, testOptions.Release, testNow).Desired
		u := all[slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
			return o.GroupVersionKind() == own.NetworkPolicyKind && o.GetName() == desired.EdgePolicy
		})]
		rule := map[string]any{"ports": []any{map[string]any{"port": port}}}
		g.Expect(unstructured.SetNestedSlice(u.Object, []any{rule}, "spec", "egress")).To(Succeed())
		return u
	}
	for _, write := range []struct {
		port    int64
		changes bool
	}{{53, true}, {53, false}, {123, true}, {123, false}, {53, true}} {
		u := dials(write.port)
		changed, err := r.writer().Write(t.Context(), u)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(changed).To(Equal(write.changes), "port %d", write.port)
		ports, _, err := unstructured.NestedSlice(u.Object, "spec", "egress")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ports).To(ConsistOf(HaveKeyWithValue("ports", ConsistOf(And(
			HaveKeyWithValue("port", write.port), HaveKeyWithValue("protocol", "TCP"))))))
	}
}

// reconciler is one that has just started, and reads and writes with c.
func (s *apiServer) reconciler(c client.Client) *Reconciler {
	return &Reconciler{Client: c, Live: c, Events: events.NewFakeRecorder(100), Metrics: report.NewMetrics(prometheus.NewRegistry()), Options: testOptions, Now: time.Now}
}

// likeManager is a client of the operator's account that knows kinds as the manager does.
func (s *apiServer) likeManager(t *testing.T) client.Client {
	t.Helper()
	g, scheme := NewWithT(t), runtime.NewScheme()
	g.Expect(watch.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(s.operator, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// A laggingClient reads each object and each list as they were when they were first read, until forget.
type laggingClient struct {
	client.Client
	past map[string]any
}

func (c *laggingClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.once(reflect.TypeOf(o).String()+key.String(), o, func() error { return c.Client.Get(ctx, key, o, opts...) })
}

func (c *laggingClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	index := o.FieldSelector
	o.FieldSelector = nil
	if _, plans := list.(*corev1.ConfigMapList); plans {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, wire.PlanConfigMap) // As the cache has them.
	}
	return c.once(fmt.Sprint(reflect.TypeOf(list), o.Namespace, index, list.GetObjectKind().GroupVersionKind()), list, func() error {
		if err := c.Client.List(ctx, list, &o); err != nil || index == nil {
			return err
		}
		all, err := meta.ExtractList(list)
		if err != nil {
			return err
		}
		return meta.SetList(list, slices.DeleteFunc(all, func(x runtime.Object) bool { return !indexed(x, index) }))
	})
}

// indexed reports whether a cache finds o by this index.
func indexed(o runtime.Object, index fields.Selector) bool {
	all := fields.Set{}
	if o, ok := o.(client.Object); ok {
		for _, x := range watch.IndexesOf(o) {
			if value, ok := index.RequiresExactMatch(x.Name); ok && slices.Contains(x.Values(o), value) {
				all[x.Name] = value
			}
		}
	}
	return index.Matches(all)
}

func (c *laggingClient) once(what string, o any, read func() error) error {
	switch then := c.past[what].(type) {
	case error:
		return then
	case nil:
		if err := read(); err != nil {
			c.past[what] = err
			return err
		}
		c.past[what] = reflect.ValueOf(o).Elem().Interface()
	default:
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(then))
	}
	return nil
}

// forget lets the next reads see the present.
func (c *laggingClient) forget() { c.past = map[string]any{} }

// testLaggingCache: the operator never decides from an older state than its own last write, however
// late the cache is.
func testLaggingCache(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	h := s.newHosted(t, "late", nil)
	h.publish(t)
	cached := &laggingClient{Client: s.likeManager(t)}
	cached.forget()
	r := s.reconciler(cached)
	r.Live = cached.Client
	present := func() {
		cached.forget()
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: h.key})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Eventually(func() string {
		present()
		for _, d := range h.deployments(t, "vlan100") {
			g.Expect(h.serves(t, &d)).To(Succeed())
		}
		return h.says(t)()
	}).Should(And(HavePrefix(string(explain.ReadyWithWarnings)), Not(ContainSubstring("is not ready"))))

	h.annotate(t, "edge-node-selector", "rack=7")
	cached.forget()
	for range 3 {
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: h.key})
		g.Expect(err).NotTo(HaveOccurred())
		w, err := r.reader().World(t.Context(), h.key, gather.Before{Turn: r.waves.turn(h.key)})
		g.Expect(err).NotTo(HaveOccurred())
		d := decide.About(w, r.Options.Release, r.Now())
		one, _ := d.StepOf(h.edge())
		two, _ := d.StepOf(wire.EdgeDeploymentName(h.network("vlan100"), network.Edge{Number: 2}))
		g.Expect(two.Version).To(Equal(rollout.Current), "the cache does not show what was written, the operator knows it")
		g.Expect(one.Action).To(Equal(rollout.Hold), "edge 1 serves until edge 2 does")
	}
}
