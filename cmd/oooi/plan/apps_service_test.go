package plan

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

// scriptOf are the commands for *.apps at the end of a plan.
func scriptOf(t *testing.T, text string) string {
	t.Helper()
	_, part, found := strings.Cut(text, "\nService for *.apps\n")
	NewWithT(t).Expect(found).To(BeTrue(), text)
	var out strings.Builder
	for line := range strings.Lines(part) {
		if out.Len() > 0 || !strings.HasPrefix(line, "  ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// runScript runs commands in bash with a kubectl that answers with these node ports, and returns what they apply.
func runScript(t *testing.T, script, https, http string) (applied string, err error) {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(dir, "kubectl"), []byte(`#!/bin/bash
case "$*" in
"apply -f -") exec cat > `+dir+`/applied.yaml ;;
"get service router-nodeport-default -n openshift-ingress --kubeconfig blue.kubeconfig -o jsonpath={.spec.ports[?(@.name==\"https\")].nodePort}") `+https+` ;;
"get service router-nodeport-default -n openshift-ingress --kubeconfig blue.kubeconfig -o jsonpath={.spec.ports[?(@.name==\"http\")].nodePort}") `+http+` ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
`), 0o755)).To(Succeed())
	c := exec.CommandContext(t.Context(), "bash", "-c", script)
	c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	b, _ := os.ReadFile(filepath.Join(dir, "applied.yaml")) // Nothing may be applied.
	return string(b), err
}

// TestPlanPrintsAppsService: who pastes the end of a plan into a shell has *.apps. The page has the same commands.
func TestPlanPrintsAppsService(t *testing.T) {
	g := NewWithT(t)
	in := read(t, objects(t, "lb-ip"))
	text, _, _ := oooiPlan(t, in, "-f", "-")
	g.Expect(text).To(ContainSubstring("but the console stays degraded"))
	script := scriptOf(t, text)
	applied, err := runScript(t, script, "echo -n 32443", "echo -n 32080")
	g.Expect(err).NotTo(HaveOccurred())
	after, _, code := oooiPlan(t, in+"\n---\n"+applied, "-f", "-")
	g.Expect(code).To(Equal(0))
	g.Expect(after).To(And(ContainSubstring("*.apps.blue.example.com:443 -> the VMs, port 32443"), ContainSubstring("*.apps.blue.example.com:80 -> the VMs, port 32080")))
	g.Expect(after).NotTo(Or(ContainSubstring("AppsUnreachable"), ContainSubstring("Service for *.apps")))

	applied, err = runScript(t, script, "exit 1", "echo -n 32080")
	g.Expect(err).To(HaveOccurred())
	g.Expect(applied).To(BeEmpty(), "a Service without a target port would have the port 443")

	t.Setenv("COLUMNS", "40")
	narrow, _, _ := oooiPlan(t, in, "-f", "-")
	g.Expect(scriptOf(t, narrow)).To(Equal(script), "a wrapped command does not run")

	root, err := programs.Root()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(t, filepath.Join(root, "docs", "ingress.md"))).To(ContainSubstring("\n    " + strings.ReplaceAll(strings.TrimSuffix(script, "\n"), "\n", "\n    ") + "\n"))
}

// TestPlanHasAppsServiceAsData: scripts get the Service as one value. It has the node ports if an object has them.
func TestPlanHasAppsServiceAsData(t *testing.T) {
	g := NewWithT(t)
	mistaken := "\n---\n{apiVersion: v1, kind: Service, metadata: {name: blue-apps, namespace: clusters-blue}, spec: {ports: [{name: a, port: 443, targetPort: 32443}, {name: b, port: 80, targetPort: 32080}]}}\n"
	in := read(t, objects(t, "lb-ip")) + mistaken
	line, _, _ := oooiPlan(t, in, "-f", "-", "-o", "json")
	var p struct{ AppsService json.RawMessage }
	g.Expect(json.Unmarshal([]byte(line), &p)).To(Succeed())
	g.Expect(p.AppsService).To(MatchJSON(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "blue-apps", "namespace": "clusters-blue"}, "spec": {"type": "LoadBalancer",
		"ports": [{"name": "https", "port": 443, "targetPort": 32443}, {"name": "http", "port": 80, "targetPort": 32080}]}}`))
	text, _, _ := oooiPlan(t, in, "-f", "-")
	g.Expect(scriptOf(t, text)).To(HavePrefix("kubectl apply -f - <<EOF\napiVersion: v1\n"))
}

// TestPlanWithoutBaseDomain: a cluster that a command without --base-domain creates needs no act of the user for *.apps. Neither does
// one with an ingress of type LoadBalancerService.
func TestPlanWithoutBaseDomain(t *testing.T) {
	in := read(t, objects(t, "not-yet-published"))
	for name, c := range map[string]struct{ old, new, want string }{
		"no base domain": {"baseDomain: example.com", `baseDomain: ""`, "*.apps        NOT YET. HyperShift takes the domain from the management cluster, and then publishes the ingress. " +
			"Edges forward port 443 to its node port, so the console needs no action."},
		"a load balancer": {"\nspec:\n", "\nspec:\n  operatorConfiguration: {ingressOperator: {endpointPublishingStrategy: {type: LoadBalancerService}}}\n",
			"Edges then forward ports 443 and 80 to its node ports."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			changed := strings.Replace(in, c.old, c.new, 1)
			g.Expect(changed).NotTo(Equal(in))
			text, _, code := oooiPlan(t, changed, "-f", "-")
			g.Expect(code).To(Equal(3))
			g.Expect(text).To(ContainSubstring("HyperShift has not published yet: API server, konnectivity, Ignition, OAuth, *.apps\n"))
			g.Expect(text).To(ContainSubstring(c.want))
			g.Expect(text).NotTo(Or(ContainSubstring("AppsUnreachable"), ContainSubstring("Service for *.apps"), ContainSubstring("Problems")))
		})
	}
}

// TestPlanNamesUnpublishedPlaces: a plan before creation has the names and addresses that the user gave to endpoints.
func TestPlanNamesUnpublishedPlaces(t *testing.T) {
	g := NewWithT(t)
	in := read(t, objects(t, "not-yet-published"))
	plain, _, _ := oooiPlan(t, in, "-f", "-")
	g.Expect(plain).NotTo(ContainSubstring("NOT YET. At"))
	named := in
	for service, name := range map[string]string{"OAuthServer": "oauth.vlan100.example.com", "Konnectivity": "konnectivity.vlan100.example.com"} {
		named = strings.Replace(named, "service: "+service+"\n    servicePublishingStrategy:\n      type: Route\n",
			"service: "+service+"\n    servicePublishingStrategy:\n      type: Route\n      route: {hostname: "+name+"}\n", 1)
	}
	text, _, _ := oooiPlan(t, named, "-f", "-")
	g.Expect(text).To(And(ContainSubstring("OAuth         NOT YET. At oauth.vlan100.example.com:443\n"), ContainSubstring("konnectivity  NOT YET. At konnectivity.vlan100.example.com:443\n"),
		Not(ContainSubstring("Ignition      NOT YET"))))
}
