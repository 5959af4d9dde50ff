// Package grafana reads the dashboard of config/monitoring with the types that Grafana publishes for its dashboards. It is a
// module of its own, so that the operator does not depend on them.
package grafana

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// strictly reads the panels of a dashboard that are not rows. A field that Grafana does not know, or of another type, one that it
// requires and that is missing, and a value out of its range are errors.
func strictly(text []byte) ([]dashboard.Panel, error) {
	var whole dashboard.Dashboard
	errs := []error{whole.UnmarshalJSONStrict(text), whole.Validate()}
	var raw struct{ Panels []json.RawMessage }
	errs = append(errs, json.Unmarshal(text, &raw))
	var out []dashboard.Panel
	for _, one := range raw.Panels {
		var kind struct{ Type string }
		if errs = append(errs, json.Unmarshal(one, &kind)); kind.Type == "row" {
			continue
		}
		// The types of a whole dashboard leave out a panel whose options they have no fault with. See isEmpty.
		var p dashboard.Panel
		errs = append(errs, p.UnmarshalJSONStrict(one), p.Validate())
		out = append(out, p)
	}
	return out, errors.Join(slices.DeleteFunc(errs, isEmpty)...)
}

// isEmpty reports whether err is none. The types return an empty list of errors for options without a fault.
func isEmpty(err error) bool { return err == nil || err.Error() == "" }

// shipped is the dashboard of config/monitoring.
func shipped(t *testing.T) string {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDashboardKeepsToTheSchema: Grafana's own types read the dashboard, with the options of each panel and each query. No field is
// unknown to them, and none that they require is missing. No Grafana draws it here.
func TestDashboardKeepsToTheSchema(t *testing.T) {
	panels, err := strictly([]byte(shipped(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range panels {
		if _, known := cog.ConfigForPanelcfgVariant(p.Type); !known {
			t.Errorf("panel %q is of no type of Grafana: %s", *p.Title, p.Type)
		}
		for _, target := range p.Targets {
			if q, ok := target.(prometheus.Dataquery); !ok || q.Expr == "" {
				t.Errorf("panel %q has a query that is not of Prometheus: %T", *p.Title, target)
			}
		}
	}
	if len(panels) < 15 {
		t.Errorf("%d panels were read", len(panels))
	}
}

// TestFaultsAreFound: what Grafana would ignore or refuse is an error.
func TestFaultsAreFound(t *testing.T) {
	text := shipped(t)
	for name, change := range map[string][2]string{
		"an unknown field of the dashboard": {`"graphTooltip": 1`, `"graphTooltipp": 1`},
		"an unknown field of a panel":       {`"gridPos"`, `"gridPosition"`},
		"an unknown option of a panel":      {`"showLegend"`, `"showLegends"`},
		"an unknown field of a query":       {`"expr"`, `"expression"`},
		"a text in place of a number":       {`"w": 6`, `"w": "6"`},
		"a panel that is too wide":          {`"w": 6`, `"w": 25`},
	} {
		broken := strings.Replace(text, change[0], change[1], 1)
		if broken == text {
			t.Errorf("%s: the dashboard has no %s", name, change[0])
		}
		if _, err := strictly([]byte(broken)); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
