// This file decides which networks are refused because they have an Error of their own. If VMs boot from such a
// network, the Error is confined to it. Otherwise it becomes a Warning, unless it keeps VMs from starting.

package networks

import (
	"maps"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// refusing returns a copy of ps, the problems of s. If VMs boot from s, each Error is confined to s. Otherwise only the
// Errors that stop VMs remain, and are confined. The others become Warnings. If boots is true, VMs boot from another
// network of oooi. Then s may assign addresses itself, unless the user wants edges there and has set its CIDR.
func (s merged) refusing(o indexed, ps problem.Problems, boots bool) problem.Problems {
	ps = slices.Clone(ps)
	for i := range ps {
		switch {
		case ps[i].Severity != problem.SeverityError:
			continue
		case s.Primary, ps[i].StopsVMs() && !o.attached[s.Attachment]:
		case boots && !s.CIDR.IsValid() && slices.Contains([]problem.Cause{problem.NADHasIPAM, problem.OVNHasSubnets, problem.OVNOwnerHasSubnets}, ps[i].Cause):
			ps[i] = nad.Problem(problem.NADAssignsAddresses, s.Attachment, nil)
			continue
		default:
			ps[i] = ps[i].Warning()
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

// stoppingVMs returns confined Errors about networks that annotation network does not select, and that keep VMs from
// starting. KubeVirt creates no pod for a VM if one of its NetworkAttachmentDefinitions is missing (NetworkToResource in
// its pkg/network/multus/nad.go), and Multus starts no pod with a faulty one.
func stoppingVMs(o indexed, selected string) (ps problem.Problems) {
	for _, s := range unselected(o, selected) {
		_, found := attachment(o, s.NetworkRequest)
		found = slices.DeleteFunc(found, func(p problem.Problem) bool { return !p.StopsVMs() || o.attached[s.Attachment] })
		ps = append(ps, s.refusing(o, found, true)...)
	}
	return ps
}

// unselected returns the networks of NodePools that annotation network does not select.
func unselected(o indexed, selected string) (all []merged) {
	at := map[network.Attachment]int{}
	for _, np := range oldestFirst(o.NodePools) {
		for _, a := range objects.Attachments(o.HostedCluster, np) {
			if selects(selected, a) {
				continue
			}
			i, known := at[a]
			if !known {
				i, at[a] = len(all), len(all)
				all = append(all, merged{NetworkRequest: network.NetworkRequest{Attachment: a}})
			}
			if !slices.Contains(all[i].NodePools, np.Name) {
				all[i].NodePools = append(all[i].NodePools, np.Name)
			}
		}
	}
	return all
}

// unselectedTwins returns a Warning about each NAD that annotation network does not select, but whose layer-2 network is
// one of requested. Its VMs have a second interface there.
func unselectedTwins(o indexed, selected string, requested []network.NetworkRequest) (ps problem.Problems) {
	for _, s := range unselected(o, selected) {
		found, _ := o.nad(s.Attachment)
		a := s.Attachment
		a.Layer2 = Layer2(found)
		i := slices.IndexFunc(requested, func(r network.NetworkRequest) bool { return a.Layer2 != "" && r.Attachment.SameNetwork(a) })
		if i >= 0 {
			args := problem.Args{"otherNAD": {requested[i].Attachment.String()}, "layer2": {a.Layer2}, "nodePools": firstOf(slices.Sorted(slices.Values(s.NodePools)))}
			ps = append(ps, nad.Problem(problem.NADsOnOneNetwork, a, args).Warning())
		}
	}
	return ps
}

// notSelected returns the networks that VMs boot from although annotation network does not select them, and an Error
// for each NodePool. For a NodePool without VMs, it is a hint.
func notSelected(o indexed, selected string) (names []string, ps problem.Problems) {
	for _, np := range oldestFirst(o.NodePools) {
		a, boots := bootNetwork(o.HostedCluster, np)
		if !boots || selects(selected, a) {
			continue
		}
		p := problem.New(problem.NetworkNotSelected, problem.Subject{Kind: string(settings.OnNodePool), Name: np.Name},
			problem.Args{"network": {a.String()}, "selected": {selected}, "nodePools": {np.Name}}, network.KeyNetwork, network.FieldAdditionalNetworks)
		if size(o.HostedCluster, np) == 0 {
			p.Severity = problem.SeverityInfo
			ps = append(ps, p)
			continue
		}
		p.Confined = true
		names, ps = append(names, a.NetworkName()), append(ps, p)
	}
	return names, ps
}
