// This file decides the values of a network that several NodePools use. No NodePool has precedence over another. If
// they have different values for a key, that is an Error.

package networks

import (
	"maps"
	"slices"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// maxNamed is the maximum number of NodePools with the same value that a problem names.
const maxNamed = 10

// merge returns the combination of two requests for the same network. Different values are a problem. The caller must
// not use a afterwards.
func merge(a, b merged) merged {
	if name := b.NodePools[0]; slices.Contains(a.NodePools, name) { // the NodePool lists the network twice
		if !slices.Contains(a.repeating, name) {
			a.repeating = append(a.repeating, name)
		}
		a.VMs += b.VMs
		return a
	}
	out, other := a, b
	if b.listedFirst && !a.listedFirst {
		out, other = b, a
	}
	out.NodePools = append(a.NodePools, b.NodePools...)
	out.otherRoute, out.repeating = append(a.otherRoute, b.otherRoute...), a.repeating
	if out.without = a.without; out.without == nil {
		out.without = map[string][]string{}
	}
	for key, pools := range b.without {
		out.without[key] = append(out.without[key], pools...)
	}
	out.ofNodePools = append(a.ofNodePools, b.ofNodePools...)
	out.Primary, out.VMs = a.Primary || b.Primary, a.VMs+b.VMs
	problems := append(a.problems, b.problems...)
	disagree := func(c problem.Cause, args problem.Args, keys ...string) {
		all := problem.Args{"nodePools": slices.Clone(firstOf(a.NodePools)), "otherNodePool": {b.NodePools[0]}}
		maps.Copy(all, args)
		problems = append(problems, a.Attachment.Problem(c, all, keys...))
	}
	if keys := differing(settings.OfNetwork(a.NetworkRequest), settings.OfNetwork(b.NetworkRequest)); a.listedFirst == b.listedFirst && len(keys) > 0 {
		disagree(problem.NodePoolSettingsDiffer, nil, keys...)
		problems[len(problems)-1].Subject = problem.Subject{Kind: string(settings.OnNodePool), Name: b.NodePools[0]}
	}
	own, others := settings.OfNetwork(out.NetworkRequest), settings.OfNetwork(other.NetworkRequest)
	for _, k := range settings.Keys() {
		switch {
		case a.listedFirst == b.listedFirst && k.Joins(own, others):
			k.Take(&own, others)
		case !k.PerNodePool || !k.IsSet(others):
		case !k.IsSet(own):
			k.Take(&own, others)
		case !k.Same(own, others):
			disagree(problem.NodePoolValuesDiffer, problem.Args{"value": {k.Text(settings.OfNetwork(a.NetworkRequest))}, "otherValue": {k.Text(settings.OfNetwork(b.NetworkRequest))}}, k.Name)
		}
	}
	own.SetNetwork(&out.NetworkRequest)
	out.problems = problems
	return out
}

// listedTwice returns a problem if NodePools list s more than once. a is the network with the details of its NAD. VMs then
// have an interface for each entry (virtualMachineNetworks in HyperShift's nodepool/kubevirt/kubevirt.go).
func (s merged) listedTwice(o indexed, a network.Attachment) problem.Problems {
	if len(s.repeating) == 0 {
		return nil
	}
	cause := problem.NADListedTwice
	if nad.IsOVN(a) {
		cause = problem.NADListedTwiceOVN
	}
	p := nad.Problem(cause, s.Attachment, problem.Args{"nodePools": firstOf(s.repeating)})
	if o.attached[s.Attachment] {
		p = p.Warning()
	}
	return problem.Problems{p}
}

// overriding returns a problem if only some NodePools on s set the annotation key to own. The HostedCluster's value,
// ofCluster, would apply to the others.
func (s merged) overriding(key, own, ofCluster string) problem.Problems {
	without := s.without[key]
	if len(without) == 0 || own == ofCluster {
		return nil
	}
	has := map[string]bool{}
	for _, np := range without {
		has[np] = true
	}
	with := slices.DeleteFunc(slices.Clone(s.NodePools), func(np string) bool { return has[np] })
	return problem.Problems{s.Attachment.Problem(problem.NodePoolOverridesOthers, problem.Args{
		"nodePools": with, "otherNodePool": without, "value": {own}, "otherValue": {ofCluster}}, key)}
}

// differing returns the keys that must be equal on all NodePools of a network, and whose values in a and b differ in
// meaning.
func differing(a, b settings.Values) []string {
	var keys []string
	for _, k := range settings.Keys() {
		if k.For != settings.WholeCluster && !k.PerNodePool && !k.Same(a, b) {
			keys = append(keys, k.Name)
		}
	}
	return keys
}
