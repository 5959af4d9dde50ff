// This file adds a cause, a setting and a metric to copies of the files that a new one changes, and tests what follows from these.

package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	// What the tests with the build tag import, so that go test does not reuse an older result.
	_ "github.com/cldmnky/oooi/cmd/oooi/plan"
	_ "github.com/cldmnky/oooi/config/annotations"
	_ "github.com/cldmnky/oooi/dhcp"
)

// An edit inserts text before a line of a file.
type edit struct{ file, before, text string }

// TestAddedCause: a problem is its literal in the catalogue, and where it is raised. Conditions, Events, plans, lint and documentation
// have it then.
func TestAddedCause(t *testing.T) {
	added(t, "TestCauseThatWasAdded",
		edit{"network/problem/catalogue_addresses.go", "DHCPSettingsUnused = declare(", `CIDRIsAnExample = declare("CIDRIsAnExample", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning,
		What:   "CIDR {cidr} of network {network} is that of the examples.",
		Effect: "Networks of two clusters may overlap.",
		Fix:    "Set another one."})`},
		edit{"derive/served/unused_settings.go", "if !gives {", `if s.CIDR.String() == "192.168.100.0/24" {
			ps = append(ps, s.Problem(problem.CIDRIsAnExample, problem.Args{"cidr": {s.CIDR.String()}}, s.CIDRKeys...))
		}`},
	)
}

// TestAddedSetting: a setting is its row, its field, and what uses it. Translation, lint, admission, documentation and problems know
// it then.
func TestAddedSetting(t *testing.T) {
	added(t, "TestSettingThatWasAdded",
		edit{"hcp/settings/table.go", `{Name: network.KeyDHCPRelays,`, `{Name: "spare-ntp-server", On: all, For: FirstNetworks, Default: "no spare server", Example: "192.168.100.9",
			Meaning: "An NTP server that VMs ask last.",
			value:   into(addresses(), func(s *Values) *netip.Addr { return &s.SpareNTPServer })},`},
		edit{"network/request.go", "DHCPRelays    []netip.Addr", "SpareNTPServer netip.Addr `json:\"spareNTPServer,omitzero\"`"},
		edit{"derive/served/dhcp_options.go", "if !n.Primary {", "if a := s.Settings.SpareNTPServer; a.IsValid() { d.NTPServers = append(slices.Clone(d.NTPServers), a) }"},
	)
}

// TestAddedMetric: a metric is its row, and the place that sets it. Its program serves it, its edge passes it on, and the documentation
// has it then.
func TestAddedMetric(t *testing.T) {
	added(t, "TestMetricThatWasAdded",
		edit{"network/metrics/table.go", "DHCPOtherServers =", `DHCPSearches = counter(DHCP, "oooi_dhcp_searches_total", "Searches for other DHCP servers.", "found")`},
		edit{"dhcp/metrics.go", "m.set(metrics.DHCPOtherServers", `m.Counter(metrics.DHCPSearches).WithLabelValues("no").Inc()`},
	)
}

// added runs a test of this package that has the build tag "added", with edited files.
func added(t *testing.T, test string, edits ...edit) {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for i, e := range edits {
		path, err := filepath.Abs(filepath.Join(root, e.file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.before); n != 1 {
			t.Fatalf("%s has %d times %s", e.file, n, e.before)
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		edited := strings.Replace(string(text), e.before, e.text+"\n"+e.before, 1)
		if err := os.WriteFile(replace[path], []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-tags", "added", "-overlay", file, "-v", "-run", "^"+test+"$", ".").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Fatalf("%v\n%s", err, out)
	}
}
