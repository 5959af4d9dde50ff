// This file reads what all hosted clusters share, once for all of them: the nodes and the networks
// of the management cluster, and the addresses that its pods and Services use. A pass only takes
// what was read last. It decides nothing.

package controllers

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
)

const (
	// environmentReadWithin is how long one live read may take. At the start, all passes wait for it.
	environmentReadWithin = 3 * time.Second
	// observedFor is how long an address that was in use is not dialed after it was seen last. Each change
	// is written to all plans, and addresses of pods and load balancers come and go.
	observedFor = time.Hour
)

// An environment is what all hosted clusters share.
type environment struct {
	// nodes are shared with the cache: they are not to be changed.
	nodes []corev1.Node
	// networks of the management cluster.
	networks []network.ReservedDestination
	// observed are addresses in use, outside of networks and of the networks of nodes. External IPs of a
	// hosted cluster's own Services are not among them: they count for that cluster only.
	observed       []netip.Addr
	priorityClass  string
	multusIsolates bool
	// unread are the sources of it that were never read: plans in force may know more.
	unread []string
}

// equals reports whether e and o lead to the same plans.
func (e environment) equals(o environment) bool {
	return slices.Equal(e.networks, o.networks) && slices.Equal(e.observed, o.observed) && e.priorityClass == o.priorityClass &&
		slices.Equal(e.unread, o.unread) &&
		e.multusIsolates == o.multusIsolates && equality.Semantic.DeepEqual(nodeFacts(e.nodes), nodeFacts(o.nodes))
}

// nodeFacts are what plans depend on of nodes, by name. Amounts of resources change all the time.
func nodeFacts(nodes []corev1.Node) map[string]corev1.Node {
	out := map[string]corev1.Node{}
	for _, n := range nodes {
		n.ResourceVersion = ""
		offered := corev1.ResourceList{}
		for name, q := range n.Status.Allocatable {
			if !q.IsZero() {
				offered[name] = resource.Quantity{}
			}
		}
		n.Status.Allocatable = offered
		out[n.Name] = n
	}
	return out
}

// An environmentStore holds the environment that was read last. The zero value holds none.
type environmentStore struct {
	// reading is held by the one that reads, and guards sources. mu guards the rest.
	reading sync.Mutex
	sources sources
	mu      sync.Mutex
	known   bool
	last    environment
	// changed is true if last differs from what the keeper told all clusters.
	changed bool
	// seen are the addresses in use, and when each was seen last. reading guards it.
	seen map[netip.Addr]time.Time
}

// stillObserved are now and the addresses that were seen within observedFor. Its caller holds reading.
func (s *environmentStore) stillObserved(now []netip.Addr, at time.Time) []netip.Addr {
	if s.seen == nil {
		s.seen = map[netip.Addr]time.Time{}
	}
	for _, a := range now {
		s.seen[a] = at
	}
	maps.DeleteFunc(s.seen, func(_ netip.Addr, last time.Time) bool { return at.Sub(last) >= observedFor })
	return slices.Collect(maps.Keys(s.seen))
}

// current returns what was read last. ok is false if nothing was.
func (s *environmentStore) current() (e environment, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.known
}

// replace stores e. What was read before may differ, if anything was.
func (s *environmentStore) replace(e environment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = s.changed || s.known && !s.last.equals(e)
	s.last, s.known = e, true
}

// tell reports whether what was read changed since the last call.
func (s *environmentStore) tell() (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, s.changed = s.changed, false
	return changed
}

// gatherEnvironment sets what all hosted clusters share. The first pass of all reads it. While a source
// was never read, what the plan in force knows of it counts. The addresses of the cluster's own Services
// are added: gatherPublished read them.
func (r *Reconciler) gatherEnvironment(ctx context.Context, w *world) error {
	e, ok := r.environment.current()
	if !ok {
		r.environment.reading.Lock()
		defer r.environment.reading.Unlock()
		if e, ok = r.environment.current(); !ok {
			if err := r.readEnvironment(ctx); err != nil {
				return err
			}
			e, _ = r.environment.current()
		}
	}
	if len(e.unread) > 0 {
		e = e.with(w.last)
	}
	w.Nodes, w.Management, w.Proxy, w.Permissions = e.nodes, r.Options.Management, r.Options.Proxy, r.Options.Permissions
	w.Management.Networks = slices.Concat(w.Management.Networks, e.networks)
	w.Management.PriorityClass, w.MultusIsolates = e.priorityClass, e.multusIsolates
	w.Management.Observed = slices.Concat(e.observed, hcp.ServiceAddresses(w.Services, nil))
	return nil
}

// with is e with what the plan in force knows of the management cluster.
func (e environment) with(last network.Plan) environment {
	for _, n := range last.Networks {
		e.priorityClass = cmp.Or(e.priorityClass, n.Placement.PriorityClass)
		for _, p := range n.ReservedDestinations {
			e.networks = append(slices.Clip(e.networks), network.ReservedDestination{What: "the management cluster", Prefix: p})
		}
	}
	return e
}

// readEnvironment reads and stores the environment. Of a source that cannot be read, what was read last
// counts. Its caller holds reading.
func (r *Reconciler) readEnvironment(ctx context.Context) error {
	nodes := &corev1.NodeList{}
	if err := r.Client.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	tenants, err := r.controlPlaneNamespaces(ctx)
	if err != nil {
		return err
	}
	used, err := r.addressesInUse(ctx, tenants)
	if err != nil {
		return err
	}
	e := environment{nodes: nodes.Items}
	slices.SortFunc(e.nodes, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	known := &r.environment.sources
	e.networks = r.managementNetworks(ctx)
	m := hcp.Management{Networks: e.networks, Observed: used}
	m.Observed = r.environment.stillObserved(m.Unreserved(e.nodes), r.Now())
	e.observed = m.Unreserved(e.nodes)
	e.multusIsolates = known.multusIsolates.read(func() (bool, error) {
		_, err := r.Client.RESTMapper().RESTMapping(networkOperatorKind)
		return err == nil, present(err)
	})
	e.priorityClass = known.priorityClass.read(func() (string, error) { return r.readPriorityClass(ctx) })
	e.unread = known.never()
	r.reportSources(ctx)
	r.environment.replace(e)
	return nil
}

// addressesInUse are those of all Services and pods. The lists are large: one is released before the next.
func (r *Reconciler) addressesInUse(ctx context.Context, tenants map[string]bool) ([]netip.Addr, error) {
	services := &corev1.ServiceList{}
	if err := r.Client.List(ctx, services, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	out, pods := hcp.ServiceAddresses(services.Items, tenants), &discoveryv1.EndpointSliceList{}
	if err := r.Client.List(ctx, pods, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return append(out, hcp.PodAddresses(pods.Items)...), nil
}

// controlPlaneNamespaces are those of all hosted clusters, whether or not they opted in.
func (r *Reconciler) controlPlaneNamespaces(ctx context.Context) (map[string]bool, error) {
	list, out := &lenient.HostedClusterList{}, map[string]bool{}
	if err := present(r.Client.List(ctx, list, client.UnsafeDisableDeepCopy)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		out[hcp.ControlPlaneNamespace(&list.Items[i].Fields.HostedCluster)] = true
	}
	return out, nil
}

// readPriorityClass returns priorityClass if it exists.
func (r *Reconciler) readPriorityClass(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, environmentReadWithin)
	defer cancel()
	class := &metav1.PartialObjectMetadata{}
	class.SetGroupVersionKind(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"))
	if err := r.Live.Get(ctx, types.NamespacedName{Name: priorityClass}, class); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return priorityClass, nil
}

// An environmentKeeper reads the environment again and again. When it changed, all hosted clusters
// are reconciled.
type environmentKeeper struct {
	*Reconciler
	log logr.Logger
	// changed receives an event for every cluster.
	changed chan event.GenericEvent
}

// Start implements manager.Runnable.
func (k *environmentKeeper) Start(ctx context.Context) error {
	tick := time.NewTicker(k.intervals.orProduct().environment)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		changed, err := k.look(ctx)
		if err != nil && ctx.Err() == nil {
			k.log.Error(err, "cannot read what all hosted clusters share: they keep what was read last")
		}
		if changed {
			k.log.Info("the management cluster's networks, addresses or nodes changed")
			send(ctx, k.changed, &metav1.PartialObjectMetadata{})
		}
	}
}

func (k *environmentKeeper) look(ctx context.Context) (changed bool, err error) {
	k.environment.reading.Lock()
	defer k.environment.reading.Unlock()
	err = k.readEnvironment(ctx)
	return k.environment.tell(), err
}
