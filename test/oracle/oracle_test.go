package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	oooiplan "github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/test/commands"
)

// changes are all, in one order.
func changes() []change {
	return slices.Concat(publishedChanges(), imageChanges(), dialedChanges(), nameChanges(), nadChanges(), poolChanges(), addressChanges(), hostedNetworkChanges(), pendingChanges(), proxyChanges(), redirectChanges(), publicationChanges(), ingressChanges(), sourceChanges(), nodeConfigChanges(), stoppedChanges(), insideChanges(), releaseChanges())
}

// planned returns what `oooi plan` has of w: a plan without networks if it is refused, its text, and all problems.
func planned(t testing.TB, w *world) (p plan, text string, problems []problem) {
	t.Helper()
	w.publish()
	out, stderr, _ := commands.Run(t, []*cobra.Command{oooiplan.New()}, w.manifests(), "plan", "-f", "-", "-o", "json")
	var line struct {
		Plan     json.RawMessage
		Problems []object
	}
	if err := json.Unmarshal([]byte(out), &line); err != nil {
		t.Fatalf("%v in %q; %s", err, out, stderr)
	}
	for _, raw := range line.Problems {
		problems = append(problems, problemOf(raw))
	}
	if err := json.Unmarshal(line.Plan, &p); err != nil {
		t.Fatal(err)
	}
	return p, string(line.Plan), problems
}

// judged returns what is silent in w after changes. A change that refuses the plan may hide another one, until it is undone.
func judged(t testing.TB, w *world, made ...change) (out []string) {
	t.Helper()
	refused := false
	for _, c := range made {
		c.apply(w)
		refused = refused || c.refused
	}
	p, _, problems := planned(t, w)
	hides := func(c change) bool { return c.refused && len(p.Networks) == 0 && names(problems, c.words, "Error") }
	for i, c := range made {
		others := slices.Concat(made[:i], made[i+1:])
		if len(c.words) > 0 && !names(problems, c.words, c.least) && !slices.ContainsFunc(others, hides) {
			out = append(out, fmt.Sprintf("no %s names one of %q", c.least, c.words))
		}
	}
	if !refused {
		out = append(out, w.silent(p, problems)...)
	}
	for _, d := range w.needs() {
		if len(made) == 1 && d.what == made[0].serves && !slices.ContainsFunc(p.Networks, d.served) {
			out = append(out, fmt.Sprintf("%s: %s:%d is not served", d.what, d.host, d.port))
		}
	}
	return shown(out, problems)
}

// shown returns out with all problems, if it is not empty.
func shown(out []string, problems []problem) []string {
	for _, p := range problems {
		if len(out) > 0 {
			out = append(out, fmt.Sprint(p.severity, " ", p.values))
		}
	}
	return out
}

// TestChanges: after each change, what nodes need is served, or a problem names it.
func TestChanges(t *testing.T) {
	for _, base := range bases() {
		if out := judged(t, worldOf(t, base)); len(out) > 0 {
			t.Fatalf("%s: %s", base, strings.Join(out, "\n\t"))
		}
		for _, c := range changes() {
			if slices.Contains(c.without, base) {
				continue
			}
			t.Run(base+"/"+c.name, func(t *testing.T) {
				if out := judged(t, worldOf(t, base), c); len(out) > 0 {
					t.Error(strings.Join(out, "\n\t"))
				}
			})
		}
	}
}

// TestPairsOfChanges: two changes at once hide nothing of each other.
func TestPairsOfChanges(t *testing.T) {
	all := changes()
	for i, one := range all {
		for j := i + 1 + i%11; j < len(all); j += 11 {
			two := all[j]
			base := bases()[(i+j)%len(bases())]
			if one.alone || two.alone || one.of == two.of || one.on == two.of || one.of == two.on || slices.Contains(slices.Concat(one.without, two.without), base) {
				continue
			}
			t.Run(base+"/"+one.name+"; "+two.name, func(t *testing.T) {
				if out := judged(t, worldOf(t, base), one, two); len(out) > 0 {
					t.Error(strings.Join(out, "\n\t"))
				}
			})
		}
	}
}

// TestMovedWhileVMsRun: a node stores where its API, Ignition, konnectivity and OAuth are. While VMs run, these places lead to where HyperShift
// publishes them now, or a problem names them.
func TestMovedWhileVMsRun(t *testing.T) {
	for _, base := range bases() {
		before := worldOf(t, base)
		before.addVM("a", "clusters/vlan100", "02:aa:00:00:00:09")
		_, stored, _ := planned(t, before)
		for _, c := range publishedChanges() {
			t.Run(base+"/"+c.name, func(t *testing.T) {
				w := worldOf(t, base)
				w.addVM("a", "clusters/vlan100", "02:aa:00:00:00:09")
				w.objects = append(w.objects, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "oooi-plan", "namespace": "clusters-blue"}, "data": object{"plan.json": stored}})
				former := w.endpoints()
				c.apply(w)
				p, _, problems := planned(t, w)
				out := w.silent(p, problems)
				for _, d := range former {
					if len(p.Networks) > 0 && !d.served(p.Networks[0]) && !names(problems, d.words, "Warning") {
						out = append(out, fmt.Sprintf("%s: nodes stored %s:%d, which is not served, and no Warning names one of %q", d.what, d.host, d.port, d.words))
					}
				}
				if out = shown(out, problems); len(out) > 0 {
					t.Error(strings.Join(out, "\n\t"))
				}
			})
		}
	}
}
