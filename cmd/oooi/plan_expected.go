// This file writes, for people, what the plan does not hold yet: what HyperShift
// has still to publish, and the problems. It decides nothing.

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// An awaited is something that machines must reach and that is not published yet.
type awaited struct {
	who string
	// why it is not served yet.
	why string
	// at is where it will be, as far as the spec says. Empty: not known.
	at string
}

// awaiting is what of ps HyperShift has still to publish.
func awaiting(ps network.Problems) []awaited {
	words := map[string]string{
		"Ignition":     "Ignition (the machines' first configuration)",
		"Konnectivity": "Konnectivity (the API server's way to the nodes)",
		"OAuthServer":  "OAuthServer (logins)",
	}
	var out []awaited
	for _, p := range ps {
		if !published(p) {
			continue
		}
		said, at, _ := strings.Cut(p.Detail, " It will be at ")
		who, why, ok := strings.Cut(said, " is not served yet: ")
		switch {
		case p.Reason == network.WaitingForControlPlane:
			who, why = "API server", said
		case !ok:
			who, why = p.Field, said
		}
		if w, ok := words[who]; ok {
			who = w
		}
		out = append(out, awaited{who, strings.TrimSuffix(why, "."), strings.TrimSuffix(at, ".")})
	}
	return out
}

// published says whether p is about something that HyperShift will publish.
func published(p network.Problem) bool {
	return !p.Blocking && (p.Reason == network.WaitingForControlPlane || p.Reason == network.WaitingForEndpoint)
}

// notGiven says whether p is about a definition that a cluster may well have, and
// the input has not.
func notGiven(p network.Problem) bool {
	return p.Reason == network.WaitingForNetwork && strings.HasPrefix(p.Field, "NetworkAttachmentDefinition ")
}

// expectedLines are the awaited, and where they will be.
func expectedLines(all []awaited) []string {
	if len(all) == 0 {
		return nil
	}
	lines := []string{"once HyperShift has published them:"}
	for _, a := range all {
		if a.at == "" {
			lines = append(lines, a.who)
			continue
		}
		lines = append(lines, a.who+", at "+a.at)
	}
	return lines
}

// writeProblems writes what must be mended, what is waited for, and notes; what
// HyperShift has still to publish is one entry. Where it will be is said only if no
// network says it.
func writeProblems(w io.Writer, ps network.Problems, where bool) {
	for _, u := range []network.Urgency{network.Refused, network.Waits, network.Noted} {
		if u == network.Waits {
			writeAwaited(w, ps, where)
		}
		for _, p := range ps {
			if urgency(p) == u && !published(p) {
				writeProblem(w, p)
			}
		}
	}
}

func writeAwaited(w io.Writer, ps network.Problems, where bool) {
	var reasons []string
	for _, p := range ps {
		if published(p) && !slices.Contains(reasons, string(p.Reason)) {
			reasons = append(reasons, string(p.Reason))
		}
	}
	if len(reasons) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  WAITS %s\n    Not published yet. Nothing is to be done: each is served as soon as HyperShift has published it.\n", strings.Join(reasons, ", "))
	for _, a := range awaiting(ps) {
		at := ""
		if where && a.at != "" {
			at = "; it will be at " + a.at
		}
		fmt.Fprintf(w, "    - %s: %s%s\n", a.who, a.why, at)
	}
}

func writeProblem(w io.Writer, p network.Problem) {
	fmt.Fprintf(w, "\n  %s %s\n", [...]string{"REFUSED", "WAITS", "NOTE"}[urgency(p)], p.Reason)
	if !strings.Contains(p.Detail, p.Field) {
		fmt.Fprintf(w, "    at %s\n", p.Field)
	}
	fmt.Fprintf(w, "    %s\n", p.Detail)
}

// urgency is how a problem is marked: what the input only leaves out is a note.
func urgency(p network.Problem) network.Urgency {
	if notGiven(p) {
		return network.Noted
	}
	return p.Urgency()
}
