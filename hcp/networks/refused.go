// This file decides which networks are refused because they have an Error of their own. If VMs boot from such a
// network, the Error is confined to it. Otherwise it becomes a Warning.

package networks

import (
	"maps"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// refusing returns a copy of ps. If VMs boot from s, each Error is confined to s. Otherwise each Error becomes a Warning.
func (s merged) refusing(ps problem.Problems) problem.Problems {
	if !s.Primary {
		return ps.NotBlocking()
	}
	ps = slices.Clone(ps)
	for i := range ps {
		if ps[i].Severity != problem.SeverityError {
			continue
		}
		ps[i].Confined = true
		if len(ps[i].Args["nad"]) == 0 && len(ps[i].Args["network"]) == 0 {
			args := problem.Args{"network": {s.Attachment.String()}}
			maps.Copy(args, ps[i].Args)
			ps[i].Args = args
		}
	}
	return ps
}

func selects(selected string, a network.Attachment) bool {
	return selected == "auto" || selected == a.String()
}

// bootNetwork returns the network that VMs of np boot from. ok is false for the pod network.
func bootNetwork(hc *hyperv1.HostedCluster, np hyperv1.NodePool) (a network.Attachment, ok bool) {
	all := objects.Attachments(hc, np)
	if len(all) == 0 || attachesDefault(np) {
		return network.Attachment{}, false
	}
	return all[0], true
}

// notSelected returns the networks that VMs boot from although annotation network does not select them, and an Error
// for each NodePool.
func notSelected(o indexed, selected string) (names []string, ps problem.Problems) {
	for _, np := range oldestFirst(o.NodePools) {
		a, boots := bootNetwork(o.HostedCluster, np)
		if !boots || selects(selected, a) {
			continue
		}
		p := problem.New(problem.NetworkNotSelected, problem.Subject{Kind: string(settings.OnNodePool), Name: np.Name},
			problem.Args{"network": {a.String()}, "selected": {selected}, "nodePools": {np.Name}}, network.KeyNetwork, network.FieldAdditionalNetworks)
		p.Confined = true
		names, ps = append(names, a.NetworkName()), append(ps, p)
	}
	return names, ps
}
