// This file reads the endpoints of the management cluster's API server, and of Services without a selector. It does not
// decide whether edges may dial them.

package gather

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/services"
)

func (r Reader) gatherEndpoints(ctx context.Context, w *World) error {
	slice := discoveryv1.EndpointSlice{}
	if err := client.IgnoreNotFound(r.Client.Get(ctx, watch.APIServerSlice, &slice)); err != nil {
		return err
	}
	for _, at := range behind(slice) {
		w.APIServers = append(w.APIServers, at...)
	}
	sortPlaces(w.APIServers)
	if len(w.APIServers) == 0 {
		// An API server that stops removes its address, even if it is the last one, and adds it again later. Until
		// then the existing policy stays.
		w.Owned = slices.DeleteFunc(w.Owned, func(o metav1.PartialObjectMetadata) bool {
			return o.GroupVersionKind() == own.NetworkPolicyKind && o.Name == desired.EdgePolicy
		})
	}
	w.ByHand = map[desired.ServicePort][]netip.AddrPort{}
	if w.Binding == nil {
		return nil // Without its own rights, the operator can apply nothing, and does not need the endpoints.
	}
	var names []string
	for _, svc := range w.Services {
		if services.HasManualEndpoints(svc) {
			names = append(names, svc.Name)
		}
	}
	for some := range slices.Chunk(names, servicesOfAList) {
		if err := r.gatherByHand(ctx, w, some); err != nil {
			return err
		}
	}
	return nil
}

// servicesOfAList is the number of Services whose endpoints are read at once: their names are in the URL.
const servicesOfAList = 256

// gatherByHand reads the endpoints of the Services with these names.
func (r Reader) gatherByHand(ctx context.Context, w *World, names []string) error {
	of, err := labels.NewRequirement(discoveryv1.LabelServiceName, selection.In, names)
	if err != nil {
		return err
	}
	list := &discoveryv1.EndpointSliceList{}
	ns := client.InNamespace(hcp.ControlPlaneNamespace(w.HostedCluster))
	if err := r.Live.List(ctx, list, ns, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*of)}); err != nil {
		return err
	}
	slicesOf := map[string][]discoveryv1.EndpointSlice{}
	for _, s := range list.Items {
		name := s.Labels[discoveryv1.LabelServiceName]
		slicesOf[name] = append(slicesOf[name], s)
	}
	for name, all := range slicesOf {
		for port, at := range behind(all...) {
			w.ByHand[desired.ServicePort{Service: name, Port: port}] = at
		}
	}
	return nil
}

// behind returns all addresses of the given slices, ready or not, with each TCP port, by the port's name.
func behind(all ...discoveryv1.EndpointSlice) map[string][]netip.AddrPort {
	out := map[string][]netip.AddrPort{}
	for _, s := range all {
		for _, p := range s.Ports {
			if p.Port == nil || p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP {
				continue
			}
			name := ""
			if p.Name != nil {
				name = *p.Name
			}
			for _, e := range s.Endpoints {
				for _, text := range e.Addresses {
					if a, err := netip.ParseAddr(text); err == nil {
						out[name] = append(out[name], netip.AddrPortFrom(a.Unmap(), uint16(*p.Port)))
					}
				}
			}
		}
	}
	for _, places := range out {
		sortPlaces(places)
	}
	return out
}

func sortPlaces(all []netip.AddrPort) { slices.SortFunc(all, netip.AddrPort.Compare) }
