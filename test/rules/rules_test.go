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

// mayImport is the architecture: a package, and which packages of this module it may import. docs/ARCHITECTURE.md has what each is for.
// A package that is not named may not be imported by product code.
var mayImport = map[string][]string{
	"callers":                 {},
	"network":                 {"network/problem"},
	"network/metrics":         {},
	"network/resolvconf":      {},
	"network/problem":         {},
	"dhcp":                    {"dhcp/leases", "dhcp/recent", "dhcp/reply", "dhcp/udp", "network", "network/metrics", "reported"},
	"dhcp/leases":             {"network"},
	"dhcp/recent":             {"network", "reported"},
	"dhcp/reply":              {"dhcp/leases", "network", "reported"},
	"dhcp/udp":                {},
	"edge/acd":                {"edge/device", "edge/signal", "network", "reported"},
	"edge/trial":              {"edge/device", "edge/signal", "edge/socket", "network", "network/problem", "reported"},
	"edge/agent":              {"edge/agent/proxy", "edge/agent/serving", "edge/agent/sightings", "edge/device", "edge/failover", "edge/health", "edge/inforce", "edge/rundir", "edge/wire", "envoy/admin", "envoy/resources", "network", "network/metrics", "network/problem", "reported"},
	"edge/agent/boots":        {"network", "reported"},
	"edge/agent/connlog":      {"access", "envoy/accesslog", "network"},
	"edge/agent/proxy":        {"edge/agent/connlog", "edge/agent/scrape", "edge/agent/serving", "edge/backends", "edge/failover", "edge/health", "edge/inforce", "edge/rundir", "edge/signal", "envoy/admin", "envoy/ads", "envoy/gate", "envoy/resources", "network", "network/metrics", "reported"},
	"edge/agent/scrape":       {"callers", "edge/agent/serving", "edge/inforce", "edge/rundir", "edge/socket", "edge/wire", "envoy/resources", "network", "network/metrics"},
	"edge/agent/servers":      {"access", "dhcp", "dhcp/udp", "dns", "dns/answers", "edge/agent/boots", "edge/agent/serving", "edge/agent/sightings", "edge/device", "edge/inforce", "edge/signal", "edge/socket", "edge/wire", "network", "network/problem", "ntp", "reported"},
	"edge/agent/serving":      {"edge/device", "edge/health", "edge/inforce", "edge/signal", "network", "network/problem", "network/resolvconf", "reported"},
	"edge/agent/sightings":    {"edge/device", "reported"},
	"edge/device":             {"edge/signal", "edge/socket", "edge/wire"},
	"edge/failover":           {"edge/device", "edge/failover/twins", "edge/sharedfiles", "edge/socket", "edge/wire", "network", "reported"},
	"edge/failover/twins":     {},
	"edge/backends":           {"edge/kube", "edge/sharedfiles", "edge/signal", "edge/socket", "network"},
	"edge/sharedfiles":        {"access", "edge/signal", "network", "reported"},
	"edge/health":             {"edge/rundir", "edge/signal"},
	"edge/kube":               {"dhcp/leases", "edge/health", "edge/leaseobject", "edge/sharedfiles", "edge/signal", "edge/socket", "edge/wire", "network", "reported"},
	"edge/leaseobject":        {"edge/wire", "network"},
	"edge/rundir":             {},
	"edge/signal":             {},
	"edge/socket":             {},
	"edge/inforce":            {"edge/kube", "edge/sharedfiles", "edge/signal", "network"},
	"edge/wire":               {"network"},
	"envoy/resources":         {"network"},
	"envoy/listen":            {"envoy/resources"},
	"envoy/ads":               {"envoy/listen", "envoy/resources"},
	"envoy/gate":              {"envoy/listen", "envoy/resources", "network"},
	"envoy/accesslog":         {"envoy/listen", "envoy/resources"},
	"envoy/admin":             {"envoy/resources", "network"},
	"hcp/settings":            {"edge/wire", "hcp/spelling", "network", "network/problem"},
	"hcp/spelling":            {},
	"hcp/nad":                 {"edge/wire", "network", "network/problem"},
	"hcp/lenient":             {"edge/wire", "hcp/settings"},
	"hcp/manifest":            {},
	"hcp/apirewrite":          {},
	"hcp/apirewrite/protobuf": {},
	"hcp/apiproxy":            {"callers", "hcp/apirewrite"},
	"hcp/services":            {"edge/wire", "hcp/settings", "network"},
	"hcp/management":          {"hcp/services", "network"},
	"hcp/objects":             {"edge/wire", "hcp/imageref", "hcp/lenient", "hcp/management", "hcp/nad", "hcp/services", "hcp/settings", "network", "network/problem"},
	"hcp/networks":            {"edge/wire", "hcp/lenient", "hcp/nad", "hcp/objects", "hcp/services", "hcp/settings", "hcp/spelling", "network", "network/problem"},
	"hcp/imageref":            {},
	"hcp/reach":               {"hcp/imageref", "hcp/objects", "hcp/services", "network"},
	"hcp/external":            {"hcp/imageref", "hcp/ingress", "hcp/objects", "hcp/reach", "hcp/settings", "network", "network/problem"},
	"hcp/endpoints":           {"edge/wire", "hcp/external", "hcp/imageref", "hcp/ingress", "hcp/objects", "hcp/reach", "hcp/services", "hcp/settings", "network", "network/problem"},
	"hcp/ingress":             {"hcp/objects", "hcp/services", "hcp/settings", "network"},
	"hcp/files":               {"edge/wire", "hcp/lenient", "hcp/management", "hcp/manifest", "hcp/nad", "hcp/objects", "hcp/settings", "hcp/spelling", "network", "network/problem"},
	"hcp":                     {"derive", "hcp/endpoints", "hcp/ingress", "hcp/lenient", "hcp/nad", "hcp/networks", "hcp/objects", "hcp/services", "hcp/settings", "network", "network/problem"},
	"config/admission":        {},
	"config/annotations":      {"config/admission", "edge/wire", "explain", "hcp/settings", "network/problem"},
	"config/rbac":             {},
	"controllers/attachments": {"edge/wire", "hcp/nad", "network", "reported"},
	"controllers/desired":     {"controllers/attachments", "controllers/rollout", "edge/wire", "envoy/resources", "network", "reported"},
	"controllers/rollout":     {},
	"controllers/waves":       {"controllers/rollout"},
	"controllers":             {"controllers/apply", "controllers/decide", "controllers/desired", "controllers/environment", "controllers/gather", "controllers/own", "controllers/policies", "controllers/report", "controllers/requests", "controllers/rollout", "controllers/watch", "controllers/waves", "edge/wire", "explain", "hcp", "hcp/lenient", "hcp/management", "hcp/networks", "hcp/objects", "hcp/services", "network", "network/metrics", "network/problem"},
	"controllers/apply":       {"controllers/decide", "controllers/desired", "controllers/gather", "controllers/own", "controllers/requests", "controllers/rollout", "controllers/watch", "edge/wire", "explain", "hcp", "hcp/lenient", "hcp/services", "network/metrics", "network/problem"},
	"controllers/decide":      {"controllers/attachments", "controllers/desired", "controllers/gather", "controllers/own", "controllers/requests", "controllers/rollout", "controllers/waves", "derive", "derive/opened", "edge/wire", "explain", "hcp", "hcp/networks", "hcp/services", "hcp/settings", "network", "network/problem", "reported"},
	"controllers/environment": {"controllers/requests", "hcp", "hcp/lenient", "hcp/management", "network", "network/metrics"},
	"controllers/gather":      {"controllers/desired", "controllers/environment", "controllers/own", "controllers/requests", "controllers/rollout", "controllers/watch", "controllers/waves", "derive", "edge/wire", "explain", "hcp", "hcp/lenient", "hcp/management", "hcp/networks", "hcp/objects", "hcp/services", "network", "network/problem", "reported"},
	"controllers/own":         {"controllers/desired", "controllers/requests", "edge/wire", "hcp", "hcp/lenient", "hcp/settings"},
	"controllers/policies":    {"config/admission", "config/rbac", "controllers/own", "edge/wire", "network/metrics"},
	"controllers/report":      {"controllers/apply", "controllers/decide", "controllers/gather", "controllers/own", "controllers/requests", "controllers/rollout", "edge/wire", "explain", "hcp", "hcp/services", "hcp/settings", "network", "network/metrics", "network/problem"},
	"controllers/requests":    {"explain"},
	"controllers/watch":       {"controllers/own", "controllers/requests", "edge/wire", "hcp", "hcp/lenient", "hcp/management", "hcp/networks", "hcp/objects", "hcp/services", "network", "network/metrics", "network/problem", "reported"},
	"version":                 {},
	"cmd/oooi":                {"callers", "cmd/oooi/check", "cmd/oooi/command", "cmd/oooi/localaccess", "cmd/oooi/mustgather", "cmd/oooi/picture", "cmd/oooi/plan", "cmd/oooi/status", "controllers", "controllers/desired", "controllers/policies", "controllers/report", "edge/wire", "explain", "explain/meaning", "hcp/apiproxy", "hcp/apirewrite", "hcp/management", "hcp/settings", "hcp/spelling", "network/problem", "network/resolvconf", "version"},
	"cmd/oooi/localaccess":    {"access/dial", "cmd/oooi/command", "edge/wire", "hcp", "hcp/settings", "network"},
	"cmd/oooi/placement":      {},
	"cmd/oooi/check":          {"cmd/oooi/command", "cmd/oooi/placement", "cmd/oooi/plan", "cmd/oooi/source", "cmd/oooi/status", "controllers/attachments", "controllers/desired", "edge/wire", "explain", "hcp", "hcp/files", "hcp/settings", "network", "network/problem", "reported"},
	"cmd/oooi/command":        {"cmd/oooi/source", "hcp/apiproxy", "hcp/apirewrite", "hcp/manifest", "hcp/settings", "network", "version"},
	"cmd/oooi/mustgather":     {"cmd/oooi/command", "cmd/oooi/source", "edge/wire", "hcp", "version"},
	"cmd/oooi/picture":        {"cmd/oooi/command", "cmd/oooi/plan", "cmd/oooi/source", "cmd/oooi/status", "explain", "hcp", "hcp/files", "network"},
	"cmd/oooi/plan":           {"cmd/oooi/command", "cmd/oooi/placement", "cmd/oooi/source", "controllers/desired", "derive", "explain", "hcp", "hcp/files", "hcp/manifest", "hcp/networks", "hcp/settings", "network", "network/problem"},
	"cmd/oooi/source":         {"edge/wire", "hcp", "hcp/files", "hcp/management", "hcp/manifest", "hcp/objects", "hcp/settings", "network"},
	"cmd/oooi/status":         {"cmd/oooi/command", "cmd/oooi/source", "controllers/gather", "controllers/own", "controllers/report", "edge/leaseobject", "edge/wire", "explain", "hcp", "hcp/files", "hcp/services", "hcp/settings", "network", "network/problem", "reported", "version"},
	"cmd/oooi-apiproxy":       {"callers", "hcp/apiproxy", "hcp/apirewrite", "hcp/apirewrite/protobuf", "version"},
	"cmd/oooi-edge":           {"access", "dhcp", "dhcp/leases", "dhcp/reply", "dns", "edge/acd", "edge/agent", "edge/agent/boots", "edge/agent/connlog", "edge/agent/proxy", "edge/agent/scrape", "edge/agent/servers", "edge/agent/serving", "edge/backends", "edge/device", "edge/health", "edge/inforce", "edge/kube", "edge/rundir", "edge/sharedfiles", "edge/socket", "edge/trial", "edge/wire", "envoy/accesslog", "envoy/admin", "envoy/ads", "envoy/gate", "envoy/resources", "network", "network/resolvconf", "ntp", "reported", "version"},
	"dns":                     {"dns/answers", "dns/shares", "network", "network/metrics", "network/resolvconf"},
	"dns/answers":             {"network", "network/resolvconf"},
	"dns/shares":              {},
	"access":                  {"network", "network/metrics"},
	"access/dial":             {},
	"derive":                  {"derive/opened", "derive/served", "network", "network/problem"},
	"derive/opened":           {"network", "network/problem"},
	"derive/served":           {"network", "network/problem"},
	"explain":                 {"network", "network/problem", "reported"},
	"explain/meaning":         {"network/problem"},
	"ntp":                     {"network", "network/metrics"},
	"reported":                {"network", "network/problem"},
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

// TestDecisionsArePure: what decides a plan sees no world. Of net, only net/netip
// is arithmetic.
func TestDecisionsArePure(t *testing.T) {
	forbidden := []string{"os", "io", "net", "log", "log/slog", "context", "sync", "math/rand", "math/rand/v2", "runtime", "syscall", "unsafe"}
	for _, s := range sources(t) {
		if !slices.Contains([]string{"network", "network/problem", "derive", "derive/served", "derive/opened", "reported", "controllers/rollout", "controllers/waves"}, s.pkg()) || s.isTest() {
			continue
		}
		for _, i := range s.imports() {
			if slices.Contains(forbidden, i) || strings.Contains(strings.TrimPrefix(i, module), ".") {
				t.Errorf("%s imports %s: %s is pure and uses the standard library only", s.path, i, s.pkg())
			}
		}
		if at := readsClock(s.ast); at.IsValid() {
			t.Errorf("%s reads the clock", s.fset.Position(at))
		}
	}
}

// TestTranslationsSeeNoWorld: what makes values of objects, and answers of values, does no I/O and reads no clock.
func TestTranslationsSeeNoWorld(t *testing.T) {
	pure := []string{"hcp", "hcp/objects", "hcp/services", "hcp/management", "hcp/networks", "hcp/reach", "hcp/external", "hcp/endpoints", "hcp/ingress", "hcp/nad", "hcp/settings",
		"dhcp/reply", "dns/answers", "envoy/resources", "controllers/decide", "controllers/desired", "explain"}
	forbidden := []string{"os", "os/exec", "log", "log/slog", "syscall", "golang.org/x/sys/unix", "math/rand", "math/rand/v2"}
	for _, s := range sources(t) {
		if !slices.Contains(pure, s.pkg()) || s.isTest() {
			continue
		}
		for _, i := range s.imports() {
			if slices.Contains(forbidden, i) {
				t.Errorf("%s imports %s: %s sees no world", s.path, i, s.pkg())
			}
		}
		if at := readsClock(s.ast); at.IsValid() {
			t.Errorf("%s reads the clock", s.fset.Position(at))
		}
	}
}

// readsClock returns where time.Now, Since or Until is called.
func readsClock(f *ast.File) (at token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isPackage(sel.X, "time") && slices.Contains([]string{"Now", "Since", "Until"}, sel.Sel.Name) {
			at = sel.Pos()
		}
		return true
	})
	return at
}

// TestOnlyHCPKnowsHyperShift: when HyperShift changes, one folder changes. The
// controllers fetch its objects and hand them over; the scheme needs its types.
func TestOnlyHCPKnowsHyperShift(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isProduct() || strings.HasPrefix(s.pkg()+"/", "hcp/") || strings.HasPrefix(s.pkg()+"/", "controllers/") {
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
