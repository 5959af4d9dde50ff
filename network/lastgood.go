// This file decides what of the last plan stays in force: a network that runs
// is not taken from its machines because a later look at the cluster could not
// make it out.

package network

import (
	"cmp"
	"slices"
	"strings"
)

// withLastKnownGood is in with the networks of last, the plan in force, that are
// still wanted, and with what last has of the endpoints that wait: an address that
// is missing for a moment changes nothing of what is served.
func (in input) withLastKnownGood(last Plan) input {
	out := in
	out.running = slices.DeleteFunc(slices.Clone(last.Networks), func(n Network) bool { return !slices.Contains(in.Wanted, n.Name) })
	out.Endpoints = slices.Clone(in.Endpoints)
	for _, e := range last.Endpoints {
		has := slices.ContainsFunc(in.Endpoints, func(x Endpoint) bool { return x.Name == e.Name && x.Origin == e.Origin })
		if in.waitsFor(e.Name) && !has {
			out.Endpoints = append(out.Endpoints, e)
		}
	}
	return out
}

// stale is ps, in which an endpoint that waits is a Warning where last has it: it is
// still served.
func (ps Problems) stale(last Plan) Problems {
	out := slices.Clone(ps)
	for i, p := range ps {
		has := slices.ContainsFunc(last.Endpoints, func(e Endpoint) bool { return p.Subject == e.subject() })
		if p.Reason == WaitingForEndpoint && has {
			out[i] = NewProblem(LastGoodEndpoint, p.Subject, Args{"object": p.Args["object"]})
		}
	}
	return out
}

// subject of the problems about e.
func (e Endpoint) subject() Subject { return Subject{Kind: "Endpoint", Name: e.Name} }

// waitsFor says whether the endpoint of this name, or the Service that begins its
// name, waits.
func (in input) waitsFor(name string) bool {
	return slices.ContainsFunc(in.Waiting, func(w string) bool {
		return w == name || strings.HasSuffix(w, "/") && strings.HasPrefix(name, w)
	})
}

// retaining is p with the networks of last that p lacks and that are still wanted by
// their Name, as they are. Two definitions of one network would have the same
// addresses: the one in p waits until the one that runs has gone, which serves the
// VMs of both.
func (p Plan) retaining(last Plan, wanted []string) Plan {
	var kept []Network
	for _, n := range last.Networks {
		has := slices.ContainsFunc(p.Networks, func(x Network) bool { return x.Name == n.Name })
		if slices.Contains(wanted, n.Name) && !has {
			kept = append(kept, n)
		}
	}
	out := p
	out.Networks = slices.DeleteFunc(slices.Clone(p.Networks), func(x Network) bool {
		return slices.ContainsFunc(kept, func(n Network) bool { return n.Attachment.SameNetwork(x.Attachment) })
	})
	out.Networks = append(out.Networks, kept...)
	slices.SortFunc(out.Networks, func(a, b Network) int {
		return byPrimary(a.Primary, b.Primary, cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// displaced are the networks of p that wait in kept, p.retaining's result, for
// another definition of the same network.
func (p Plan) displaced(kept Plan) Problems {
	var ps Problems
	for _, x := range p.Networks {
		i := slices.IndexFunc(kept.Networks, func(n Network) bool { return n.Attachment.SameNetwork(x.Attachment) })
		if i >= 0 && !kept.has(x) {
			ps = append(ps, x.problem(NADDuplicatesRunning, Args{"other": kept.Networks[i].Attachment.String()}))
		}
	}
	return ps
}

// byPrimary puts primary networks first, and others as they compare.
func byPrimary(a, b bool, otherwise int) int {
	switch {
	case a == b:
		return otherwise
	case a:
		return -1
	}
	return 1
}
