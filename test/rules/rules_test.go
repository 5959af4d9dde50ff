// Package rules holds the house rules that a compiler does not: which package
// may import which, how large a file and a function may be, and what each file
// says at its top.
package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/cldmnky/oooi/"

// mayImport is the architecture: a package, and which of ours it may import. docs/ARCHITECTURE.md has what each is for.
// A package that is not named may not be imported by product code.
var mayImport = map[string][]string{
	"network":                               {},
	"network/access":                        {"network", "network/metrics"},
	"network/access/dial":                   {},
	"network/explain":                       {"network"},
	"network/dns":                           {"network", "network/metrics", "network/resolvconf"},
	"network/metrics":                       {},
	"network/ntp":                           {"network", "network/metrics"},
	"network/resolvconf":                    {},
	"dhcp":                                  {"network", "dhcp/leases", "network/metrics", "dhcp/recent", "dhcp/reply", "dhcp/socket"},
	"dhcp/leasefile":                        {"network", "dhcp/leases"},
	"dhcp/leases":                           {"network"},
	"dhcp/recent":                           {"network"},
	"dhcp/reply":                            {"network", "dhcp/leases"},
	"dhcp/socket":                           {},
	"edge":                                  {"network", "network/access", "dhcp/leases", "edge/device", "edge/leaseobject", "edge/rundir", "edge/wire"},
	"edge/acd":                              {"network", "edge", "edge/device"},
	"edge/trial":                            {"network", "edge", "edge/device"},
	"edge/agent":                            {"network", "network/access", "network/dns", "network/metrics", "network/ntp", "network/resolvconf", "dhcp", "dhcp/socket", "edge", "edge/device", "edge/failover", "edge/rundir", "edge/wire", "envoy/accesslog", "envoy/admin", "envoy/ads", "envoy/gate", "envoy/resources"},
	"edge/device":                           {"edge/wire"},
	"edge/failover":                         {"network", "edge", "edge/device", "edge/wire"},
	"edge/leaseobject":                      {"network", "edge/wire"},
	"edge/rundir":                           {},
	"edge/wire":                             {"network"},
	"envoy/resources":                       {"network"},
	"envoy/socket":                          {"envoy/resources"},
	"envoy/ads":                             {"envoy/resources", "envoy/socket"},
	"envoy/gate":                            {"network", "envoy/resources", "envoy/socket"},
	"envoy/accesslog":                       {"envoy/resources", "envoy/socket"},
	"envoy/admin":                           {"network", "envoy/resources"},
	"hcp/settings":                          {"network", "edge/wire"},
	"hcp/nad":                               {"network", "edge/wire"},
	"hcp/lenient":                           {},
	"hcp/manifest":                          {},
	"hcp/apirewrite":                        {},
	"hcp/apirewrite/protobuf":               {},
	"hcp/apirewrite/proxy":                  {"hcp/apirewrite"},
	"hcp":                                   {"network", "hcp/settings", "hcp/nad", "hcp/lenient", "hcp/manifest", "edge/wire"},
	"config/admission":                      {},
	"config/admission/annotations":          {"config/admission", "network", "network/explain", "hcp/settings", "edge/wire"},
	"config/admission/annotations/generate": {"config/admission/annotations"},
	"config/rbac":                           {},
	"controllers/attachments":               {"network", "hcp/nad", "edge/wire"},
	"controllers/desired":                   {"network", "envoy/resources", "controllers/attachments", "controllers/rollout", "edge/wire"},
	"controllers/rollout":                   {},
	"controllers/waves":                     {"controllers/rollout"},
	"controllers":                           {"config/admission", "config/rbac", "network", "network/explain", "network/metrics", "hcp", "hcp/nad", "hcp/settings", "hcp/lenient", "controllers/attachments", "controllers/desired", "controllers/rollout", "controllers/waves", "edge/wire"},
	"version":                               {},
	"cmd/oooi":                              {"network/resolvconf", "edge/wire", "hcp", "hcp/apirewrite", "hcp/apirewrite/proxy", "controllers", "controllers/desired", "version", "cmd/oooi/command", "cmd/oooi/access", "cmd/oooi/check", "cmd/oooi/gather", "cmd/oooi/picture", "cmd/oooi/plan", "cmd/oooi/status"},
	"cmd/oooi/access":                       {"network", "network/access/dial", "edge/wire", "hcp", "hcp/settings", "cmd/oooi/command"},
	"cmd/oooi/check":                        {"network", "network/explain", "edge/wire", "hcp", "hcp/settings", "controllers/attachments", "controllers/desired", "cmd/oooi/source", "cmd/oooi/command", "cmd/oooi/plan", "cmd/oooi/status"},
	"cmd/oooi/command":                      {"network", "hcp/settings", "hcp/manifest", "hcp/apirewrite", "hcp/apirewrite/proxy", "version", "cmd/oooi/source"},
	"cmd/oooi/gather":                       {"edge/wire", "hcp", "version", "cmd/oooi/source", "cmd/oooi/command"},
	"cmd/oooi/picture":                      {"network", "network/explain", "hcp", "cmd/oooi/source", "cmd/oooi/command", "cmd/oooi/plan", "cmd/oooi/status"},
	"cmd/oooi/plan":                         {"network", "network/explain", "hcp", "hcp/settings", "hcp/manifest", "cmd/oooi/source", "cmd/oooi/command"},
	"cmd/oooi/source":                       {"edge/wire", "hcp", "hcp/settings", "hcp/manifest"},
	"cmd/oooi/status":                       {"network", "network/explain", "edge/leaseobject", "edge/wire", "hcp", "hcp/settings", "controllers", "version", "cmd/oooi/source", "cmd/oooi/command"},
	"cmd/oooi-apiproxy":                     {"hcp/apirewrite", "hcp/apirewrite/protobuf", "hcp/apirewrite/proxy", "version"},
	"cmd/oooi-edge":                         {"network", "network/access", "dhcp", "dhcp/leasefile", "dhcp/reply", "network/dns", "network/ntp", "network/resolvconf", "edge", "edge/acd", "edge/agent", "edge/device", "edge/rundir", "edge/trial", "edge/wire", "envoy/accesslog", "envoy/admin", "envoy/ads", "envoy/gate", "envoy/resources", "version"},
}

// A source is one parsed Go file, its path relative to the module's root.
type source struct {
	path  string
	ast   *ast.File
	fset  *token.FileSet
	lines int
}

func sources(t *testing.T) []source {
	t.Helper()
	out, err := parsedSources()
	if err != nil || len(out) == 0 {
		t.Fatalf("reading sources: %v", err)
	}
	return out
}

// parsedSources are those of all modules.
var parsedSources = sync.OnceValues(func() (out []source, err error) {
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		out = append(out, source{path: filepath.ToSlash(rel), ast: f, fset: fset, lines: strings.Count(string(text), "\n")})
		return nil
	})
	return out, err
})

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }
func (s source) pkg() string  { return filepath.ToSlash(filepath.Dir(s.path)) }

// product code is what goes into the binaries, and what generates a part of it.
func (s source) isProduct() bool {
	_, ok := mayImport[s.pkg()]
	return ok && !s.isTest()
}

func (s source) imports() []string {
	var out []string
	for _, i := range s.ast.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

func TestImportsPointOneWay(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isProduct() {
			continue
		}
		for _, i := range s.imports() {
			ours, ok := strings.CutPrefix(i, module)
			if ok && !slices.Contains(mayImport[s.pkg()], ours) {
				t.Errorf("%s imports %s: %s may import %v only", s.path, ours, s.pkg(), mayImport[s.pkg()])
			}
		}
	}
}

// TestNetworkIsPure: what decides a plan sees no world. Of net, only net/netip
// is arithmetic.
func TestNetworkIsPure(t *testing.T) {
	forbidden := []string{"os", "io", "net", "log", "log/slog", "context", "sync", "math/rand", "math/rand/v2", "runtime", "syscall", "unsafe"}
	for _, s := range sources(t) {
		if !slices.Contains([]string{"network", "controllers/rollout", "controllers/waves"}, s.pkg()) || s.isTest() {
			continue
		}
		for _, i := range s.imports() {
			if slices.Contains(forbidden, i) || strings.Contains(strings.TrimPrefix(i, module), ".") {
				t.Errorf("%s imports %s: %s is pure and uses the standard library only", s.path, i, s.pkg())
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && sel.Sel.Name == "Now" {
					t.Errorf("%s reads the clock", s.path)
				}
			}
			return true
		})
	}
}

// TestOnlyHCPKnowsHyperShift: when HyperShift changes, one package changes. The
// controllers fetch its objects and hand them over; the scheme needs its types.
func TestOnlyHCPKnowsHyperShift(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isProduct() || s.pkg() == "hcp" || s.pkg() == "hcp/lenient" || s.pkg() == "controllers" {
			continue
		}
		for _, i := range s.imports() {
			if strings.HasPrefix(i, "github.com/openshift/hypershift/") {
				t.Errorf("%s imports %s: only hcp knows what HyperShift's fields mean", s.path, i)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines > 400 {
			t.Errorf("%s has %d lines, more than 400: split it by what it decides", s.path, s.lines)
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1; n > 80 {
				t.Errorf("%s: %s has %d lines, more than 80", s.path, f.Name.Name, n)
			}
		}
	}
}

// TestEveryFileSaysWhatItIsFor: product files begin with a comment before the
// package clause, the package's own or the file's.
func TestEveryFileSaysWhatItIsFor(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isProduct() {
			continue
		}
		if len(s.ast.Comments) == 0 || s.ast.Comments[0].Pos() > s.ast.Package {
			t.Errorf("%s: say at its top what it decides and what it never does", s.path)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isProduct() {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no doc comment", s.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: %s has no doc comment", s.path, ts.Name.Name)
					}
				}
			}
		}
	}
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// TestNames: a folder says what it decides.
func TestNames(t *testing.T) {
	bad := regexp.MustCompile(`(^|/)(utils?|common|helpers?|internal|pkg|types|base|misc)(/|$|_|\.go$)`)
	for _, s := range sources(t) {
		if bad.MatchString(strings.TrimSuffix(s.path, "_test.go")) {
			t.Errorf("%s: name it for what it does", s.path)
		}
	}
}

// TestTestsDoNotSleep: wait for a condition, not for a while.
func TestTestsDoNotSleep(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isTest() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s sleeps: wait for a condition", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}
