// This file writes the policy that warns about keys of annotations without effect.

package annotations

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

func warnings() string {
	p := policy{Name: admission.AnnotationKeys, Action: "Warn", Variables: variables(), Comment: `# Warns about annotations of oooi that have no effect. The write succeeds.`}
	places := map[string]string{}
	for _, k := range settings.Keys() {
		places[k.Name] = k.On.String()
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(places)) {
		pairs = append(pairs, quote(name)+": "+quote(places[name]))
	}
	p.Variables = append(p.Variables,
		named{"unknown", "variables.changed.filter(k, !(k in variables.judged))"},
		named{"places", "{" + strings.Join(pairs, ",\n") + "}"},
		named{"misplaced", "variables.unknown.filter(k, k in variables.places)"},
		named{"others", "variables.unknown.filter(k, !(k in variables.places))"},
		named{"misspelled", "variables.others.filter(k, variables.known.exists(n, " + similar + "))"},
		named{"unlike", "variables.others.filter(k, !(k in variables.misspelled))"})
	p.warn("misplaced", problem.AnnotationMisplaced, map[string]string{"places": "variables.places[k]"})
	p.warn("misspelled", problem.AnnotationMisspelled, map[string]string{"meant": "variables.known.filter(n, " + similar + ")[0]"})
	p.warn("unlike", problem.AnnotationNotKnown, nil)
	return p.yaml()
}

// similar is the CEL expression for "key k differs from the known key n in one place": a letter is missing, added or wrong,
// or two letters are swapped.
const similar = "k.size() <= n.size() + 1 && k.size() >= n.size() - 1 &&\n" +
	"[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27].exists(i, i <= n.size() &&\n" +
	"k.startsWith(n.substring(0, i)) && k.endsWith(n.substring(i + 2 > n.size() ? n.size() : i + 2)))"

func (p *policy) warn(variable string, cause problem.Cause, args map[string]string) {
	m := message{key: "k", args: args}
	p.Validations = append(p.Validations, validation{
		Expression: "variables." + variable + ".size() == 0",
		Message:    fmt.Sprintf("variables.%s.map(k, %s).join(' ')", variable, m.text(cause)),
		Fallback:   "an annotation of oooi has no effect",
	})
}
