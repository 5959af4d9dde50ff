// This file lets a real Prometheus scrape the edges and the operator, and evaluate the alerts that are shipped.

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/programs"
	"github.com/cldmnky/oooi/test/testbed/host"
)

// minutesAsSeconds is how much shorter alerts wait than those that are shipped: a minute is a second.
var minutesAsSeconds = regexp.MustCompile(`(?m)^(\s*(?:for|keep_firing_for): \d+)m$`)

// prometheusAt is where it answers, in its pod.
const prometheusAt = "127.0.0.1:9190"

// testAlerts: nothing fires while all is well. A lost node and a setting that cannot be applied each fire their alert,
// which ends with the fault. With all, an operator that is away does, too. Expressions and labels are those that are shipped; an
// alert waits as many seconds as its minutes, and targets are scraped each second.
func testAlerts(t *testing.T, s *stage, all bool) {
	g, began := NewWithT(t), time.Now()
	step := func(what string) { t.Logf("%5.1fs %s", time.Since(began).Seconds(), what) }
	s.whole(t)
	p := startPrometheus(t, s)
	g.Eventually(p.targets).WithPolling(time.Second).Should(Equal(map[string]int{"oooi": 2, "oooi-edge": 2}))
	g.Eventually(p.alerts).WithPolling(time.Second).Should(BeEmpty(), "what happened before has ended")
	g.Consistently(p.firing, "12s", "1s").Should(BeEmpty(), "all is well")
	step("all is well")

	var operators core.PodList
	g.Expect(s.hosted.Client.List(t.Context(), &operators, client.InNamespace(Namespace), client.MatchingLabels{"app.kubernetes.io/name": "oooi"})).To(Succeed())
	g.Expect(operators.Items).To(ContainElement(HaveField("Spec.NodeName", "node1")), "losing node 2 leaves an operator")
	lost := s.pods(t)[slices.IndexFunc(s.pods(t), func(p edgePod) bool { return p.nodeNumber() == 2 })]
	g.Expect(s.cluster.NodeDown(lost.nodeNumber())).To(Succeed())
	defer func() { _ = s.cluster.NodeUp(lost.nodeNumber()) }()
	const nodes = "edge-node-selector"
	g.Expect(s.hosted.Set(t.Context(), map[string]string{nodes: "node-role.kubernetes.io/control-plane="})).To(Succeed(), "labels that the administrator does not permit")
	defer func() { _ = s.hosted.Set(t.Context(), map[string]string{nodes: ""}) }()
	g.Eventually(p.firing).WithPolling(time.Second).Should(ContainElements("OooiOneEdgeLeft", "OooiConfigurationNotApplied", "OooiEdgesNotScraped"))
	g.Expect(p.firing()).NotTo(ContainElement("OooiNoEdge"), "the other edge serves")
	step("alerts fire")
	g.Expect(s.cluster.NodeUp(lost.nodeNumber())).To(Succeed())
	g.Expect(s.hosted.Set(t.Context(), map[string]string{nodes: ""})).To(Succeed())
	s.whole(t)
	step("both edges serve")
	g.Eventually(p.firing).WithPolling(time.Second).Should(BeEmpty(), "all is well again")
	step("no alert fires")
	if !all {
		return
	}
	operator := func(replicas int32) { s.setOperator(t, func(d *apps.Deployment) { d.Spec.Replicas = &replicas }) }
	operator(0)
	g.Eventually(p.firing).WithPolling(time.Second).Should(Equal([]string{"OooiOperatorDown"}))
	operator(2)
	g.Eventually(p.firing).WithPolling(time.Second).Should(BeEmpty())
}

// A prometheus runs in a pod until the test ends.
type prometheus struct {
	bed
	netNS string
}

func startPrometheus(t *testing.T, s *stage) prometheus {
	t.Helper()
	g, dir, p := NewWithT(t), t.TempDir(), prometheus{s.bed, s.monitor(t)}
	pods := filepath.Join(dir, "pods.json")
	followPods(t, s.hosted.Client, pods)
	program := programs.RequireUnpacked(t, "prometheus", "usr/bin/prometheus")
	root, err := host.ProjectDir()
	g.Expect(err).NotTo(HaveOccurred())
	shipped := func(name string, into any) {
		text, err := os.ReadFile(filepath.Join(root, "config", "monitoring", name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(minutesAsSeconds.ReplaceAll(text, []byte("${1}s")), into)).To(Succeed())
	}
	var rules struct{ Spec json.RawMessage }
	shipped("alerts.yaml", &rules)
	ruleFile := programs.WriteFile(t, dir, "rules.json", string(rules.Spec))
	var jobs []any
	for _, name := range []string{"edges.yaml", "operator.yaml"} {
		var m podMonitor
		shipped(name, &m)
		for i, e := range m.Spec.PodMetricsEndpoints {
			jobs = append(jobs, m.job(fmt.Sprintf("%s/%d", m.Metadata.Name, i), e, pods))
		}
	}
	config, err := yaml.Marshal(map[string]any{
		"global":         map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files":     []string{ruleFile},
		"scrape_configs": jobs,
	})
	g.Expect(err).NotTo(HaveOccurred())
	var said programs.Output
	c := p.command(program, "--config.file="+programs.WriteFile(t, dir, "prometheus.yaml", string(config)),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+prometheusAt)
	c.Stdout, c.Stderr = &said, &said
	g.Expect(c.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("Prometheus said:\n%s", said.String())
		}
	})
	return p
}

// command returns a command in the network namespace of the pod.
func (p prometheus) command(program string, args ...string) *exec.Cmd {
	return exec.CommandContext(p.ctx, "nsenter", append([]string{"--net=" + p.netNS, "--", program}, args...)...)
}

// followPods writes the ports of all pods to a file, as Prometheus would discover them by itself each second until the test
// ends. Debian builds Prometheus without the discovery of Kubernetes.
func followPods(t *testing.T, api client.Client, file string) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	write := func() {
		var list core.PodList
		if api.List(ctx, &list) != nil {
			return // As while the API server is away: targets stay.
		}
		groups := []any{}
		for _, p := range list.Items {
			for _, c := range p.Spec.Containers {
				for _, port := range c.Ports {
					labels := map[string]string{
						"__meta_kubernetes_namespace": p.Namespace, "__meta_kubernetes_pod_name": p.Name,
						"__meta_kubernetes_pod_container_name": c.Name, "__meta_kubernetes_pod_container_port_name": port.Name,
					}
					for label, value := range p.Labels {
						labels[metaLabel(label)] = value
					}
					if p.Status.PodIP != "" {
						groups = append(groups, map[string]any{"targets": []string{fmt.Sprintf("%s:%d", p.Status.PodIP, port.ContainerPort)}, "labels": labels})
					}
				}
			}
		}
		text, err := json.Marshal(groups)
		if err == nil && os.WriteFile(file+".new", text, 0o644) == nil {
			_ = os.Rename(file+".new", file)
		}
	}
	write()
	g.Expect(file).To(BeAnExistingFile())
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			write()
		}
	}()
}

// metaLabel is the label of a discovered pod for a label of it.
func metaLabel(label string) string {
	return "__meta_kubernetes_pod_label_" + strings.NewReplacer(".", "_", "/", "_", "-", "_").Replace(label)
}

// get reads the data of Prometheus' API.
func (p prometheus) get(path string, into any) error {
	out, err := p.command("curl", "-sSf", "http://"+prometheusAt+"/api/v1/"+path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, out)
	}
	return json.Unmarshal(out, &struct{ Data any }{into})
}

// targets are those that are up, by their job.
func (p prometheus) targets() (map[string]int, error) {
	var read struct {
		ActiveTargets []struct {
			Labels map[string]string
			Health string
		}
	}
	err := p.get("targets?state=active", &read)
	out := map[string]int{}
	for _, t := range read.ActiveTargets {
		if t.Health == "up" {
			out[t.Labels["job"]]++
		}
	}
	return out, err
}

// firing are the names of the alerts that fire, sorted.
func (p prometheus) firing() ([]string, error) { return p.inState("firing") }

// alerts are those that fire or will, if their cause stays.
func (p prometheus) alerts() ([]string, error) { return p.inState("firing", "pending") }

func (p prometheus) inState(states ...string) ([]string, error) {
	var read struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	err := p.get("alerts", &read)
	out := []string{}
	for _, a := range read.Alerts {
		if slices.Contains(states, a.State) {
			out = append(out, a.Labels["alertname"])
		}
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// A podMonitor is a PodMonitor, as far as those that are shipped use it.
type podMonitor struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		JobLabel            string
		NamespaceSelector   struct{ Any bool }
		Selector            struct{ MatchLabels map[string]string }
		PodMetricsEndpoints []podMetricsEndpoint
	}
}

type podMetricsEndpoint struct {
	Port        string
	HonorLabels bool
	Relabelings []struct {
		Action, TargetLabel string
		SourceLabels        []string
	}
}

// job is what Prometheus Operator makes from it, except for TLS, limits and Prometheus' own shards.
func (m podMonitor) job(name string, e podMetricsEndpoint, pods string) map[string]any {
	keep := func(from, value string) map[string]any {
		return map[string]any{"action": "keep", "source_labels": []string{from}, "regex": regexp.QuoteMeta(value)}
	}
	set := func(from, to string) map[string]any {
		return map[string]any{"source_labels": []string{from}, "target_label": to}
	}
	relabel := []map[string]any{keep("__meta_kubernetes_pod_container_port_name", e.Port)}
	if !m.Spec.NamespaceSelector.Any {
		relabel = append(relabel, keep("__meta_kubernetes_namespace", m.Metadata.Namespace))
	}
	for label, value := range m.Spec.Selector.MatchLabels {
		relabel = append(relabel, keep(metaLabel(label), value))
	}
	relabel = append(relabel, set("__meta_kubernetes_namespace", "namespace"), set("__meta_kubernetes_pod_container_name", "container"),
		set("__meta_kubernetes_pod_name", "pod"), set(metaLabel(m.Spec.JobLabel), "job"))
	for _, r := range e.Relabelings {
		relabel = append(relabel, map[string]any{"action": r.Action, "source_labels": r.SourceLabels, "target_label": r.TargetLabel})
	}
	return map[string]any{
		"job_name": name, "honor_labels": e.HonorLabels, "file_sd_configs": []any{map[string]any{"files": []string{pods}}}, "relabel_configs": relabel,
	}
}
