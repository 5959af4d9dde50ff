// This file decides what is kept from the plan in force. A running network continues
// to be served while the objects that it is derived from are missing or invalid.

package network

import (
	"cmp"
	"slices"
	"strings"
)

// withLastKnownGood is in with the wanted networks of last, the plan in force, and with
// last's endpoints in place of the waiting ones. An address that is missing for a
// moment does not change what is served.
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

// stale is ps, in which a waiting endpoint is a Warning if last has it, since it is
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

// subject is the subject of problems about e.
func (e Endpoint) subject() Subject { return Subject{Kind: "Endpoint", Name: e.Name} }

// waitsFor reports whether the endpoint of this name is waiting, by its name or by a
// prefix of it.
func (in input) waitsFor(name string) bool {
	return slices.ContainsFunc(in.Waiting, func(w string) bool {
		return w == name || strings.HasSuffix(w, "/") && strings.HasPrefix(name, w)
	})
}

// retaining is p with the networks of last that p lacks and whose Names are wanted.
// Two NADs of one network would have the same addresses. The one in p waits until the
// running one is removed, which meanwhile serves the VMs of both.
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

// displaced returns a problem for each network of p that is left out of kept, the
// result of p.retaining, because another NAD of the same network runs.
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

// byPrimary orders primary networks first, else by otherwise.
func byPrimary(a, b bool, otherwise int) int {
	switch {
	case a == b:
		return otherwise
	case a:
		return -1
	}
	return 1
}
