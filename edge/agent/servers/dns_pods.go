// This file answers DNS questions of pods of the management cluster, on the cluster network. A fault here changes
// neither readiness nor what VMs get.

package servers

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/cldmnky/oooi/dns"
	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/wire"
)

// A PodDNS answers pods if the plan requires that.
type PodDNS struct {
	// Interface is the edge's interface on the network. While the kernel forwards packets, pods are not answered.
	Interface serving.Interface
	Source    *inforce.Source
	// Handler has neither upstreams nor VMs nor MACs.
	Handler *dns.Handler
	Log     *slog.Logger
	// Device is the pod's interface on the cluster network.
	Device string
	// Status is kept by Run: whether pods are answered.
	Status serving.Status
}

// Run answers until ctx ends.
func (d *PodDNS) Run(ctx context.Context) error {
	planned := func() bool { return d.Source.Current().Network.AnswersPods() }
	return serving.WhilePlanned(ctx, d.Source.Changed, planned, func(ctx context.Context) error {
		triggers := serving.Triggers{Interface: d.Interface.Changed, Plan: d.Source.Changed}
		serving.AtEach(ctx, serving.Triggers{Plan: d.Source.Changed}, func() { d.Handler.Serve(answers.ForPods(d.Source.Current().Network)) })
		return serving.While(ctx, &d.Status, d.Log, triggers, func() error { return d.Interface.Admissible(d.at().Addr()) }, d.serve)
	})
}

// at returns the address to serve at. The socket is bound to the device.
func (d *PodDNS) at() netip.AddrPort {
	return netip.AddrPortFrom(netip.IPv4Unspecified(), wire.PodDNSPort)
}

// serve answers until ctx ends.
func (d *PodDNS) serve(ctx context.Context, ready func()) error {
	return runDNS(ctx, d.Handler, d.Device, d.at(), d.Log, ready)
}
