package plan

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/test/programs"
)

// TestPlanReadsAll: what tools write is read whole, and gives the same plan.
func TestPlanReadsAll(t *testing.T) {
	story := objects(t, "lb-ip")
	want, _, _ := oooiPlan(t, "", "-f", story)
	in, err := readInput(nil, []string{story}, manifest.Read)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, o := range in.objects {
		values = append(values, string(o.JSON))
	}
	half := len(values) / 2
	list := func(of []string) string {
		return `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(of, ",") + "]}"
	}
	var wide []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + strings.ReplaceAll(read(t, story), "\n", "\r\n"))) {
		wide = binary.LittleEndian.AppendUint16(wide, unit)
	}
	for name, stdin := range map[string]string{
		"one JSON value a line": strings.Join(values, "\n"),
		"two Lists":             list(values[:half]) + "\n" + list(values[half:]),
		"an array":              "[" + strings.Join(values, ",") + "]",
		"UTF-16":                string(wide),
		"everything twice":      read(t, story) + "\n---\n" + read(t, story),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text, stderr, code := oooiPlan(t, stdin, "-f", "-")
			g.Expect(stderr).To(BeEmpty())
			g.Expect(code).To(Equal(0))
			g.Expect(text).To(Equal(want))
		})
	}
}

// TestInputFaults: standard error names what was not read. A file that the user named must be read
// whole; one in a directory, only with --strict.
func TestInputFaults(t *testing.T) {
	good := object("HostedCluster", "blue", "network: auto") + object("NodePool", "workers")
	helm := "kind: NodePool\nmetadata:\n  name: {{ .Values.name }}\n"
	newer := strings.Replace(object("HostedCluster", "blue", "network: auto", "edges: '1'"), "  name: blue\n", "  name: blue\n  resourceVersion: '8'\n", 1)
	older := strings.Replace(object("HostedCluster", "blue", "network: auto"), "  name: blue\n", "  name: blue\n  resourceVersion: '7'\n", 1)
	lease := func(version string) string {
		return "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: x, namespace: a}\nspec: {holderIdentity: '" + version + "'}\n---\n"
	}
	for name, c := range map[string]struct {
		files  map[string]string
		args   []string // with DIR for the directory
		code   int
		stdout string
		stderr string // a part; "": nothing is written
	}{
		"a Helm template in a directory": {files: map[string]string{"a.yaml": good, "b.yaml": helm}, args: []string{"DIR"}, code: 3, stdout: "clusters/blue", stderr: "b.yaml: document 1: "},
		"with --strict":                  {files: map[string]string{"a.yaml": good, "b.yaml": helm}, args: []string{"DIR", "--strict"}, code: 1, stderr: "b.yaml: document 1: "},
		"named":                          {files: map[string]string{"a.yaml": good, "b.yaml": helm}, args: []string{"DIR/a.yaml", "DIR/b.yaml"}, code: 1, stderr: "b.yaml: document 1: "},
		"an object without a name":       {files: map[string]string{"a.yaml": good + "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\n"}, args: []string{"DIR"}, code: 3, stdout: "clusters/blue", stderr: "a.yaml: NodePool: it has no metadata.name"},
		"a kind without its group":       {files: map[string]string{"a.yaml": good + "apiVersion: v1beta1\nkind: NodePool\nmetadata: {name: x}\n"}, args: []string{"DIR"}, code: 3, stdout: "clusters/blue", stderr: "a.yaml: NodePool x: want kind NodePool of group hypershift.openshift.io"},
		"the NodePool of another API":    {files: map[string]string{"a.yaml": good + "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: x}\n"}, args: []string{"DIR"}, code: 3, stdout: "clusters/blue"},
		"two versions": {files: map[string]string{"a.yaml": newer + object("NodePool", "workers"), "b.yaml": older}, args: []string{"DIR"}, code: 3,
			stdout: "1 (annotation edges", stderr: "a.yaml: HostedCluster clusters/blue is also in DIR/b.yaml and differs; this version counts"},
		"two versions of other objects": {files: map[string]string{"a.yaml": newer + object("NodePool", "workers") + lease("1") + lease("2")}, args: []string{"DIR", "--strict"}, code: 3, stdout: "1 (annotation edges"},
		"an unquoted number": {files: map[string]string{"a.yaml": object("HostedCluster", "blue", "network: auto", "edges: 2") + object("NodePool", "workers")}, args: []string{"DIR"}, code: 2,
			stdout: "Annotation edges of HostedCluster blue is 2 without quotes", stderr: "HostedCluster clusters/blue: the value of " + settings.Prefix + "edges must be a quoted string"},
		"an object without a kind": {files: map[string]string{"a.yaml": good, "b.yaml": "metadata: {name: blue}\n"}, args: []string{"DIR"}, code: 3, stdout: "clusters/blue", stderr: "b.yaml: document 1: it has no kind"},
		"a file of values":         {files: map[string]string{"a.yaml": good, "values.yaml": "replicas: 2\n"}, args: []string{"DIR"}, code: 3, stdout: "clusters/blue"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := manifests(t, c.files)
			var args []string
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "DIR", dir))
			}
			stdout, stderr, code := oooiPlan(t, "", args...)
			g.Expect(code).To(Equal(c.code), stdout+stderr)
			g.Expect(stdout).To(ContainSubstring(c.stdout))
			if c.stderr == "" {
				g.Expect(stderr).To(BeEmpty())
			}
			g.Expect(stderr).To(ContainSubstring(strings.ReplaceAll(c.stderr, "DIR", dir)))
		})
	}
}

// TestEachKindIsNamed: an object of each kind that a plan reads is named if it does not say what it is, alone or
// in a directory. Objects of other kinds are not.
func TestEachKindIsNamed(t *testing.T) {
	story := read(t, objects(t, "lb-ip")) + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: oooi-plan, namespace: clusters-blue}\n" +
		"---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: x, namespace: clusters-blue}\n" +
		"---\napiVersion: config.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\n"
	in, err := readInput(strings.NewReader(story), []string{"-"}, manifest.Read)
	if err != nil {
		t.Fatal(err)
	}
	namespace, apiVersion := regexp.MustCompile(`"namespace":"[^"]*",?`), regexp.MustCompile(`"apiVersion":"([^"]*)",`)
	tested := map[string]bool{}
	for _, o := range in.objects {
		if tested[o.Kind] {
			continue
		}
		tested[o.Kind] = true
		object := string(o.JSON)
		for name, c := range map[string]struct{ object, stderr string }{
			"without namespace":   {strings.ReplaceAll(namespace.ReplaceAllString(object, ""), ",}", "}"), o.Kind + " " + o.Name + ": it has no metadata.namespace"},
			"without apiVersion":  {apiVersion.ReplaceAllString(object, ""), "want kind " + o.Kind + " of group " + o.Group},
			"with a mistyped one": {strings.NewReplacer(`.io/v1`, `.com/v1`, `"apiVersion":"v1"`, `"apiVersion":"core/v1"`).Replace(object), "want kind " + o.Kind + " of group " + o.Group},
			"in lower case":       {strings.ReplaceAll(object, `"kind":"`+o.Kind+`"`, `"kind":"`+strings.ToLower(o.Kind)+`"`), "want kind " + o.Kind + " of group " + o.Group},
			"in plural":           {strings.ReplaceAll(object, `"kind":"`+o.Kind+`"`, `"kind":"`+o.Kind+`s"`), "want kind " + o.Kind + " of group " + o.Group},
		} {
			if name == "without namespace" && o.Namespace == "" {
				continue
			}
			t.Run(o.Kind+" "+name, func(t *testing.T) {
				g := NewWithT(t)
				_, err := readInput(strings.NewReader(c.object), []string{"-"}, manifest.Read)
				g.Expect(err).To(MatchError(ContainSubstring(c.stderr)), c.object)
				in, err := readInput(nil, []string{manifests(t, map[string]string{"a.json": c.object})}, manifest.Read)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(in.faults).To(HaveExactElements(MatchError(ContainSubstring(c.stderr))))
			})
		}
	}
	if len(tested) != 10 {
		t.Errorf("only %v", tested)
	}
	g := NewWithT(t)
	others := "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: x}\n---\nkind: ConfigMap\nmetadata: {name: x}\n---\napiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: x}\n"
	in, err = readInput(strings.NewReader(others+"---\n"+strings.ReplaceAll(others, "{name: x}", "{name: other}")), []string{"-"}, manifest.Read)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(in.faults).To(BeEmpty())
}

// TestLegacyRoutes: Routes of early versions of OpenShift count.
func TestLegacyRoutes(t *testing.T) {
	g := NewWithT(t)
	story := read(t, objects(t, "lb-ip"))
	want, _, _ := oooiPlan(t, story, "-f", "-")
	text, stderr, code := oooiPlan(t, strings.ReplaceAll(story, "apiVersion: route.openshift.io/v1", "apiVersion: v1"), "-f", "-")
	g.Expect(code).To(Equal(0), stderr)
	g.Expect(text).To(Equal(want))
}

// TestPlanOfFilesToApply: a plan of what a cluster has and of files to apply is the plan of what applying
// the files would create.
func TestPlanOfFilesToApply(t *testing.T) {
	g := NewWithT(t)
	story := read(t, objects(t, "lb-ip"))
	live := strings.Replace(story, "  name: blue\n", "  name: blue\n  resourceVersion: '7'\n", 1)
	g.Expect(live).NotTo(Equal(story))
	file := object("HostedCluster", "blue", "network: auto", "edges: '1'")
	for _, args := range [][]string{{"DIR/live.yaml", "DIR/file.yaml"}, {"DIR/file.yaml", "DIR/live.yaml"}, {"--strict", "DIR"}} {
		dir := manifests(t, map[string]string{"live.yaml": live, "file.yaml": file})
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "DIR", dir)
		}
		stdout, stderr, code := oooiPlan(t, "", args...)
		g.Expect(code).To(Equal(0), stdout+stderr)
		g.Expect(stdout).To(ContainSubstring("1 (annotation edges"))
		g.Expect(stderr).To(Equal("oooi: " + dir + "/file.yaml: HostedCluster clusters/blue is also in " + dir +
			"/live.yaml; the status there counts, and spec, annotations and labels here\n"))
	}
}

// TestLinks: a link to a directory is that directory, and each file is read once, also where links form
// a circle, as those of a volume.
func TestLinks(t *testing.T) {
	g := NewWithT(t)
	dir := manifests(t, map[string]string{"README.md": "kind: x"})
	data := filepath.Join(dir, "..2026", "below")
	g.Expect(os.MkdirAll(data, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(data, "A.YAML"), []byte(object("Service", "git", "cidr: x")), 0o600)).To(Succeed())
	link := func(to, name string) { g.Expect(os.Symlink(to, filepath.Join(dir, name))).To(Succeed()) }
	link("..2026", "..data")
	link(filepath.Join("..data", "below", "A.YAML"), "a.yaml")
	link(".", "circle")
	link("nowhere", "gone.yaml")
	outside := filepath.Join(t.TempDir(), "link")
	g.Expect(os.Symlink(dir, outside)).To(Succeed())

	stdout, stderr, code := oooi(t, "", "lint", "-f", outside, "-f", dir)
	g.Expect(code).To(Equal(2), stderr)
	g.Expect(strings.Count(stdout, "\n")).To(Equal(1+1), stdout)
	g.Expect(stderr).To(Equal("oooi: " + filepath.Join(outside, "gone.yaml") + ": no such file or directory\n"))

	// A link that leads out of all named directories is named, and not followed.
	host := manifests(t, map[string]string{"b.yaml": object("Service", "host", "cidr: x"), "notes.txt": ""})
	link(host, "host")
	link(filepath.Join(host, "b.yaml"), "b.yaml")
	link(filepath.Join(host, "notes.txt"), "notes.txt")
	stdout, stderr, _ = oooi(t, "", "lint", "-f", dir)
	g.Expect(strings.Count(stdout, "\n")).To(Equal(1+1), stdout)
	g.Expect(stderr).To(And(ContainSubstring(filepath.Join(dir, "host")+": a link to "+host+", outside"), ContainSubstring(filepath.Join(dir, "b.yaml")+": a link to "),
		Not(ContainSubstring("notes.txt"))))
	stdout, stderr, _ = oooi(t, "", "lint", "-f", dir, "-f", host)
	g.Expect(strings.Count(stdout, "\n")).To(Equal(2+1), stdout)
	g.Expect(stderr).NotTo(ContainSubstring("a link to"))

	large := filepath.Join(host, "large.yaml")
	g.Expect(os.WriteFile(large, nil, 0o600)).To(Succeed())
	g.Expect(os.Truncate(large, 1<<30+1)).To(Succeed())
	_, stderr, code = oooi(t, "", "lint", "-f", large)
	g.Expect(code).To(Equal(1))
	g.Expect(stderr).To(ContainSubstring("larger than 1 GiB"))

	fifo := "/dev/stdin"
	stdout, _, _ = programs.RunSelf(t.Context(), t, object("Service", "git", "cidr: x"), "lint", "-f", fifo)
	g.Expect(stdout).To(HavePrefix(fifo + ":8: Service clusters/git"))
}

// TestHostileNames: names in files may be such as no API server has. They write nothing to a terminal but text.
func TestHostileNames(t *testing.T) {
	text := object("HostedCluster", "blue", "network: auto") + "---\n" + object("NodePool", `"workers\e[2J\e]0;x\a\u202e"`, "cidrr: 5")
	for _, command := range []string{"plan", "lint"} {
		t.Run(command, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, _ := oooi(t, text, command, "-f", "-")
			g.Expect(stderr).To(ContainSubstring("workers\ufffd[2J"))
			g.Expect(stdout).To(ContainSubstring("workers\ufffd[2J"))
			g.Expect(stdout + stderr).NotTo(MatchRegexp("[\x1b\x07\u202e]"))
		})
	}
}
