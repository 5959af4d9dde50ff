// This file reads config/monitoring, and checks it against the documents, the programs and kubectl.

package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	controllermetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/test/programs"
)

// A rule is an alert of a PrometheusRule.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	KeepFiring  string            `json:"keep_firing_for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type group struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

// read reads a file of the project.
func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parsed(t *testing.T, into any, path ...string) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(read(t, path...)), into); err != nil {
		t.Fatal(err)
	}
}

// An object of config/monitoring.
type object[T any] struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       T              `json:"spec"`
}

// groups are those of the PrometheusRule.
func groups(t *testing.T) []group {
	t.Helper()
	var o object[struct {
		Groups []group `json:"groups"`
	}]
	parsed(t, &o, "config", "monitoring", "alerts.yaml")
	return o.Spec.Groups
}

func rulesOf(groups []group) (out []rule) {
	for _, g := range groups {
		out = append(out, g.Rules...)
	}
	return out
}

// alertNames are the names of the alerts, each once.
func alertNames(rules []rule) (out []string) {
	for _, r := range rules {
		if !slices.Contains(out, r.Alert) {
			out = append(out, r.Alert)
		}
	}
	return out
}

// TestEveryAlertIsExplained: docs/alerts.md has a heading for each alert, and for nothing else. The alert links to it.
func TestEveryAlertIsExplained(t *testing.T) {
	g, rules := NewWithT(t), rulesOf(groups(t))
	page := read(t, "docs", "alerts.md")
	var headings []string
	for _, section := range strings.Split(page, "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		headings = append(headings, name)
		for _, part := range []string{"**What VMs notice:**", "**Look at:**", "**Fix:**"} {
			g.Expect(text).To(ContainSubstring(part), name)
		}
	}
	g.Expect(headings).To(Equal(alertNames(rules)), "in the order of the file")
	for _, r := range rules {
		g.Expect(r.Labels["severity"]).To(Or(Equal("critical"), Equal("warning")), r.Alert)
		g.Expect(r.For).NotTo(BeEmpty(), r.Alert)
		g.Expect(r.Annotations).To(HaveLen(3), r.Alert)
		g.Expect(r.Annotations["summary"]).To(HaveSuffix("."), r.Alert)
		g.Expect(r.Annotations["description"]).To(HaveSuffix("."), r.Alert)
		g.Expect(r.Annotations["runbook_url"]).To(Equal(pagesOf(t)+"alerts.md#"+strings.ToLower(r.Alert)), r.Alert)
	}
}

// pagesOf returns where the pages of the version in config/manager are: an alert does not link to what another version does.
func pagesOf(t *testing.T) string {
	t.Helper()
	var d appsv1.Deployment
	parsed(t, &d, "config", "manager", "deployment.yaml")
	_, tag, _ := strings.Cut(d.Spec.Template.Spec.Containers[0].Image, ":")
	return "https://github.com/cldmnky/oooi/blob/" + tag + "/docs/"
}

// TestDashboardLinksToItsVersion: each link of the dashboard is to a page of this version.
func TestDashboardLinksToItsVersion(t *testing.T) {
	g := NewWithT(t)
	links := regexp.MustCompile(`"(https://[^"]*)"`).FindAllStringSubmatch(read(t, "config", "monitoring", "dashboard.json"), -1)
	g.Expect(links).NotTo(BeEmpty())
	for _, link := range links {
		page, ofVersion := strings.CutPrefix(link[1], pagesOf(t))
		g.Expect(ofVersion).To(BeTrue(), link[1])
		g.Expect(filepath.Join("..", "..", "docs", page)).To(BeAnExistingFile())
	}
}

// added are the labels that Prometheus and config/monitoring add to each metric.
func added() []string { return []string{"pod", "job", "network", "program"} }

// upstream are metrics that others define: Prometheus, controller-runtime and Envoy.
func upstream() []string {
	return []string{"up", "leader_election_master_status", "envoy_listener_downstream_global_cx_overflow"}
}

// A selector is a metric in an expression, and its matchers.
type selector struct{ metric, matchers string }

// selectors are those of an expression.
func selectors(expr string) (out []selector) {
	for _, m := range regexp.MustCompile(`\b((?:oooi|envoy|leader|go|process)_[a-z_]+|up\b)(?:\{([^}]*)\})?`).FindAllStringSubmatch(expr, -1) {
		out = append(out, selector{m[1], m[2]})
	}
	return out
}

// labelled are the metrics of the table, and the labels of each, after those that are added.
func labelled() map[string][]string {
	out := map[string][]string{}
	for _, m := range metrics.Table() {
		out[m.Name] = append(added(), m.Labels...)
	}
	return out
}

// passedOn reports whether edges pass on a metric of Envoy, without its prefix.
func passedOn(t *testing.T, metric string) bool {
	t.Helper()
	return slices.Contains(slices.Concat(resources.StatsOfBackend(), resources.StatsOfListener()), metric) ||
		strings.Contains(read(t, "edge", "agent", "scrape", "envoy_metrics.go"), `"`+metric+`"`)
}

// TestAlertsReadKnownMetrics: each metric of an expression is in the table of metrics, with the labels that the expression selects.
func TestAlertsReadKnownMetrics(t *testing.T) {
	g, known := NewWithT(t), labelled()
	for _, r := range rulesOf(groups(t)) {
		found := selectors(r.Expr)
		g.Expect(found).NotTo(BeEmpty(), r.Alert)
		for _, s := range found {
			if slices.Contains(upstream(), s.metric) {
				continue
			}
			g.Expect(known).To(HaveKey(s.metric), r.Alert)
			for _, label := range regexp.MustCompile(`([a-z]+)\s*(?:=|!)`).FindAllStringSubmatch(s.matchers, -1) {
				g.Expect(known[s.metric]).To(ContainElement(label[1]), "%s: %s", r.Alert, s.metric)
			}
		}
	}
	// A metric that exists is refused with another help.
	leads := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: upstream()[1], Help: "another"}, []string{"name"})
	g.Expect(controllermetrics.Registry.Register(leads)).To(MatchError(ContainSubstring("previously registered")))
	overflow := strings.TrimPrefix(upstream()[2], "envoy_listener_")
	g.Expect(passedOn(t, overflow)).To(BeTrue(), "edges pass it on")
	g.Expect(read(t, "docs", "metrics.md")).To(ContainSubstring("`" + upstream()[2] + "`"))
}

// TestSelectorsHaveAJob: each selector names the job, and the program of an edge where the metric has one. So a program that a VM took
// over neither silences nor forges an alert of the operator, or of another program.
func TestSelectorsHaveAJob(t *testing.T) {
	g := NewWithT(t)
	programs := map[string]string{}
	for _, m := range metrics.Table() {
		if m.Of != metrics.Operator && !slices.Contains(m.Labels, "program") {
			programs[m.Name] = string(m.Of)
		}
	}
	for _, r := range rulesOf(groups(t)) {
		ofOperator := false
		for _, s := range selectors(r.Expr) {
			job := "oooi"
			program, ofEdge := programs[s.metric]
			if strings.HasPrefix(s.metric, "envoy_") {
				program, ofEdge = "proxy", true
			}
			if ofEdge {
				job = "oooi-edge"
				g.Expect(s.matchers).To(ContainSubstring(`program="`+program+`"`), "%s: %s", r.Alert, s.metric)
			}
			if s.metric == "oooi_program_scraped" || s.metric == "up" && r.Alert != "OooiOperatorDown" {
				job = "oooi-edge"
			}
			g.Expect(s.matchers).To(ContainSubstring(`job="`+job+`"`), "%s: %s", r.Alert, s.metric)
			ofOperator = ofOperator || job == "oooi"
		}
		keeps := ""
		if ofOperator {
			keeps = "5m"
		}
		g.Expect(r.KeepFiring).To(Equal(keeps), "%s: a restart of the operator neither ends nor repeats it", r.Alert)
	}
}

type monitor struct {
	JobLabel          string                       `json:"jobLabel"`
	NamespaceSelector map[string]bool              `json:"namespaceSelector"`
	Selector          map[string]map[string]string `json:"selector"`
	Endpoints         []struct {
		Port        string `json:"port"`
		Interval    string `json:"interval"`
		HonorLabels bool   `json:"honorLabels"`
		Relabelings []struct {
			Action       string   `json:"action"`
			SourceLabels []string `json:"sourceLabels"`
			TargetLabel  string   `json:"targetLabel"`
		} `json:"relabelings"`
	} `json:"podMetricsEndpoints"`
}

// TestMonitorsSelectPods: the PodMonitors select the pods that the manifests and the operator create, and their port by its name.
func TestMonitorsSelectPods(t *testing.T) {
	g := NewWithT(t)
	var operator, edges object[monitor]
	parsed(t, &operator, "config", "monitoring", "operator.yaml")
	parsed(t, &edges, "config", "monitoring", "edges.yaml")
	var d appsv1.Deployment
	parsed(t, &d, "config", "manager", "deployment.yaml")
	g.Expect(operator.Metadata["namespace"]).To(Equal(d.Namespace))
	for label, value := range operator.Spec.Selector["matchLabels"] {
		g.Expect(d.Spec.Template.Labels).To(HaveKeyWithValue(label, value))
	}
	g.Expect(d.Spec.Template.Spec.Containers[0].Ports).To(ContainElement(HaveField("Name", operator.Spec.Endpoints[0].Port)))
	g.Expect(operator.Spec.Endpoints[0].HonorLabels).To(BeTrue(), "the namespace is that of the HostedCluster")

	g.Expect(edges.Spec.Selector["matchLabels"]).To(Equal(map[string]string{wire.LabelName: wire.NameEdge}))
	g.Expect(edges.Spec.NamespaceSelector).To(HaveKeyWithValue("any", true))
	endpoint := edges.Spec.Endpoints[0]
	g.Expect(endpoint.Port).To(Equal(wire.MetricsPortName))
	g.Expect(endpoint.HonorLabels).To(BeFalse(), "a program that a VM took over does not choose the namespace")
	g.Expect(endpoint.Relabelings[0].TargetLabel).To(Equal("network"))
	g.Expect(endpoint.Relabelings[0].SourceLabels).To(ConsistOf(
		"__meta_kubernetes_pod_label_" + regexp.MustCompile(`[^a-z]`).ReplaceAllString(wire.LabelNetwork, "_")))
	for job, m := range map[string]monitor{"oooi": operator.Spec, "oooi-edge": edges.Spec} {
		g.Expect(m.Selector["matchLabels"][m.JobLabel]).To(Equal(job), "alerts select the job")
	}
}

// TestComponentBuilds: kubectl builds config/monitoring alone, and what docs/gitops.md tells to write.
func TestComponentBuilds(t *testing.T) {
	g := NewWithT(t)
	kubectl := filepath.Join(programs.RequireAPIServer(t), "kubectl")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	g.Expect(err).NotTo(HaveOccurred())
	built := func(dir string) string {
		out, err := exec.CommandContext(t.Context(), kubectl, "kustomize", dir).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		return string(out)
	}
	alone := built(filepath.Join(root, "config", "monitoring"))
	g.Expect(alone).To(And(ContainSubstring("kind: PodMonitor"), ContainSubstring("kind: PrometheusRule")))

	block := regexp.MustCompile("`kustomization.yaml`[^\n]*\n\n((?:    .*\n)+)").FindStringSubmatch(read(t, "docs", "gitops.md"))
	g.Expect(block).NotTo(BeNil())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	config, err := filepath.Rel(dir, filepath.Join(root, "config"))
	g.Expect(err).NotTo(HaveOccurred())
	remote := regexp.MustCompile(`https://github.com/cldmnky/oooi//config/([a-z]+)\?ref=v[0-9.]+`)
	programs.WriteFile(t, dir, "kustomization.yaml", remote.ReplaceAllString(strings.ReplaceAll("\n"+block[1], "\n    ", "\n"), config+"/$1"))
	g.Expect(built(dir)).To(And(ContainSubstring("kind: Deployment"), ContainSubstring("kind: PodMonitor"), ContainSubstring("kind: PrometheusRule")))
}
