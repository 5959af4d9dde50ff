// This file writes policies as YAML. Their messages are CEL expressions with the texts of the condition NetworkReady.

package annotations

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"text/template"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// longestValue limits a value in a message, in characters.
const longestValue = 300

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func list(all []string) string {
	var quoted []string
	for _, s := range all {
		quoted = append(quoted, quote(s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// A message contains CEL expressions for the arguments of a text's template, by the argument's name.
type message struct {
	// key is a CEL expression for the annotation's key without the prefix.
	key  string
	args map[string]string
}

// denial returns the CEL expression for the message about an entry v that violates r. The message has one line, because an
// API server does not show more.
func (m message) denial(r settings.Requirement) string {
	m.args = map[string]string{"value": "v"}
	if r.Cause == problem.AnnotationUnreadable {
		m.args["value"] = fmt.Sprintf("variables.annotations[%s + %s]", quote(settings.Prefix), m.key)
	}
	for name, values := range r.Args {
		m.args[name] = quote(values.String())
	}
	maps.Copy(m.args, r.Computed)
	m.args["value"] = fmt.Sprintf("[%s].map(a, a.size() > %d ? a.substring(0, %[2]d) + '...' : a)[0].replace('\\n', ' ')", m.args["value"], longestValue)
	return m.text(r.Cause)
}

func (m message) text(c problem.Cause) string {
	template, ok := explain.Template(c)
	if !ok {
		panic("no message for " + string(c))
	}
	return m.fill(template.String())
}

// part matches an argument of a template, or the text between two arguments.
var part = regexp.MustCompile(`\{(\w+)\}|[^{]+|\{`)

func (m message) fill(template string) string {
	var parts []string
	for _, p := range part.FindAllStringSubmatch(template, -1) {
		if name := p[1]; name != "" {
			parts = append(parts, m.argument(name))
		} else {
			parts = append(parts, quote(p[0]))
		}
	}
	return strings.Join(parts, " + ")
}

func (m message) argument(name string) string {
	switch name {
	case "key":
		return m.key
	case "subject":
		return "variables.subject"
	}
	text, ok := m.args[name]
	if !ok {
		panic("no argument " + name)
	}
	return text
}

//go:embed policy.tmpl
var policyText string

func (p policy) yaml() string {
	t := template.Must(template.New("policy").Funcs(template.FuncMap{
		"quote":  func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
		"indent": func(s string) string { return "      " + strings.ReplaceAll(s, "\n", "\n      ") },
	}).Parse(policyText))
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		panic("annotations: a policy is always text: " + err.Error())
	}
	return b.String()
}

// Conditions returns the match conditions, which are the same for each policy.
func (policy) Conditions() []named {
	return []named{
		{"not-deleted", "!has(object.metadata.deletionTimestamp)"},
		{"not-written-by-oooi", "!(" + own() + ")"},
		{"not-copied-from-a-hosted-cluster", "!(" + copied() + ")"},
		{"not-too-many-annotations", fmt.Sprintf("object.metadata.?annotations.orValue({}).size() <= %d", mostAnnotations)},
		{"sets-an-annotation", "object.metadata.?annotations.orValue({}).exists(k, " + changed("k") + ")"},
	}
}
