// Package environment reads what all hosted clusters share, once for all clusters. These are the nodes and the networks
// of the management cluster, and the addresses of its pods and Services. A pass uses what was read last. It decides
// nothing.
package environment

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

const (
	// environmentReadWithin limits one live read. At the start, all passes wait for these reads.
	environmentReadWithin = 3 * time.Second
	// observedFor is how long edges still do not dial an address after its last use. Addresses of pods and load
	// balancers come and go, and each change is written to all plans.
	observedFor = time.Hour
)

var networkOperatorKind = management.NetworkOperatorKind().GroupKind()

// An Environment is what all hosted clusters share.
type Environment struct {
	// Nodes are shared with the cache and must not be changed.
	Nodes    []corev1.Node
	Networks []network.ReservedDestination
	// Observed are addresses in use that are outside of Networks and of the networks of nodes. External IPs of a
	// hosted cluster's own Services are left out, because they count for that cluster only.
	Observed       []netip.Addr
	PriorityClass  string
	MultusIsolates bool
	// unread are the sources that were never read. Plans in force may have data from them.
	unread []string
}

// Equals reports whether plans made with e and with o are the same.
func (e Environment) Equals(o Environment) bool {
	return slices.Equal(e.Networks, o.Networks) && slices.Equal(e.Observed, o.Observed) && e.PriorityClass == o.PriorityClass &&
		slices.Equal(e.unread, o.unread) &&
		e.MultusIsolates == o.MultusIsolates && equality.Semantic.DeepEqual(nodeFacts(e.Nodes), nodeFacts(o.Nodes))
}

// nodeFacts returns the fields of nodes that plans depend on, by name. Resources change all the time and are left out.
// Maintenance is left out, too: only a pass after an edge became unavailable needs it.
func nodeFacts(nodes []corev1.Node) map[string]corev1.Node {
	out := map[string]corev1.Node{}
	for _, n := range nodes {
		n.ResourceVersion, n.Spec.Unschedulable = "", false
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

// A Store holds the environment that was read last. The zero value is empty.
type Store struct {
	// reading is locked during a read. It protects sources and seen.
	reading sync.Mutex
	sources sources
	// seen are the addresses in use, and when each was seen last.
	seen map[netip.Addr]time.Time
	// last is the most recently read environment. Nil: none.
	last atomic.Pointer[Environment]
}

// stillObserved records that the addresses in now are seen at the given time. It returns all addresses whose last use
// is less than observedFor ago. The caller holds reading.
func (s *Store) stillObserved(now []netip.Addr, at time.Time) []netip.Addr {
	if s.seen == nil {
		s.seen = map[netip.Addr]time.Time{}
	}
	for _, a := range now {
		s.seen[a] = at
	}
	maps.DeleteFunc(s.seen, func(_ netip.Addr, last time.Time) bool { return at.Sub(last) >= observedFor })
	return slices.Collect(maps.Keys(s.seen))
}

// With returns e. For sources that were never read, it adds what the plan in force has about the management cluster.
func (e Environment) With(last network.Plan) Environment {
	if len(e.unread) == 0 {
		return e
	}
	for _, n := range last.Networks {
		e.PriorityClass = cmp.Or(e.PriorityClass, n.Placement.PriorityClass)
		for _, p := range n.ReservedDestinations {
			e.Networks = append(slices.Clip(e.Networks), network.ReservedDestination{What: "the management cluster", Prefix: p})
		}
	}
	return e
}

// A Reader reads the environment of a store.
type Reader struct {
	*Store
	// Cached reads from the cache, and sends the dry run of a Service. Live reads from the API server.
	Cached    client.Client
	Live      client.Reader
	Namespace string
	Metrics   metrics.Set
	Now       func() time.Time
}

// Current returns the environment that was read last. If there is none, it reads it.
func (r Reader) Current(ctx context.Context) (Environment, error) {
	if e := r.last.Load(); e != nil {
		return *e, nil
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	if e := r.last.Load(); e != nil {
		return *e, nil
	}
	return r.read(ctx)
}

// Look reads the environment again. changed reports whether plans may change.
func (r Reader) Look(ctx context.Context) (changed bool, err error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	before := r.last.Load()
	e, err := r.read(ctx)
	return err == nil && before != nil && !before.Equals(e), err
}

// read reads and stores the environment. Of a source that cannot be read, the last state counts. The caller holds
// reading.
func (r Reader) read(ctx context.Context) (e Environment, err error) {
	nodes := &corev1.NodeList{}
	if err := r.Cached.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return e, err
	}
	tenants, err := r.controlPlaneNamespaces(ctx)
	if err != nil {
		return e, err
	}
	used, err := r.addressesInUse(ctx, tenants)
	if err != nil {
		return e, err
	}
	e.Nodes = nodes.Items
	slices.SortFunc(e.Nodes, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	known := &r.sources
	e.Networks = r.managementNetworks(ctx)
	m := management.Cluster{Networks: e.Networks, Observed: used}
	m.Observed = r.stillObserved(m.Unreserved(e.Nodes), r.Now())
	e.Observed = m.Unreserved(e.Nodes)
	known.multusIsolates = read(known.state(networkOperatorKind.String()), known.multusIsolates, func() (bool, error) {
		_, err := r.Cached.RESTMapper().RESTMapping(networkOperatorKind)
		return err == nil, requests.Present(err)
	})
	known.priorityClass = read(known.state(priorityClassSource), known.priorityClass, func() (string, error) { return r.readPriorityClass(ctx) })
	e.MultusIsolates, e.PriorityClass = known.multusIsolates, known.priorityClass
	e.unread = known.never()
	r.reportSources(ctx)
	r.last.Store(&e)
	return e, nil
}

// addressesInUse reads all Services and pods. The lists are large, so one is released before the next is read.
func (r Reader) addressesInUse(ctx context.Context, tenants map[string]bool) ([]netip.Addr, error) {
	services := &corev1.ServiceList{}
	if err := r.Cached.List(ctx, services, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	out, pods := management.ServiceAddresses(services.Items, tenants), &discoveryv1.EndpointSliceList{}
	if err := r.Cached.List(ctx, pods, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return append(out, management.PodAddresses(pods.Items)...), nil
}

// controlPlaneNamespaces returns the control plane namespaces of all hosted clusters, whether or not they opted in.
func (r Reader) controlPlaneNamespaces(ctx context.Context) (map[string]bool, error) {
	list, out := &lenient.HostedClusterList{}, map[string]bool{}
	if err := requests.Present(r.Cached.List(ctx, list, client.UnsafeDisableDeepCopy)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		out[hcp.ControlPlaneNamespace(&list.Items[i].Fields.HostedCluster)] = true
	}
	return out, nil
}

// readPriorityClass returns "" if the PriorityClass of edges does not exist.
func (r Reader) readPriorityClass(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, environmentReadWithin)
	defer cancel()
	class := &metav1.PartialObjectMetadata{}
	class.SetGroupVersionKind(management.PriorityClassKind())
	if err := r.Live.Get(ctx, types.NamespacedName{Name: management.PriorityClass}, class); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return management.PriorityClass, nil
}

// A Keeper reads the environment at intervals. When it has changed, all hosted clusters are reconciled.
type Keeper struct {
	Reader
	Every time.Duration
	Log   logr.Logger
	// Changed receives an event for every cluster.
	Changed chan event.GenericEvent
}

// Start implements manager.Runnable.
func (k *Keeper) Start(ctx context.Context) error {
	tick := time.NewTicker(k.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		changed, err := k.Look(ctx)
		if err != nil && ctx.Err() == nil {
			k.Log.Error(err, "shared cluster state cannot be read, keeping the last known state")
		}
		if changed {
			k.Log.Info("the management cluster's networks, addresses or nodes changed")
			select {
			case k.Changed <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{}}:
			case <-ctx.Done():
			}
		}
	}
}
