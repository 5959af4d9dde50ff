// This file writes messages as CEL expressions, from the templates of the condition, and policies
// as YAML.

package annotations

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// longestValue is how many characters of a value a message has.
const longestValue = 300

// quote returns s as a CEL string.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// list returns strings as a CEL list.
func list(all []string) string {
	var quoted []string
	for _, s := range all {
		quoted = append(quoted, quote(s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// A message has the CEL expressions for what stands in a template.
type message struct {
	// key is the annotation's key without the prefix.
	key  string
	args map[string]string
}

// denial returns the expression for the message about an entry v that violates r. A message of
// several lines would not be shown.
func (m message) denial(r settings.Requirement) string {
	m.args = map[string]string{"value": "v"}
	if r.Cause == problem.AnnotationUnreadable {
		m.args["value"] = fmt.Sprintf("variables.annotations[%s + %s]", quote(settings.Prefix), m.key)
	}
	for name, text := range r.Args {
		m.args[name] = quote(text)
	}
	maps.Copy(m.args, r.Computed)
	m.args["value"] = fmt.Sprintf("[%s].map(a, a.size() > %d ? a.substring(0, %[2]d) + '...' : a)[0].replace('\\n', ' ')", m.args["value"], longestValue)
	return m.text(r.Cause)
}

// text returns the expression for the message of a cause.
func (m message) text(c problem.Cause) string {
	template, ok := explain.Template(c)
	if !ok {
		panic("no message for " + string(c))
	}
	return m.fill(template.String())
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// fill returns the expression for a template.
func (m message) fill(template string) string {
	var parts []string
	for {
		at := placeholder.FindStringSubmatchIndex(template)
		if at == nil {
			break
		}
		if at[0] > 0 {
			parts = append(parts, quote(template[:at[0]]))
		}
		parts = append(parts, m.argument(template[at[2]:at[3]]))
		template = template[at[1]:]
	}
	if template != "" {
		parts = append(parts, quote(template))
	}
	return strings.Join(parts, " + ")
}

// argument returns the expression for one argument of a template.
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

const head = `# Generated from the table in hcp/settings by make golden. DO NOT EDIT.
#%s
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: %s
  labels:
    app.kubernetes.io/name: oooi
spec:
  # Without a verdict the write succeeds, and the condition reports what is invalid.
  failurePolicy: Ignore
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector: {}
    objectSelector: {}
    resourceRules:
    - apiGroups: [hypershift.openshift.io]
      apiVersions: ["*"]
      resources: [hostedclusters, nodepools]
      operations: [CREATE, UPDATE]
      scope: "*"
    - apiGroups: [k8s.cni.cncf.io]
      apiVersions: ["*"]
      resources: [network-attachment-definitions]
      operations: [CREATE, UPDATE]
      scope: "*"
    - apiGroups: [""]
      apiVersions: ["*"]
      resources: [services]
      operations: [CREATE, UPDATE]
      scope: "*"
`

const binding = `---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: %s
  labels:
    app.kubernetes.io/name: oooi
spec:
  policyName: %[1]s
  validationActions: [%[2]s]
`

// yaml returns the policy and its binding.
func (p policy) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, head, strings.ReplaceAll(p.comment, "\n#\n", "\n"), p.name)
	section := func(title string, all []named) {
		fmt.Fprintf(&b, "  %s:\n", title)
		for _, n := range all {
			fmt.Fprintf(&b, "  - name: %s\n    expression: |-\n%s", n.name, indent(n.expression))
		}
	}
	section("matchConditions", []named{
		{"not-deleted", "!has(object.metadata.deletionTimestamp)"},
		{"not-written-by-oooi", "!(" + own() + ")"},
		{"not-copied-from-a-hosted-cluster", "!(" + copied() + ")"},
		{"not-too-many-annotations", fmt.Sprintf("object.metadata.?annotations.orValue({}).size() <= %d", mostAnnotations)},
		{"sets-an-annotation", "object.metadata.?annotations.orValue({}).exists(k, " + changed("k") + ")"},
	})
	section("variables", p.variables)
	b.WriteString("  validations:\n")
	for _, v := range p.validations {
		fmt.Fprintf(&b, "  - expression: |-\n%s    message: %s\n    messageExpression: |-\n%s",
			indent(v.expression), yamlQuote(v.fallback), indent(v.message))
	}
	fmt.Fprintf(&b, binding, p.name, p.action)
	return b.String()
}

// yamlQuote returns s as a YAML string.
func yamlQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// indent returns lines as the text of a YAML block.
func indent(text string) string {
	return "      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"
}
