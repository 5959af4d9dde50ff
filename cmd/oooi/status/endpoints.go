// This file reports the health of backends. It reads EndpointSlices, because edges do not report Services without
// endpoints.

package status

import (
	"context"
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

func (r *Reader) readEndpoints(ctx context.Context) error {
	var list discoveryv1.EndpointSliceList
	if err := r.API.List(ctx, &list, client.InNamespace(r.ControlPlane)); err != nil {
		return r.misses("EndpointSlices in namespace "+r.ControlPlane, err)
	}
	r.Slices = list.Items
	return nil
}

// endpoint says whether b has an endpoint that edges dial. The answer is Unknown for an external host and for VMs. It is
// also Unknown for a Service without EndpointSlices: edges dial its ClusterIP.
func (f Facts) endpoint(b network.Backend) explain.Answer {
	answer := explain.Unknown
	if b.Kind != network.BackendPods {
		return answer
	}
	for _, s := range f.Slices {
		if s.Labels[discoveryv1.LabelServiceName] != b.Service {
			continue
		}
		if dialed(s, b.PortName) {
			return explain.Yes
		}
		answer = explain.No
	}
	return answer
}

// resolves says whether edges of n resolve the name of b, an allowed host. If an edge reports that it refuses the
// host's address, the answer is Yes. Otherwise it is Unknown, because edges report nothing else about the name.
func (f Facts) resolves(n network.Network, b network.Backend) explain.Answer {
	for _, e := range n.Edges {
		if r := f.Reports[wire.EdgeReportLease(n, e).Name]; f.ReadyEdge(n, e) == explain.Yes && slices.Contains(r.RefusedHosts, b.Name) {
			return explain.Yes
		}
	}
	return explain.Unknown
}

// dialed reports whether edges dial an endpoint in s for the port with this name. They never dial an endpoint that
// terminates and does not serve. They dial any other endpoint that is not ready only if none is ready.
func dialed(s discoveryv1.EndpointSlice, portName string) bool {
	has := func(p *bool, otherwise bool) bool { return p == nil && otherwise || p != nil && *p }
	if s.AddressType != discoveryv1.AddressTypeIPv4 {
		return false
	}
	for _, p := range s.Ports {
		if p.Port == nil || p.Name != nil && *p.Name != portName || p.Name == nil && portName != "" {
			continue
		}
		for _, e := range s.Endpoints {
			c := e.Conditions
			if len(e.Addresses) > 0 && (has(c.Ready, true) || has(c.Serving, false) || !has(c.Terminating, false)) {
				return true
			}
		}
	}
	return false
}

func faultText(f reported.BackendFault) string {
	if f == reported.BackendRefused {
		return "its address is refused"
	}
	return "no endpoint answers and is ready"
}

// health returns what ready edges of n and EndpointSlices show about b, in words and as a value.
func (f Facts) health(n network.Network, b network.Backend) (text string, state HealthState) {
	var faults []string
	heard, unknown := false, f.Ready == nil
	for _, e := range n.Edges {
		if f.ReadyEdge(n, e) != explain.Yes {
			continue
		}
		r, reports := f.Reports[wire.EdgeReportLease(n, e).Name]
		fault, known := r.FaultOf(b)
		heard, unknown = true, unknown || !reports || !known
		if reports && fault != "" {
			faults = append(faults, fmt.Sprintf("edge %d: %s", e.Number, faultText(fault)))
		}
	}
	switch {
	case len(faults) > 0:
		return strings.Join(faults, "; "), StateFaulty
	case f.endpoint(b) == explain.No:
		return "its Service has no endpoint", StateWithoutEndpoint
	case unknown || !heard || f.endpoint(b) == explain.Unknown:
		return string(explain.Unknown), StateUnknown
	}
	return "no fault reported", StateFine
}
