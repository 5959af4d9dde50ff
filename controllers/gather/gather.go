// Package gather reads all facts that decisions about one hosted cluster need, as one World. It remembers nothing, and
// decides nothing about that cluster. hcp.NewNeighbor derives what other clusters on its networks want.
package gather

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/net/http/httpproxy"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/environment"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A World is the observed state of one hosted cluster.
type World struct {
	hcp.Objects
	// ControlPlane is the HostedControlPlane, which owns all objects of oooi. Nil: HyperShift has not created it.
	ControlPlane *metav1.PartialObjectMetadata
	// VMsUnread is why VMs could not be listed. It is set only for a cluster that does not opt in.
	VMsUnread error
	// Binding gives the operator ControlPlaneRole in the control plane namespace. Nil: the operator
	// cannot write there.
	Binding *metav1.PartialObjectMetadata
	// Rival is another hosted cluster that keeps the same control plane namespace. Zero: there is none.
	Rival types.NamespacedName
	// Owned are all other objects of oooi for this hosted cluster.
	Owned []metav1.PartialObjectMetadata
	// Led is true if a load balancer of the hosted cluster forwards to edges.
	Led bool
	// Edges are the Deployments in Owned.
	Edges []Edge
	// EdgeReports are the reports of the edges in Last, stale ones included.
	EdgeReports []NetworkReport
	// Turn says whether edges of an older release may be recreated with the operator's release.
	Turn waves.Turn
	// Loss says whether the last pass found annotation network lost, and how far the removal is.
	Loss Loss
	// PreviousReport is the last Report of the operator. Zero: there is none.
	PreviousReport explain.Report
	// Last is the plan in force. Zero: there is none.
	Last network.Plan
	// LastText is Last as it is stored.
	LastText string
	// Unread has a problem for each plan in force, of this cluster or of a neighbor, that cannot be read. It also has one for
	// each node port that a neighbor sets, too.
	Unread problem.Problems
	// Others are the other hosted clusters on its networks, sorted by name.
	Others []derive.OtherCluster
	// APIServers are the addresses of the management cluster's API server. Empty: unknown.
	APIServers []netip.AddrPort
	// Incomplete is true if a read failed, so that w lacks something.
	Incomplete bool
	// ByHand are the endpoints of Services that do not select pods.
	ByHand map[desired.ServicePort][]netip.AddrPort
}

// HasControlPlane reports whether a control plane exists and is not being deleted.
func (w World) HasControlPlane() bool {
	return w.ControlPlane != nil && w.ControlPlane.DeletionTimestamp.IsZero()
}

// A Before holds what the operator remembers of a hosted cluster, for the next World.
type Before struct {
	Turn waves.Turn
	Loss Loss
	Last *LastReport
}

// A Reader reads worlds.
type Reader struct {
	own.Store
	// Kinds knows which kinds are watched. Nil: all are.
	Kinds *watch.Kinds
	// Observed knows whether the status of an edge is about its present spec.
	Observed *own.Observed
	Shared   environment.Reader
	// Management, Proxy and Permissions are set by the administrator.
	Management  management.Cluster
	Proxy       httpproxy.Config
	Permissions network.Permissions
}

// World reads the World of the hosted cluster key. If the HostedCluster does not exist, the error is ErrGone.
func (r Reader) World(ctx context.Context, key types.NamespacedName, before Before) (w World, err error) {
	defer func() { w.Incomplete = err != nil }()
	hc := &lenient.HostedCluster{}
	if err := r.Client.Get(ctx, key, hc); apierrors.IsNotFound(err) {
		return w, ErrGone
	} else if err != nil {
		return w, err
	}
	w.SetHostedCluster(hc)
	w.Turn, w.Loss = before.Turn, before.Loss
	before.Last.overlay(w.HostedCluster, r.Now())
	if !w.HostedCluster.DeletionTimestamp.IsZero() {
		return w, nil
	}
	w.PreviousReport = r.readReport(ctx, w.HostedCluster, before.Last)
	if err := r.readOwned(ctx, &w); err != nil {
		return w, fmt.Errorf("reading objects of oooi: %w", err)
	}
	if !hcp.OptedIn(w.HostedCluster) {
		return w, r.gatherRemaining(ctx, &w)
	}
	if err := r.gatherRival(ctx, &w); err != nil {
		return w, fmt.Errorf("reading the hosted clusters of one control plane namespace: %w", err)
	}
	if err := r.gatherInput(ctx, &w); err != nil {
		return w, fmt.Errorf("reading the request: %w", err)
	}
	return w, nil
}

// EdgesOn returns the existing edges on the network with this label.
func (w World) EdgesOn(label string) []Edge {
	return slices.DeleteFunc(slices.Clone(w.Edges), func(e Edge) bool { return e.Role != RoleEdge || e.Network != label })
}

// Edge returns the Deployment of oooi with this name, whatever its role.
func (w World) Edge(name string) (Edge, bool) {
	i := slices.IndexFunc(w.Edges, func(e Edge) bool { return e.Name == name })
	if i < 0 {
		return Edge{}, false
	}
	return w.Edges[i], true
}

// A Loss says whether the last pass found a cluster's annotation network lost, and how far the removal is. It counts
// only passes of this process.
type Loss int

const (
	// LossUnseen: there was no pass yet.
	LossUnseen Loss = iota
	// LossNone: the cluster opts in or is paused.
	LossNone
	// LossAnnounced: the annotation is lost, and the removal is announced.
	LossAnnounced
	// LossRemoving: the removal has begun.
	LossRemoving
)

// ErrGone is the error of Reader.World if the HostedCluster does not exist. If any other object is missing, World
// returns another error, or none.
var ErrGone = errors.New("the HostedCluster does not exist")
