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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
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
	for _, svc := range w.Services {
		// Without its own rights, the operator can apply nothing, and does not need the endpoints.
		if w.Binding == nil || !services.HasManualEndpoints(svc) {
			continue
		}
		list := &discoveryv1.EndpointSliceList{}
		err := r.Live.List(ctx, list, client.InNamespace(svc.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: svc.Name})
		if err != nil {
			return err
		}
		for port, all := range behind(list.Items...) {
			w.ByHand[desired.ServicePort{Service: svc.Name, Port: port}] = all
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
