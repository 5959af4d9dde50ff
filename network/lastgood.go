// This file decides what of the last plan stays in force: a network that runs
// is not taken from its machines because a later look at the cluster could not
// make it out.

package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Keeping is in after last, the plan in force, whose networks stay that are
// wanted by their name: with what last had of the endpoints that wait, so that an
// address that goes away for a moment changes nothing of what is served.
func (in Intent) Keeping(last Plan, wanted map[string]bool) Intent {
	out := in
	out.Runs = slices.DeleteFunc(slices.Clone(last.Networks), func(n Network) bool { return !wanted[n.Name] })
	out.Endpoints = slices.Clone(in.Endpoints)
	for _, e := range last.Endpoints {
		has := slices.ContainsFunc(in.Endpoints, func(x Endpoint) bool { return x.Name == e.Name && x.Origin == e.Origin })
		if in.waitsFor(e.Name) && !has {
			out.Endpoints = append(out.Endpoints, e)
		}
	}
	return out
}

// Kept is ps, in which it is only noted that an endpoint waits that last has: it
// is still served.
func (ps Problems) Kept(last Plan) Problems {
	out := slices.Clone(ps)
	for i, p := range ps {
		has := slices.ContainsFunc(last.Endpoints, func(e Endpoint) bool { return e.Name == p.Endpoint })
		if p.Reason == WaitingForEndpoint && has {
			out[i].Reason = EndpointStale
			out[i].Detail = fmt.Sprintf("%s can't be made out now (%s), so its last place stays served.", p.Endpoint, p.Field)
		}
	}
	return out
}

// waitsFor says whether the endpoint of this name, or the Service that begins its
// name, waits.
func (in Intent) waitsFor(name string) bool {
	return slices.ContainsFunc(in.Waiting, func(w string) bool {
		return w == name || strings.HasSuffix(w, "/") && strings.HasPrefix(name, w)
	})
}

// Keeping is p, and beside it the networks of last that p lacks and that are
// still wanted by their name, as they were. A network of p that is on the segment
// of one of them waits until that one has gone: the two would have the same
// addresses there, and the one that runs serves machines of both.
func (p Plan) Keeping(last Plan, wanted map[string]bool) Plan {
	var kept []Network
	for _, n := range last.Networks {
		has := slices.ContainsFunc(p.Networks, func(x Network) bool { return x.Name == n.Name })
		if wanted[n.Name] && !has {
			kept = append(kept, n)
		}
	}
	out := p
	out.Networks = slices.DeleteFunc(slices.Clone(p.Networks), func(x Network) bool {
		return slices.ContainsFunc(kept, func(n Network) bool { return n.Attachment.SameSegment(x.Attachment) })
	})
	out.Networks = append(out.Networks, kept...)
	slices.SortFunc(out.Networks, func(a, b Network) int {
		return byPrimary(a.Primary, b.Primary, cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// Displaced says which networks of p wait in kept, p.Keeping's result, for one on
// their segment that runs.
func (p Plan) Displaced(kept Plan) Problems {
	var ps Problems
	for _, x := range p.Networks {
		i := slices.IndexFunc(kept.Networks, func(n Network) bool { return n.Attachment.SameSegment(x.Attachment) })
		if i >= 0 && !kept.has(x) {
			ps = append(ps, Problem{Reason: NetworkShared, Field: "NetworkAttachmentDefinition " + x.Attachment.String(), Detail: fmt.Sprintf(
				"network %s is served as %s, the definition of the same segment by which it runs, until no NodePool and no machine uses that one.", x.Attachment, kept.Networks[i].Attachment)})
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
