// Package docs checks that what the documents say is so: every reason is
// explained, every annotation is listed, every make target exists, and links
// lead somewhere.
package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

var root = filepath.Join("..", "..")

const annotationsIntroduction = `# Annotations

All settings of oooi are annotations with the prefix ~PREFIX~. Only ~network~ is required, and most clusters need only
the six [common](#common) annotations. Separate the entries of a list by commas. Write durations in Go's format, such as ~90m~.
~make golden~ writes this page from the table in ~hcp/settings/table.go~.

To check files before you apply them, run ~oooi lint -f FILE~.
`

const annotationsRules = `
## Objects and networks

| set on | applies to |
| --- | --- |
| NodePool | the first network that the NodePool lists. The value overrides the value of the HostedCluster |
| HostedCluster: ~cidr~ | the network that VMs boot from and that has no other CIDR. Of several, the network of the oldest NodePool. Without ~cidr~, that network gets the first IPv4 entry of ~spec.networking.machineNetwork~ |
| HostedCluster: PLACED | the network whose CIDR contains the addresses |
| HostedCluster: ~client-networks~ | each network with a gateway that VMs boot from |
| NetworkAttachmentDefinition | its network, if neither the HostedCluster nor a NodePool has a value. Exception: ~services~ of a NetworkAttachmentDefinition overrides the value of the HostedCluster |

NodePools that list the same network first must have the same values. ~cidr~, ~gateway~ and ~client-networks~ are exceptions. If
neither a NodePool nor the HostedCluster sets one of them, the NodePool uses the value of the other NodePools of the network.

While VMs use a network, oooi does not change its CIDR or addresses. While VMs boot from the network that has the HostedCluster's ~cidr~,
that network keeps it. This is so even when another NodePool becomes the oldest, or the NodePool of these VMs lists another network
first. The condition names each change that takes effect only when no VM uses the network.

## Invalid keys and values

- **A key that is not listed here** has no effect. ~kubectl~ prints a warning, and the condition reports it.
- **An invalid value**: an admission policy denies the change, and the error says which value is expected. If the API server cannot
  evaluate the policy, it accepts the value, and the condition reports the problem.
- **Only the operator** can judge some values, such as a ~gateway~ outside of ~cidr~, or a host that the operator's
  [permissions](commands.md#permissions) exclude. Look at the condition after you set such a value.
- **A value that the operator refuses**: oooi applies no change until you fix the value. If VMs boot from several networks, and the value
  is for one of them, only that network stays unchanged.
- **A backup with an invalid value**: the API server denies the object when you restore it. Fix the value in the backup first.

## Who needs which rights

oooi adds no roles for users. A user who can change an object can set its annotations:

| task | right | role |
| --- | --- | --- |
| install and upgrade oooi, [limit hosted clusters](install.md#permissions) | all rights of a cluster administrator | platform team |
| create a NetworkAttachmentDefinition | ~create~ on ~network-attachment-definitions~ in its namespace. This right gives access to every bridge and VLAN of the nodes | platform team |
| publish a Service to VMs | ~patch~ on ~services~ in the control plane namespace | platform team |
| opt in, and set annotations | ~patch~ on ~hostedclusters~ and ~nodepools~ in the namespace of the HostedCluster | owner of the hosted cluster |
| read the condition | ~get~ on ~hostedclusters~ | owner of the hosted cluster |

[security.md](security.md#who-can-do-what) describes what each role can and cannot do. [Troubleshooting](troubleshooting.md#rights) has
the rights for the commands of ~oooi~.
`

// commonKeys are the settings that most users need, in the order of the page.
func commonKeys() []string {
	return []string{network.KeyNetwork, network.KeyCIDR, network.KeyGateway, network.KeyEdgeAddresses, network.KeyDHCPRange, network.KeyAllowedHosts}
}

// placed lists the keys whose values belong to the network that contains their addresses.
func placed() string {
	var names []string
	for _, k := range settings.Keys() {
		if values, _ := settings.Overlay(settings.Values{}, k.On[0], "x", map[string]string{settings.Prefix + k.Name: k.Example}); len(k.Parts(values)) > 0 {
			names = append(names, "`"+k.Name+"`")
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// TestGoldenAnnotations checks that the page matches the table in the code.
func TestGoldenAnnotations(t *testing.T) {
	golden.Check(t, filepath.Join(root, "docs", "annotations.md"), []byte(annotationsPage()))
}

// annotationsPage is docs/annotations.md.
func annotationsPage() string {
	common, advanced := make([]string, len(commonKeys())), []string{}
	for _, k := range settings.Keys() {
		name := "`" + k.Name + "`"
		if k.PerNodePool {
			name += ", on the HostedCluster also `" + k.Name + ".<nodepool>`"
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | `%s` |\n", name, k.On, k.Default, k.Meaning, k.Example)
		if i := slices.Index(commonKeys(), k.Name); i >= 0 {
			common[i] = row
		} else {
			advanced = append(advanced, row)
		}
	}
	const head = "| key | on | default | meaning | example |\n| --- | --- | --- | --- | --- |\n"
	text := strings.NewReplacer("~", "`", "PREFIX", settings.Prefix, "PLACED", placed())
	return text.Replace(annotationsIntroduction) +
		"\n## Common\n\n" + head + strings.Join(common, "") +
		"\n## Advanced\n\n" + head + strings.Join(advanced, "") +
		text.Replace(annotationsRules)
}

// TestGoldenStories: the index of stories is written from the comment at the top
// of each.
func TestGoldenStories(t *testing.T) {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(storiesIntroduction, "~", "`") + "| story | world | what it shows |\n| --- | --- | --- |\n")
	stories := golden.Stories(t)
	slices.SortFunc(stories, func(a, b golden.Story) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range stories {
		if s.Shows() == "" {
			t.Errorf("story %s: say at the top of its world what it shows", s.Name)
		}
		world := fmt.Sprintf("[objects](%s/objects.yaml)", s.Name)
		if s.Base() != "" {
			world = fmt.Sprintf("[patch](%s/patch.yaml) of %s", s.Name, s.Base())
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Name, world, s.Shows())
	}
	golden.Check(t, filepath.Join(root, "test", "scenarios", "README.md"), []byte(b.String()))
}

const storiesIntroduction = `# Stories

Each folder is a story: a world of Kubernetes objects, and what each package makes of it. Tests of every package read them, and fail
when a result changes. Accept a change with ~make golden~, after you read the difference.

- ~objects.yaml~ is the world. Most stories have ~patch.yaml~ instead: changes to another story's world. An object of the base is
  merged as by ~kubectl patch --type merge~, ~$patch: delete~ removes it, and any other object is added.
- ~condition.txt~ and ~plan.txt~ are what a user reads. They are always whole.
- ~NAME.diff~ holds a result as differences to the same file of the base. Its hunks have no line numbers: a hunk belongs where its
  lines are found first. In ~applied.yaml.diff~ every applied object has a line that begins with ~===~; an object without a hunk is
  the base's. Tests compare the whole result, not the difference.
- A file that is missing says that the story ends before that step: its plan is refused.

To see a whole file, or to try a story:

    go run ./test/show two-edges plan.json
    go run ./test/show two-edges | bin/oooi plan -f -

To add a story, make a folder with a ~patch.yaml~. Begin it with a comment that says what the story shows, and run ~make golden~.

`

// documents are the README and all pages below docs.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range append(pages, filepath.Join(root, "README.md")) {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(p)] = string(b)
	}
	return out
}

// TestMakeTargetsExist: what a reader is told to type is there.
func TestMakeTargetsExist(t *testing.T) {
	var makefile []byte
	for _, f := range []string{"Makefile", filepath.Join("test", "testbed", "testbed.mk")} {
		b, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		makefile = append(makefile, b...)
	}
	for name, text := range documents(t) {
		for _, m := range regexp.MustCompile("(?m)(?:`|^    |^)(?:[A-Z_]+=\\S+ )*make ([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(m[1]) + `:`).Match(makefile) {
				t.Errorf("%s says make %s, which is no target", name, m[1])
			}
		}
	}
}

// TestLinksLeadSomewhere: relative links name files that exist.
func TestLinksLeadSomewhere(t *testing.T) {
	for name, text := range documents(t) {
		dir := root
		if name != "README.md" {
			dir = filepath.Join(root, "docs")
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}

// TestNamedTestsExist: each test that a page names exists. The laws and the security page name some.
func TestNamedTestsExist(t *testing.T) {
	exist, all := testNames(t), documents(t)
	for page, least := range map[string]int{"security.md": 10, "ARCHITECTURE.md": 6} {
		if n := len(namedTest.FindAllString(all[page], -1)); n < least {
			t.Errorf("docs/%s names %d tests", page, n)
		}
	}
	for name, text := range all {
		for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
			if !exist[m[1]] {
				t.Errorf("%s names the test %s, which does not exist", name, m[1])
			}
		}
	}
}

var namedTest = regexp.MustCompile("`([Tt]est[A-Z][A-Za-z0-9]+)`")

// testNames returns the names of all test functions in the operator's module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
