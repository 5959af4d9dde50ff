package monitoring

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/programs"
)

// A dashboard is what Grafana reads of config/monitoring/dashboard.json, as far as it is checked here.
type dashboard struct {
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ Expr, LegendFormat string }
	}
}

// TestDashboard: promtool reads each expression, each metric is in the table with the labels that are used, and no panel covers
// another one. Module test/grafana reads it with the types that Grafana publishes. Grafana itself does not draw it.
func TestDashboard(t *testing.T) {
	g, known := NewWithT(t), labelled()
	var d dashboard
	g.Expect(json.Unmarshal([]byte(read(t, "config", "monitoring", "dashboard.json")), &d)).To(Succeed())
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	text := read(t, "config", "monitoring", "dashboard.json")
	for _, m := range regexp.MustCompile(`\$\{?([a-z]+)`).FindAllStringSubmatch(text, -1) {
		g.Expect(variables).To(ContainElement(m[1]))
	}
	var rules []map[string]any
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		g.Expect(ids).NotTo(HaveKey(p.ID))
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			g.Expect(x).To(BeNumerically("<", 24), p.Title)
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				g.Expect(taken).NotTo(HaveKey([2]int{x, y}), "%s and %s", p.Title, taken[[2]int{x, y}])
				taken[[2]int{x, y}] = p.Title
			}
		}
		g.Expect(len(p.Targets) > 0).To(Equal(p.Type != "row"), p.Title)
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$namespace", "clusters-blue", "$network", "vlan100").Replace(target.Expr)
			rules = append(rules, map[string]any{"record": "dashboard:" + strconv.Itoa(len(rules)), "expr": expr})
			for _, s := range selectors(expr) {
				labels := append(slices.Clone(known[s.metric]), "namespace")
				if strings.HasPrefix(s.metric, "envoy_") {
					metric := regexp.MustCompile(`^envoy_(?:listener|cluster)_`).ReplaceAllString(s.metric, "")
					g.Expect(passedOn(t, metric)).To(BeTrue(), metric)
					labels = append(labels, append(added(), "listener", "backend")...)
				} else {
					g.Expect(known).To(HaveKey(s.metric), p.Title)
				}
				g.Expect(s.matchers).To(ContainSubstring(`job="`), p.Title)
				used := regexp.MustCompile(`([a-z]+)\s*(?:=|!)`).FindAllStringSubmatch(s.matchers, -1)
				used = append(used, regexp.MustCompile(`\{\{([a-z]+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1)...)
				for _, label := range used {
					g.Expect(labels).To(ContainElement(label[1]), "%s: %s", p.Title, s.metric)
				}
			}
		}
	}
	g.Expect(len(rules)).To(BeNumerically(">", 20))
	file, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	g.Expect(err).NotTo(HaveOccurred())
	promtool := programs.RequireUnpacked(t, "prometheus", "usr/bin/promtool")
	said, err := exec.CommandContext(t.Context(), promtool, "check", "rules", programs.WriteFile(t, t.TempDir(), "dashboard.yaml", string(file))).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", said)
}
