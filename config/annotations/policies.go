// Package annotations generates the admission policies for the annotations of oooi, from the table in hcp/settings. One
// policy denies values that the operator would refuse. The other one warns about keys without effect. `make golden` writes
// them to config/admission. Their expressions are in CEL.
package annotations

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
)

// The largest list and the largest number of annotations that the policies check. Only the operator checks larger ones: some
// CEL expressions take quadratic time, which CEL's cost budget does not count.
const (
	longestList     = 500
	mostAnnotations = 1000
)

type named struct{ Name, Expression string }

// A validation is a check of a policy. The check fails if Expression is false. Message is an expression for the error text.
// If Message cannot be evaluated, Fallback is the error text.
type validation struct{ Expression, Message, Fallback string }

// A policy is one ValidatingAdmissionPolicy, and its binding.
type policy struct {
	Comment, Name, Action string
	Variables             []named
	Validations           []validation
}

// Files returns the policies as YAML, by their paths relative to the root of the project.
func Files() map[string]string {
	return map[string]string{
		"config/admission/annotations.yaml":     denials(),
		"config/admission/annotation_keys.yaml": warnings(),
	}
}

func denials() string {
	p := policy{Name: admission.Annotations, Action: "Deny", Variables: variables(), Comment: `# Denies values of annotations that oooi would refuse, with the message of its condition. It checks a
# value only when it is set or changed, so it blocks no other update.`}
	for _, k := range settings.Keys() {
		p.judge(k.Name, k, fmt.Sprintf("%s in variables.judged", quote(k.Name)))
	}
	return p.yaml()
}

func variables() []named {
	known := func(at settings.Place) string {
		var names []string
		for _, k := range settings.Keys() {
			if slices.Contains(k.On, at) {
				names = append(names, k.Name)
			}
		}
		return list(names)
	}
	var pools []string
	for _, k := range settings.Keys() {
		if k.PerNodePool {
			pools = append(pools, k.Name+".")
		}
	}
	return []named{
		{"annotations", "object.metadata.?annotations.orValue({})"},
		{"subject", "request.kind.kind + ' ' + request.name"},
		// The keys that were set or changed, without the prefix.
		{"changed", fmt.Sprintf("variables.annotations.filter(k, %s).map(k, k.substring(%d))", changed("k"), len(settings.Prefix))},
		{"controlPlane", "namespaceObject.metadata.?labels[?'hypershift.openshift.io/hosted-control-plane'].orValue('') == 'true'"},
		// The keys that have an effect on the object.
		{"known", fmt.Sprintf("request.kind.kind == 'HostedCluster' ? %s :\nrequest.kind.kind == 'NodePool' ? %s :\n"+
			"request.kind.kind == 'NetworkAttachmentDefinition' ? %s :\nvariables.controlPlane ? %s : []",
			known(settings.OnHostedCluster), known(settings.OnNodePool), known(settings.OnNetworkAttachmentDefinition), known(settings.OnService))},
		{"judged", fmt.Sprintf("variables.changed.filter(k, k in variables.known ||\n"+
			"request.kind.kind == 'HostedCluster' && %s.exists(p, k.startsWith(p)))", list(pools))},
	}
}

// changed returns the expression for "annotation k belongs to oooi, and was set or changed".
func changed(k string) string {
	return fmt.Sprintf("%s.startsWith(%s) &&\n(oldObject == null || oldObject.metadata.?annotations[?%[1]s] != optional.of(object.metadata.annotations[%[1]s]))",
		k, quote(settings.Prefix))
}

// judge adds the checks of the value of annotation k. Parameter when is the expression for "the annotation must be
// checked". It comes first, so that an API server does not evaluate the checks of other annotations.
func (p *policy) judge(name string, k settings.Key, when string) {
	variable, concerns := camel(name), "k == "+quote(name)
	if k.PerNodePool {
		concerns += " || k.startsWith(" + quote(name+".") + ")"
		when = fmt.Sprintf("variables.judged.exists(k, %s)", concerns)
	}
	var messages []string
	holds := map[string][]string{}
	for _, r := range k.Requirements() {
		violated := strings.Join(append(slices.Clone(holds[r.Entries]), "!("+r.Valid+")"), " &&\n")
		holds[r.Entries] = append(holds[r.Entries], "("+r.Valid+")")
		entries := "[v]"
		if r.Entries != "" {
			entries = r.Entries
		}
		messages = append(messages, fmt.Sprintf("[%s].filter(l, l.size() <= %d)\n.map(l, l.filter(e, [e.trim()].exists(v, %s)))\n"+
			".filter(f, f.size() > 0).map(f, f[0].trim()).map(v, %s)", entries, longestList, violated, message{key: "k"}.denial(r)))
	}
	p.Variables = append(p.Variables, named{variable, fmt.Sprintf(
		"variables.judged.filter(k, %s).map(k, [variables.annotations[%s + k].trim()].map(v,\n%s)[0])\n.filter(l, l.size() > 0)",
		concerns, quote(settings.Prefix), strings.Join(messages, " +\n"))})
	p.Validations = append(p.Validations, validation{
		Expression: fmt.Sprintf("!(%s) || variables.%s.size() == 0", when, variable),
		Message:    fmt.Sprintf("%s ? variables.%s[0][0] : ''", when, variable),
		Fallback:   "annotation " + name + " has an invalid value",
	})
}

func camel(key string) string {
	parts := strings.Split(key, "-")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

// own returns the expression for "the operator wrote the object", such as the NAD of edges.
func own() string {
	return fmt.Sprintf("object.metadata.?labels[?%s].orValue('') == %s", quote(wire.LabelManagedBy), quote(wire.Owner))
}

// copied returns the expression for "the object is a copy of a Service of the hosted cluster". Copies must not be denied: the
// operator does not read their annotations, and without a copy, the Service has no load balancer.
func copied() string {
	return fmt.Sprintf("request.kind.kind == %s && object.metadata.?labels[?%s].hasValue()", quote(string(settings.OnService)), quote(settings.LabelHostedService))
}
