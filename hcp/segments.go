// This file decides which layer-2 segments a cluster's machines sit on, and
// what each is called, sized and routed by. What a NetworkAttachmentDefinition
// means is read in attachment.go.

package hcp

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/network"
)

// CIDR fields, as problems name them.
const fieldCIDR = "annotation " + Prefix + keyCIDR + " or spec.networking.machineNetwork"

// segments are the networks of all NodePools. The first segment of a NodePool
// without a default network is primary: its machines boot by it.
func segments(o Objects, base settings) ([]network.Segment, network.Problems) {
	var out []network.Segment
	var problems network.Problems
	for _, np := range oldestFirst(o.NodePools) {
		s, ps := nodePoolSettings(base, o.HostedCluster, np)
		problems = append(problems, ps...)
		for i, attachment := range attachments(o.HostedCluster, np) {
			if base.network != "auto" && base.network != attachment.String() {
				continue
			}
			seg := segment(attachment, np, s, i == 0)
			at := slices.IndexFunc(out, func(x network.Segment) bool { return x.Attachment == attachment })
			if at < 0 {
				out = append(out, seg)
				continue
			}
			merged, ps := merge(out[at], seg)
			out[at] = merged
			problems = append(problems, ps...)
		}
	}
	giveMachineNetwork(out, o.HostedCluster, base)
	problems = append(problems, noSegment(o, base, out)...)
	for i := range out {
		a, ps := attachment(o, out[i])
		out[i].Attachment = a
		problems = append(problems, ps...)
	}
	return slices.DeleteFunc(out, func(s network.Segment) bool { return s.Attachment.Name == "" }), problems
}

// oldestFirst makes a later NodePool come later, so that it never takes what an
// earlier one has.
func oldestFirst(in []hyperv1.NodePool) []hyperv1.NodePool {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b hyperv1.NodePool) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// attachments of np in the order in which its machines have them.
func attachments(hc *hyperv1.HostedCluster, np hyperv1.NodePool) []network.Attachment {
	if np.Spec.Platform.Kubevirt == nil {
		return nil
	}
	var out []network.Attachment
	for _, n := range np.Spec.Platform.Kubevirt.AdditionalNetworks {
		out = append(out, named(n.Name, ControlPlaneNamespace(hc)))
	}
	return out
}

func attachesDefault(np hyperv1.NodePool) bool {
	k := np.Spec.Platform.Kubevirt
	return k == nil || k.AttachDefaultNetwork == nil || *k.AttachDefaultNetwork
}

// segment is what one NodePool says of one network. Its annotations speak of
// the network that it lists first.
func segment(a network.Attachment, np hyperv1.NodePool, s settings, first bool) network.Segment {
	seg := network.Segment{Attachment: a, NodePools: []string{np.Name}, Primary: first && !attachesDefault(np)}
	if !first {
		seg.Settings = network.Settings{LeaseTime: s.LeaseTime, IgnoreUnknownClients: s.IgnoreUnknownClients}
		seg.CIDRField = "annotation " + Prefix + keyCIDR + " on a NodePool that lists the network first"
		return seg
	}
	seg.CIDR, seg.Gateway, seg.Settings = s.cidr, s.gateway, s.Settings
	seg.CIDRField = "annotation " + Prefix + keyCIDR + "." + np.Name
	return seg
}

// merge joins what two NodePools say of one segment. Where they disagree nobody
// wins: the user decides.
func merge(a, b network.Segment) (network.Segment, network.Problems) {
	out, other := a, b
	if b.Primary && !a.Primary {
		out, other = b, a
	}
	out.NodePools = append(slices.Clone(a.NodePools), b.NodePools...)
	var problems network.Problems
	disagree := func(key, x, y string) {
		problems = append(problems, network.Problem{Reason: network.AnnotationInvalid, Field: Prefix + key, Blocking: true, Detail: fmt.Sprintf(
			"NodePools %s and %s are on the one network %s, but disagree on %s: %s and %s. Say it on the HostedCluster, or the same on both.",
			strings.Join(a.NodePools, ", "), b.NodePools[0], a.Attachment, key, x, y)})
	}
	if a.Primary == b.Primary && !reflect.DeepEqual(a.Settings, b.Settings) {
		problems = append(problems, network.Problem{Reason: network.AnnotationInvalid, Field: "NodePool " + b.NodePools[0], Blocking: true, Detail: fmt.Sprintf(
			"NodePools %s and %s are on the one network %s, but their annotations differ. Say them on the HostedCluster, or the same on both.",
			strings.Join(a.NodePools, ", "), b.NodePools[0], a.Attachment)})
	}
	switch {
	case !out.CIDR.IsValid():
		out.CIDR = other.CIDR
	case other.CIDR.IsValid() && a.CIDR != b.CIDR:
		disagree(keyCIDR, a.CIDR.String(), b.CIDR.String())
	}
	switch {
	case !out.Gateway.IsValid():
		out.Gateway = other.Gateway
	case other.Gateway.IsValid() && a.Gateway != b.Gateway:
		disagree(keyGateway, a.Gateway.String(), b.Gateway.String())
	}
	return out, problems
}

// giveMachineNetwork gives the cluster's own CIDR and gateway to its first
// primary segment, and to no other: a second one never takes the first one's.
func giveMachineNetwork(segs []network.Segment, hc *hyperv1.HostedCluster, base settings) {
	for i := range segs {
		s := &segs[i]
		if !s.Primary {
			continue
		}
		if !s.Gateway.IsValid() {
			s.Gateway = base.gateway
		}
		if s.CIDR.IsValid() {
			return
		}
		s.CIDR, s.CIDRField = base.cidr, fieldCIDR
		if !s.CIDR.IsValid() {
			s.CIDR = machineNetwork(hc)
		}
		return
	}
}

// machineNetwork is the IPv4 entry of spec.networking.machineNetwork, which
// HyperShift validates and, on KubeVirt, otherwise leaves alone.
func machineNetwork(hc *hyperv1.HostedCluster) netip.Prefix {
	for _, m := range hc.Spec.Networking.MachineNetwork {
		if p, err := netip.ParsePrefix(m.CIDR.String()); err == nil && p.Addr().Is4() {
			return p.Masked()
		}
	}
	return netip.Prefix{}
}

// noSegment explains an empty list.
func noSegment(o Objects, base settings, segs []network.Segment) network.Problems {
	if len(segs) > 0 {
		return nil
	}
	if len(o.NodePools) == 0 {
		return network.Problems{{Reason: network.WaitingForNetwork, Field: "NodePool",
			Detail: "the cluster has no NodePool yet, and so no network."}}
	}
	if base.network != "auto" && base.network != "" {
		return network.Problems{{Reason: network.NetworkMissing, Field: Prefix + keyNetwork, Blocking: true,
			Detail: fmt.Sprintf("no NodePool of the cluster names the network %s in spec.platform.kubevirt.additionalNetworks. Name it there, or set %s to auto.", base.network, Prefix+keyNetwork)}}
	}
	return network.Problems{{Reason: network.NetworkMissing, Field: "NodePool spec.platform.kubevirt.additionalNetworks", Blocking: true,
		Detail: "no NodePool of the cluster names a network: its machines have the pod network only, and need nothing of ours. Create NodePools with --attach-default-network=false and --additional-network, or remove the annotation " + Prefix + keyNetwork + "."}}
}

// Wanted are the names of the networks that must not be retired: those that a
// NodePool names, in whatever state it is, and those that a machine still uses
// while its NodePool has moved on.
func Wanted(o Objects) map[string]bool {
	asked := strings.TrimSpace(o.HostedCluster.Annotations[Prefix+keyNetwork])
	all := Definitions(o)
	for _, m := range o.Machines {
		for _, n := range m.Spec.Networks {
			if n.Multus != nil {
				all = append(all, named(n.Multus.NetworkName, m.Namespace))
			}
		}
	}
	out := map[string]bool{}
	for _, a := range all {
		if asked == "auto" || asked == a.String() {
			out[a.NetworkName()] = true
		}
	}
	return out
}

// named reads "<namespace>/<name>"; a bare name lies in ns, as KubeVirt reads it.
func named(s, ns string) network.Attachment {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		namespace, name = ns, s
	}
	return network.Attachment{Namespace: namespace, Name: name}
}
