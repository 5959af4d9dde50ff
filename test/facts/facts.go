// Package facts is what commands read of the hosted cluster of package blue.
package facts

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/blue"
)

// Blue are all facts, of which edge 2 is gone.
func Blue() status.Facts {
	p, report := blue.Plan(), blue.Report()
	f := status.Facts{
		LiveCluster: blue.LiveCluster(), Read: true, Settings: report.Settings, Stored: report, Inputs: report.Inputs, Build: report.Build, PlanHash: report.Plan, Plan: p, PlanRead: true, LeasesRead: true, Reports: blue.Reports(),
		Slices: []discoveryv1.EndpointSlice{*blue.EndpointSlice("ignition-server-proxy", "10.0.0.9")},
		Ready:  map[string]bool{wire.EdgeDeploymentName(p.Networks[0], p.Networks[0].Edges[0]): true},
	}
	for _, l := range blue.Leases() {
		f.Leases = append(f.Leases, status.Leased{Network: l.Network, Lease: l.Lease})
	}
	return f
}

// Healthy are those of a cluster with this plan and without a fault: all edges serve, VMs use the first one, and all
// Services have an endpoint.
func Healthy(p network.Plan) status.Facts {
	f := Blue()
	f.Plan, f.Ready, f.Reports, f.Slices, f.Leases = p, map[string]bool{}, map[string]reported.EdgeReport{}, nil, f.Leases[:1]
	for _, n := range p.Networks {
		for _, e := range n.Edges {
			f.Ready[wire.EdgeDeploymentName(n, e)] = true
			r := reported.EdgeReport{Edge: e.Number, Level: reported.LevelReaches, Peer: reported.PeerServing, Connected: reported.ConnectedNo}
			if e.Number == 1 {
				r.Connected = reported.ConnectedYes
			}
			f.Reports[wire.EdgeReportLease(n, e).Name] = r
		}
		for _, b := range n.Backends {
			slice := blue.EndpointSlice(b.Service, "10.0.0.9")
			slice.Ports[0].Name = &b.PortName
			f.Slices = append(f.Slices, *slice)
		}
	}
	return f
}

// Open are those of the cluster if its edges let callers in. Load balancer shop/new does not forward to edges yet.
func Open() status.Facts {
	f := Blue()
	n := &f.Plan.Networks[0]
	n.Access, f.Led = blue.Access(), map[string]bool{"a1": true, "a2": false}
	one, two := wire.EdgeReportLease(*n, n.Edges[0]).Name, wire.EdgeReportLease(*n, n.Edges[1]).Name
	for name, ports := range map[string][]uint16{one: {31080, 31443}, two: {31080, 31443, 31999}} {
		r := f.Reports[name]
		r.Balanced = ports
		f.Reports[name] = r
	}
	return f
}
