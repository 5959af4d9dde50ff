// This file reads what can be checked before an edge runs: the admission of its pods, free resources of nodes, and MTUs.

package check

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/placement"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
)

// A preflight has the facts that decide whether the edges of a hosted cluster can run.
type preflight struct {
	admissions []podAdmission
	// places are the networks whose edges need nodes, and capacity has the resources of the nodes.
	places   []placeable
	capacity placement.Capacity
	mtus     []mtuFacts
}

func preflightChecks(f preflight) (out []checked) {
	for _, a := range f.admissions {
		if c, ok := admissionCheck(a); ok {
			out = append(out, c)
		}
	}
	out = append(out, nodeChecks(f.places, f.capacity)...)
	for _, m := range f.mtus {
		if c, ok := mtuCheck(m); ok {
			out = append(out, c)
		}
	}
	return out
}

// A preflightReader reads the preflights of hosted clusters.
type preflightReader struct {
	api client.Reader
	// ask is nil if no dry runs are sent.
	ask admitter
	// images are the images of edges. imagesUnknown is true if the operator's Deployment does not name them as plain
	// values.
	images        desired.Release
	imagesUnknown bool
	capacity      placement.Capacity
}

// read returns the preflight of the hosted cluster that f is about. Parameter seen has the facts of `oooi status` about
// it.
func (r preflightReader) read(ctx context.Context, f clusterFacts, seen status.Facts) (out preflight) {
	if !f.read || !f.optedIn {
		return out
	}
	ns, inForce := seen.ControlPlane, seen.Plan.Networks
	networks := inForce
	if f.planned != nil && f.planned.Plan != nil {
		networks = f.planned.Plan.Networks
	}
	ready, edges := map[string]int{}, map[string]int{}
	for _, n := range f.status.Networks {
		ready[n.Name] = len(slices.DeleteFunc(slices.Clone(n.Edges), func(e status.Edge) bool { return e.Ready != explain.Yes }))
	}
	if r.ask != nil {
		out.admissions = readAdmissions(ctx, r.ask, r.api, networks, r.images, ns)
	}
	out.capacity = r.capacity
	for _, n := range networks {
		name := n.Attachment.String()
		edges[name] = len(n.Edges)
		out.places = append(out.places, placeable{n, ns, ready[name] > 0})
	}
	for i := range out.admissions {
		a := &out.admissions[i]
		a.served, a.imagesUnknown = ready[a.of] > 0, r.imagesUnknown
		a.allReady = a.served && ready[a.of] >= edges[a.of] // The plan may have more edges than there are now.
	}
	out.mtus = mtuNetworks(f.planned, inForce, readLinks(ctx, r.api, ns))
	return out
}

// edgeImages returns the images that the operator gives to edges. If they are unknown, as before its installation, it
// returns placeholders and true.
func (f installation) edgeImages() (r desired.Release, unknown bool) {
	if d, none := f.operator(); none == nil {
		if edge, envoy := imagesOf(d); edge != "" && envoy != "" {
			return desired.Release{Image: edge, EnvoyImage: envoy}, false
		}
	}
	return desired.Release{Image: wire.NameEdge, EnvoyImage: wire.Envoy}, true
}

// ended reports whether all containers of p have ended for good. Such a pod uses no resources of its node.
func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// readCapacity reads nodes and pods, page by page. It keeps only the requests of pods.
func readCapacity(ctx context.Context, api client.Reader) (c placement.Capacity) {
	c.NodesErr = eachPage(ctx, api, func(list *corev1.NodeList) {
		for _, n := range list.Items {
			n.Status.Images, n.ManagedFields = nil, nil
			c.Nodes = append(c.Nodes, n)
		}
	})
	if c.NodesErr != nil {
		return c
	}
	c.PodsErr = eachPage(ctx, api, func(list *corev1.PodList) {
		for _, p := range list.Items {
			if p.Spec.NodeName != "" && !ended(p) {
				c.Pods = append(c.Pods, placement.Pod{Node: p.Spec.NodeName, Namespace: p.Namespace, Labels: p.Labels, Requests: placement.RequestsOf(&p)})
			}
		}
	})
	return c
}

// eachPage calls do with each page of objects of all namespaces.
func eachPage[T any, L interface {
	*T
	client.ObjectList
}](ctx context.Context, api client.Reader, do func(L)) error {
	for next := ""; ; {
		list := L(new(T))
		if err := api.List(ctx, list, client.Limit(source.PageSize), client.Continue(next)); err != nil {
			return err
		}
		do(list)
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

func isEdge(labels map[string]string) bool { return labels[wire.LabelName] == wire.NameEdge }
