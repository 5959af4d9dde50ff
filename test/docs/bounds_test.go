package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/edge/wire"
)

// The rows of docs/security.md, by how their first cell begins, for each file of the product that opens a socket for others, and each
// kind that is watched.
var (
	socketRows = map[string]string{
		"cmd/oooi-apiproxy/health.go":      "ports of the operator",
		"cmd/oooi-apiproxy/serve.go":       "clients and webhooks of `oooi-apiproxy`",
		"cmd/oooi-apiproxy/webhook.go":     "clients and webhooks of `oooi-apiproxy`",
		"cmd/oooi-edge/proxy.go":           "sockets between containers",
		"cmd/oooi/localaccess/serve.go":    "`oooi access`",
		"cmd/oooi/manager.go":              "ports of the operator",
		"edge/agent/scrape/metrics.go":     "metrics of an edge",
		"edge/agent/servers/access.go":     "management access",
		"edge/agent/servers/dhcp.go":       "DHCP, 67/udp",
		"edge/agent/servers/dhcp_probe.go": "answers to probes",
		"edge/agent/servers/dns.go":        "DNS, 53",
		"edge/agent/servers/ntp.go":        "NTP",
		"edge/device/resetter.go":          "the ports of Envoy",
		"edge/failover/probe.go":           "answers to probes",
		"edge/health/health.go":            "sockets between containers",
		"edge/trial/dhcp.go":               "answers to probes",
		// These are opened by no such function.
		"access/balanced.go":          "load balancers at an edge",
		"edge/failover/heartbeat.go":  "heartbeats",
		"envoy/resources/listener.go": "the ports of Envoy",
	}
	watchedRows = map[string]string{
		"hostedclusters": "HostedClusters", "nodepools": "HostedClusters", "network-attachment-definitions": "HostedClusters", "routes": "HostedClusters",
		"virtualmachineinstances": "HostedClusters",
		"services":                "other Services", "endpointslices": "other Services", "nodes": "other Services", "hostedcontrolplanes": "other Services",
		"leases":      "Leases",
		"deployments": "objects of oooi", "poddisruptionbudgets": "objects of oooi", "configmaps": "objects of oooi", "serviceaccounts": "objects of oooi",
		"networkpolicies": "objects of oooi", "roles": "objects of oooi", "rolebindings": "objects of oooi",
	}
)

// boundRows are the cells of each row of the table of bounds.
func boundRows(t *testing.T) (out [][]string) {
	t.Helper()
	_, table, ok := strings.Cut(documents(t)["security.md"], "| what | sender | bound of one sender | beyond it | test |\n")
	if !ok {
		t.Fatal("docs/security.md has no table of bounds")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); !strings.HasPrefix(line, "| ---") {
			out = append(out, cells)
		}
	}
	return out
}

// TestBoundsHaveTests: each row of the table of bounds has a bound for a sender, and a test. TestNamedTestsExist checks that it exists.
func TestBoundsHaveTests(t *testing.T) {
	for _, cells := range boundRows(t) {
		if len(cells) != 5 || slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "" }) || !namedTest.MatchString(cells[4]) {
			t.Errorf("docs/security.md: row %q: want what enters, who sends it, a bound, what happens beyond it, and a test", cells[0])
		}
	}
}

// TestAllThatEntersHasABound: each socket, watched kind and shared file has a row in the table of bounds.
func TestAllThatEntersHasABound(t *testing.T) {
	rows := boundRows(t)
	has := func(what, row string) {
		if !slices.ContainsFunc(rows, func(cells []string) bool { return strings.HasPrefix(strings.TrimSpace(cells[0]), row) }) {
			t.Errorf("docs/security.md has no row %q in the table of bounds, for %s", row, what)
		}
	}
	for file := range opening(t) {
		if socketRows[file] == "" {
			t.Errorf("%s opens a socket: add what enters there to the table of bounds in docs/security.md, and here", file)
		}
	}
	for file, row := range socketRows {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Errorf("%s opens no socket: %v", file, err)
		}
		has(file, row)
	}
	for _, kind := range watched(t) {
		if watchedRows[kind] == "" {
			t.Errorf("%s are watched: add them to the table of bounds in docs/security.md, and here", kind)
		}
	}
	for kind, row := range watchedRows {
		has(kind, row)
	}
	for _, file := range []string{wire.ReportFile, wire.LeaseCache, wire.PlanCopy, wire.KeysFile, wire.BootsFile} {
		if !slices.ContainsFunc(rows, func(cells []string) bool { return strings.Contains(cells[0], "`"+file+"`") }) {
			t.Errorf("docs/security.md has no row for the file %s in the table of bounds", file)
		}
	}
}

// opening are the files of the product that call a function Listen...; packages whose functions others call for that are left out.
func opening(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		file, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"test", "config", ".git", "edge/socket", "edge/rundir"}, file):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if of, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(of.Sel.Name, "Listen") && of.Sel.Name != "Listens" {
				out[filepath.ToSlash(file)] = true
			}
			return true
		})
		return nil
	})
	if err != nil || len(out) < 10 {
		t.Fatalf("%d files open sockets: %v", len(out), err)
	}
	return out
}

// watched are the resources that the roles in config/rbac allow to watch, sorted.
func watched(t *testing.T) []string {
	t.Helper()
	out := map[string]bool{}
	for _, name := range []string{"operator.yaml", "controlplane.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "config", "rbac", name))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatal(err)
			}
			for _, r := range role.Rules {
				if !slices.Contains(r.Verbs, "watch") {
					continue
				}
				for _, resource := range r.Resources {
					out[resource] = true
				}
			}
		}
	}
	if len(out) < 10 {
		t.Fatalf("the roles allow to watch %v only", out)
	}
	return slices.Sorted(maps.Keys(out))
}
