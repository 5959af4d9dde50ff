// This file decides which load balancers of a hosted cluster lead to edges: their Service gets a selector of edges, so
// that it forwards to them. It also decides which remaining endpoints to remove.
//
// HyperShift's cloud controller copies each load balancer of the hosted cluster to the control plane namespace, without
// a selector. HyperShift then writes the addresses of VMs to EndpointSlices, unless the Service has a selector. With or
// without a selector, older EndpointSlices remain: Kubernetes does not delete those with edges when a selector is
// removed.

package decide

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/derive/opened"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A LedService is a load balancer that forwards to edges, or will.
type LedService struct {
	Name string
	UID  types.UID
}

// A Leading says what to do with load balancers, in this order.
type Leading struct {
	// Lead are Services to forward to the edges with the labels in Selector.
	Lead     []LedService
	Selector map[string]string
	// Back are Services to give back to HyperShift, with the Service of the ingress first. When a copy changes,
	// HyperShift writes the addresses of VMs for all Services. It does not watch the Service of the ingress.
	Back []LedService
	// Slices are EndpointSlices to remove. Their Service does not forward to their addresses.
	Slices []services.Slice
	// Endpoints are names of Endpoints that may have edges, although their Service does not forward to edges.
	Endpoints []string
	Problems  problem.Problems
}

// leads decides about the load balancers of w while plan is in force. A Service is forwarded to edges of the plan's
// network when each running edge has opened its ports. If it gets new ports later, it stays with these edges.
func (w view) leads(plan network.Plan) Leading {
	var x Leading
	edges := map[string]bool{} // For each Service in the plan: whether it forwards to edges.
	for _, n := range plan.Networks {
		if n.Access.LoadBalancers == nil || !n.Access.LoadBalancers.Here {
			continue
		}
		var pending []network.BalancedService
		x.Selector = wire.NetworkLabels(wire.NameEdge, n)
		for _, s := range n.Access.LoadBalancers.Services {
			i := slices.IndexFunc(w.Services, func(o corev1.Service) bool { return o.Name == s.Name })
			if i < 0 || !services.IsLoadBalancer(&w.Services[i]) {
				continue // HyperShift will create the Service again.
			}
			live := &w.Services[i]
			edges[s.Name] = services.LeadsToEdges(live) // Edges of another network keep the Service until the new ones listen.
			leadsThere := maps.Equal(live.Spec.Selector, x.Selector)
			if !leadsThere && !w.edgesListen(n, s.Ports) {
				pending = append(pending, s)
				continue
			}
			if edges[s.Name] = true; !leadsThere && live.DeletionTimestamp.IsZero() {
				x.Lead = append(x.Lead, LedService{live.Name, live.UID})
			}
		}
		if len(pending) > 0 {
			x.Problems = problem.Problems{opened.LoadBalancersPending(n, pending)}
		}
	}
	return x.With(w.Services, w.Slices, edges)
}

// With adds the Services to give back and the endpoints to remove. edges has each Service that the plan wants to
// forward to edges. Its value is true if the Service does so, or will after this decision. If the value is false,
// endpoints with edges are kept, because HyperShift may write the Service of the ingress without a selector at any
// time.
func (x Leading) With(these []corev1.Service, all []services.Slice, edges map[string]bool) Leading {
	for i := range these {
		s := &these[i]
		if !services.IsLoadBalancer(s) {
			continue
		}
		leads, wanted := edges[s.Name]
		back, none := services.LeadsToEdges(s) && !leads, len(s.Spec.Selector) == 0 && !wanted
		if back {
			at := len(x.Back)
			if s.Labels[settings.LabelHostedService] == "" {
				at = 0
			}
			x.Back, x.Endpoints = slices.Insert(x.Back, at, LedService{s.Name, s.UID}), append(x.Endpoints, s.Name)
		}
		for _, slice := range all {
			if slice.Service != s.Name {
				continue
			}
			switch {
			case leads && slice.ManagedBy == services.VMSlices, (back || none) && slice.OfEdges && slice.ManagedBy == services.SelectorSlices:
				x.Slices = append(x.Slices, slice)
			case none && slice.OfEdges && slice.ManagedBy == services.MirrorSlices:
				x.Endpoints = append(x.Endpoints, s.Name)
			}
		}
	}
	slices.Sort(x.Endpoints)
	x.Endpoints = slices.Compact(x.Endpoints)
	return x
}

// kept returns x without Services to give back: the plan in force may be unreadable.
func (x Leading) kept() Leading {
	x.Back, x.Endpoints = nil, nil
	x.Slices = slices.DeleteFunc(slices.Clone(x.Slices), func(s services.Slice) bool { return s.ManagedBy != services.VMSlices })
	return x
}

// edgesListen reports whether edges of n run, and all of them have opened ports.
func (w view) edgesListen(n network.Network, ports []uint16) bool {
	label := wire.NetworkLabel(n.Name)
	running := gather.Available(w.Edges, label)
	for _, e := range running {
		i := slices.IndexFunc(w.EdgeReports, func(x gather.NetworkReport) bool { return x.Network == label && x.Edge == e.Number && !x.Yields })
		if i < 0 || slices.ContainsFunc(ports, func(port uint16) bool { return !slices.Contains(w.EdgeReports[i].Balanced, port) }) {
			return false
		}
	}
	return len(running) > 0
}
