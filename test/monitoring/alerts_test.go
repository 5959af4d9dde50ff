// This file plays what makes each alert fire, and what ends it, to Prometheus' own promtool.

package monitoring

import (
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/programs"
)

// A world is the series that Prometheus has, each with the value of its samples. "stale" is a series that ended:
// its target, or what it is about, is gone.
type world map[string]string

// problem is a series of the operator about HostedCluster clusters/blue.
func problem(reason, severity string) string {
	return `oooi_hosted_cluster_problems{job="oooi",namespace="clusters",name="blue",pod="oooi-1",reason="` + reason + `",severity="` + severity + `"}`
}

// of is a series of an edge of network vlan100.
func of(pod, metric, labels string) string {
	return ofProgram(programOf(metric), pod, metric, labels)
}

// ofProgram is a series that a program of an edge claims.
func ofProgram(program, pod, metric, labels string) string {
	if program != "" {
		labels += `,program="` + program + `"`
	}
	return metric + `{job="oooi-edge",namespace="clusters-blue",network="vlan100",pod="` + pod + `"` + labels + `}`
}

// programOf is the program that has a metric. Empty: all have it.
func programOf(metric string) string {
	switch {
	case strings.HasPrefix(metric, "envoy_"):
		return "proxy"
	case metric == "up", metric == "oooi_program_scraped":
		return ""
	}
	return strings.Split(metric, "_")[1]
}

const (
	operatorUp = `up{job="oooi",namespace="oooi-system",pod="oooi-1"}`
	standbyUp  = `up{job="oooi",namespace="oooi-system",pod="oooi-2"}`
	leads      = `leader_election_master_status{job="oooi",pod="oooi-1",name="oooi.densityops.com"}`
	standby    = `leader_election_master_status{job="oooi",pod="oooi-2",name="oooi.densityops.com"}`
	wave       = `oooi_update_wave{job="oooi",pod="oooi-1"}`
	ready      = `oooi_hosted_cluster_ready{job="oooi",namespace="clusters",name="blue",pod="oooi-1"}`
	written    = `oooi_hosted_cluster_condition_written{job="oooi",namespace="clusters",name="blue",pod="oooi-1"}`
	failed     = `oooi_update_clusters{job="oooi",pod="oooi-1",state="failed"}`
	policy     = `oooi_admission_policy_in_force{job="oooi",pod="oooi-1",policy="oooi-annotations"}`
)

// both returns the series of both edges.
func both(metric, labels, value string) world {
	return world{of("edge-1", metric, labels): value, of("edge-2", metric, labels): value}
}

func healthy(backend string) string   { return `,backend="` + backend + `",state="healthy"` }
func unhealthy(backend string) string { return `,backend="` + backend + `",state="unhealthy"` }

// backend is a backend of which each edge has so many endpoints.
func backend(name, good, bad string) world {
	return merged(both(endpoints, healthy(name), good), both(endpoints, unhealthy(name), bad))
}

const (
	endpoints = "oooi_proxy_backend_endpoints"
	overflow  = "envoy_listener_downstream_global_cx_overflow"
	refused   = "oooi_proxy_connections_refused_total"
	// of443 is the listener of most backends.
	of443 = `,listener="192.168.100.2:443"`
	// growing is a counter to which each minute adds 3.
	growing = "growing"
)

func pool(assigned, free string) world {
	return merged(both("oooi_dhcp_addresses", `,state="assigned"`, assigned), both("oooi_dhcp_addresses", `,state="free"`, free))
}

func merged(worlds ...world) world {
	out := world{}
	for _, w := range worlds {
		maps.Copy(out, w)
	}
	return out
}

// allIsWell is a management cluster with one hosted cluster, which has one network with two edges.
func allIsWell() world {
	return merged(
		world{operatorUp: "1", standbyUp: "1", leads: "1", standby: "0", ready: "1", written: "1", failed: "0", wave: "0", policy: "1"},
		world{problem("UpdatePending", "Info"): "1"},
		both("oooi_program_scraped", `,program="dhcp"`, "1"), both("oooi_program_scraped", `,program="proxy"`, "1"),
		both("up", "", "1"), both("oooi_failover_ready", "", "1"), both("oooi_failover_degraded", "", "0"), both("oooi_proxy_resources_refused", "", "0"),
		backend("kube-apiserver:6443", "2", "0"), backend("oauth-openshift:6443", "1", "0"), backend("vms:443", "1", "0"),
		both(overflow, of443, "7"), both(refused, `,reason="share",port="other"`, "7"), both(refused, `,reason="connections",port="other"`, "7"),
		both("oooi_dhcp_addresses", `,state="declined"`, "1"), pool("80", "119"), both("oooi_dhcp_other_servers", "", "0"),
	)
}

// A fault changes a world in which all is well, for long enough.
type fault struct {
	is world
	// fires is the one alert that follows. Empty: none.
	fires string
	// also are alerts that may fire, too.
	also []string
	// severity is that of the alert, if it has a rule for each. lasts is for how long, if no alert fires. Zero: long.
	severity string
	lasts    time.Duration
	// labels are those of the alert, without its severity.
	labels labels
	// value is the text in the alert in place of its value.
	value string
}

// The times of a fault.
const (
	before = 10 * time.Minute
	// after is how long a fault lasts after its alert fires, or without one.
	after = 5 * time.Minute
	long  = 40 * time.Minute
)

type (
	series struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	alert struct {
		Labels      map[string]string `json:"exp_labels"`
		Annotations map[string]string `json:"exp_annotations"`
	}
	check struct {
		At     string  `json:"eval_time"`
		Name   string  `json:"alertname"`
		Alerts []alert `json:"exp_alerts"`
	}
	scene struct {
		Name     string   `json:"name"`
		Interval string   `json:"interval"`
		Series   []series `json:"input_series"`
		Checks   []check  `json:"alert_rule_test"`
	}
)

// rule returns the rule of the alert that f is to fire.
func (f fault) rule(all []rule) (found rule) {
	for _, r := range all {
		if r.Alert == f.fires && (f.severity == "" || f.severity == r.Labels["severity"]) {
			return r
		}
	}
	return rule{}
}

// expected is what r says about f.
func (f fault) expected(r rule) []alert {
	labels := map[string]string{"severity": r.Labels["severity"]}
	replace := []string{"{{ $value | humanizePercentage }}", f.value}
	for k, v := range f.labels {
		labels[k] = v
		replace = append(replace, "{{ $labels."+k+" }}", v)
	}
	says := map[string]string{}
	for k, v := range r.Annotations {
		says[k] = strings.NewReplacer(replace...).Replace(v)
	}
	return []alert{{labels, says}}
}

// values are n samples of v.
func values(v string, n int) string {
	if v == growing {
		return fmt.Sprintf("10+3x%d ", n-1)
	}
	return strings.Repeat(v+" ", n)
}

// scene plays f: all is well, the fault lasts, and ends.
func (f fault) scene(t *testing.T, name string, rules []rule) scene {
	t.Helper()
	r, lasts := f.rule(rules), cmp.Or(f.lasts, long)
	if f.fires != "" {
		waits, err := time.ParseDuration(r.For)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), "alert %s", f.fires)
		lasts = waits + after
	}
	out := scene{Name: name, Interval: "1m"}
	well := allIsWell()
	for _, s := range slices.Sorted(maps.Keys(merged(well, f.is))) {
		first, last := "_", "stale" // A problem is a series while it lasts.
		if v, ok := well[s]; ok {
			first, last = v, v
		}
		bad, changes := f.is[s]
		if !changes {
			bad = first
		}
		times := func(v string, d time.Duration) string { return values(v, int(d/time.Minute)) }
		out.Series = append(out.Series, series{s, times(first, before) + times(bad, lasts) + times(last, before)})
	}
	at := func(when time.Duration, fires bool) {
		for _, a := range alertNames(rules) {
			if slices.Contains(f.also, a) {
				continue
			}
			c := check{At: when.String(), Name: a, Alerts: []alert{}}
			if fires && a == f.fires {
				c.Alerts = f.expected(r)
			}
			out.Checks = append(out.Checks, c)
		}
	}
	at(before-time.Minute, false)
	at(before+lasts-after-time.Minute, false)
	at(before+lasts-after, true)
	if r.KeepFiring != "" {
		at(before+lasts+2*time.Minute, true) // A restart of the operator neither ends nor repeats it.
	}
	at(before+lasts+7*time.Minute, false)
	return out
}

// TestAlertsFireAndEnd: each fault fires its alert, and no other one, once it lasted for long enough. The alert ends with the fault.
// Before, nothing fires.
func TestAlertsFireAndEnd(t *testing.T) {
	promtool := programs.RequireUnpacked(t, "prometheus", "usr/bin/promtool")
	g, dir, rules := NewWithT(t), t.TempDir(), groups(t)
	text, err := yaml.Marshal(map[string]any{"groups": rules})
	g.Expect(err).NotTo(HaveOccurred())
	file := programs.WriteFile(t, dir, "rules.yaml", string(text))
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		return string(out), err
	}
	out, err := run("check", "rules", "--lint=all", "--lint-fatal", file)
	g.Expect(err).NotTo(HaveOccurred(), out)

	all, fired := rulesOf(rules), map[string]bool{}
	var scenes []scene
	for _, name := range slices.Sorted(maps.Keys(faults())) {
		f := faults()[name]
		scenes = append(scenes, f.scene(t, name, all))
		if f.fires != "" {
			fired[f.fires+" "+f.rule(all).Labels["severity"]] = true
		}
	}
	for _, r := range all {
		g.Expect(fired).To(HaveKey(r.Alert+" "+r.Labels["severity"]), "no fault fires the alert")
	}
	text, err = yaml.Marshal(map[string]any{"rule_files": []string{file}, "evaluation_interval": "1m", "tests": scenes})
	g.Expect(err).NotTo(HaveOccurred())
	out, err = run("test", "rules", programs.WriteFile(t, dir, "tests.yaml", string(text)))
	g.Expect(err).NotTo(HaveOccurred(), out)
}
