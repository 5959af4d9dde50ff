package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
	"github.com/cldmnky/oooi/test/golden"
)

// manifests writes files into a folder and returns it.
func manifests(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// object is a manifest with annotations of ours, "key: value" each.
func object(kind, name string, annotations ...string) string {
	group := map[string]string{"HostedCluster": "hypershift.openshift.io/v1beta1", "NodePool": "hypershift.openshift.io/v1beta1", "NetworkAttachmentDefinition": "k8s.cni.cncf.io/v1"}[kind]
	if group == "" {
		group = "v1"
	}
	out := "apiVersion: " + group + "\nkind: " + kind + "\nmetadata:\n  namespace: clusters\n  name: " + name + "\n  annotations:\n    somebody.else/cidrr: x\n"
	for _, a := range annotations {
		out += "    " + settings.Prefix + a + "\n"
	}
	if kind == "NodePool" {
		out += "spec:\n  clusterName: blue\n  platform:\n    type: KubeVirt\n    kubevirt:\n      attachDefaultNetwork: false\n      additionalNetworks: [{name: clusters/vlan100}]\n"
	}
	if kind == "HostedCluster" {
		out += "spec:\n  dns: {baseDomain: example.com}\n  platform: {type: KubeVirt}\n  networking: {machineNetwork: [{cidr: 192.168.100.0/24}]}\n"
	}
	return out + "---\n"
}

// TestLint: one line for each annotation that would be refused or ignored, with
// the file and the object that it stands in.
func TestLint(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"all is well": {map[string]string{"a.yaml": object("HostedCluster", "blue", "network: auto", "lease-time: 30m", "gateway.workers: 192.168.100.1") + object("NodePool", "workers")}, nil},
		"one of each kind": {map[string]string{
			"a.yaml": object("HostedCluster", "blue", "netwrok: auto", "lease-time: 1 hour"),
			"b.yml":  object("NodePool", "workers", "cidr: 192.168.100.0"),
			"c.json": `{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"clusters-blue","name":"git","annotations":{"` + settings.Prefix + `publish":"git.example.com"}}}`,
			"d.yaml": object("NetworkAttachmentDefinition", "vlan100", "gatway: 192.168.100.1"),
			"e.txt":  "not: read",
		}, []string{
			"a.yaml: HostedCluster clusters/blue: " + settings.Prefix + `lease-time: Annotation lease-time of HostedCluster blue has the invalid value "1 hour".`,
			"a.yaml: HostedCluster clusters/blue: " + settings.Prefix + "netwrok: Annotation netwrok of HostedCluster blue does not exist and has no effect. Did you mean network?",
			"b.yml: NodePool clusters/workers: " + settings.Prefix + `cidr: Annotation cidr of NodePool workers has the invalid value "192.168.100.0".`,
			"c.json: Service clusters-blue/git: " + settings.Prefix + `publish: Annotation publish of Service git has the invalid value "git.example.com".`,
			"d.yaml: NetworkAttachmentDefinition clusters/vlan100: " + settings.Prefix + "gatway: Annotation gatway of NetworkAttachmentDefinition vlan100 does not exist and has no effect. Did you mean gateway?",
		}},
		"on the wrong kind": {map[string]string{"a.yaml": object("NodePool", "workers", "apps-address: 192.168.100.6")}, []string{
			"a.yaml: NodePool clusters/workers: " + settings.Prefix + "apps-address: Annotation apps-address has no effect on NodePool workers. Set it on one of: HostedCluster."}},
		"of a NodePool that is not there": {map[string]string{"a.yaml": object("HostedCluster", "blue", "network: auto", "cidr.workerz: 192.168.100.0/24") + object("NodePool", "workers")}, []string{
			"a.yaml: HostedCluster clusters/blue: " + settings.Prefix + "cidr.workerz: Annotation cidr.workerz has no effect, because the cluster has no NodePool workerz."}},
		"of a NodePool that was not read": {map[string]string{"a.yaml": object("HostedCluster", "blue", "cidr.workerz: 192.168.100.0/24")}, nil},
		"a list": {map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(object("Service", "git", "mtu: '9000'"), "---\n"), "\n", "\n  ")}, []string{
			"a.yaml: Service clusters/git: " + settings.Prefix + "mtu: Annotation mtu has no effect on Service git. Set it on one of: HostedCluster, NodePool."}},
		"together: ranges that meet": {map[string]string{
			"a.yaml": object("HostedCluster", "blue", "network: auto", "edge-addresses: 192.168.100.2-192.168.100.5"),
			"b.yaml": object("NodePool", "workers", "dhcp-range: 192.168.100.5-192.168.100.20"),
		}, []string{"b.yaml: NodePool clusters/workers: " + settings.Prefix + "dhcp-range: The DHCP range 192.168.100.5-192.168.100.20 of network clusters/vlan100 contains the "}},
		"together, but not opted in": {map[string]string{
			"a.yaml": object("HostedCluster", "blue", "edge-addresses: 192.168.100.2-192.168.100.5"),
			"b.yaml": object("NodePool", "workers", "dhcp-range: 192.168.100.5-192.168.100.20"),
		}, nil},
		"together: a CIDR without room": {map[string]string{"a.yaml": object("HostedCluster", "blue", "network: auto", "cidr: 192.168.100.0/30") + object("NodePool", "workers")}, []string{
			"a.yaml: HostedCluster clusters/blue: " + settings.Prefix + "cidr: CIDR 192.168.100.0/30 of network clusters/vlan100 is too small"}},
		"together: a CIDR without room on a NodePool": {map[string]string{"a.yaml": object("HostedCluster", "blue", "network: auto") + object("NodePool", "workers", "cidr: 192.168.100.0/30")}, []string{
			"a.yaml: NodePool clusters/workers: " + settings.Prefix + "cidr: CIDR 192.168.100.0/30 of network clusters/vlan100 is too small"}},
		"together: NodePools that disagree": {map[string]string{
			"a.yaml": object("HostedCluster", "blue", "network: auto") + object("NodePool", "one", "mtu: '1400'") + object("NodePool", "two", "mtu: '1500'"),
		}, []string{"a.yaml: NodePool clusters/two: " + settings.Prefix + "*: NodePools one and two are on one network (clusters/vlan100), but their annotations differ."}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := manifests(t, c.files)
			out, stderr, code := oooi(t, "", "lint", "-f", dir)
			g.Expect(stderr).To(BeEmpty())
			lines := strings.FieldsFunc(strings.ReplaceAll(out, dir+"/", ""), func(r rune) bool { return r == '\n' })
			g.Expect(lines).To(HaveLen(len(c.want)), out)
			for i, want := range c.want {
				g.Expect(lines[i]).To(HavePrefix(want))
			}
			want := 0
			if len(c.want) > 0 {
				want = 2
			}
			g.Expect(code).To(Equal(want))

			jsonOut, _, jsonCode := oooi(t, "", "lint", "-o", "json", dir)
			g.Expect(jsonCode).To(Equal(code))
			var again strings.Builder
			for line := range strings.Lines(jsonOut) {
				var f finding
				g.Expect(json.Unmarshal([]byte(line), &f)).To(Succeed())
				again.WriteString(f.String() + "\n")
			}
			g.Expect(again.String()).To(Equal(out))
		})
	}
}

func TestLintExitCodes(t *testing.T) {
	bad := manifests(t, map[string]string{"bad.yaml": "a: b: c"})
	numbers := manifests(t, map[string]string{"n.yaml": object("Service", "git", "publish: 443")})
	for name, c := range map[string]struct {
		stdin  string
		args   []string
		code   int
		stderr string
	}{
		"clean":              {stdin: object("Service", "git"), args: []string{"-f", "-"}},
		"found":              {stdin: object("Service", "git", "cidr: x"), args: []string{"-f", "-"}, code: 2},
		"not YAML":           {args: []string{"-f", bad}, code: 1, stderr: "bad.yaml"},
		"not a string":       {args: []string{"-f", numbers}, code: 1, stderr: "n.yaml: Service: "},
		"no such file":       {args: []string{"/nonexistent"}, code: 1, stderr: "nonexistent"},
		"no file":            {code: 1, stderr: "-f"},
		"nothing to look at": {stdin: "kind: Other", args: []string{"-f", "-"}, code: 1, stderr: "no HostedCluster"},
		"no such output":     {stdin: object("Service", "git"), args: []string{"-f", "-", "-o", "xml"}, code: 1, stderr: "json"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, stderr, code := oooi(t, c.stdin, append([]string{"lint"}, c.args...)...)
			g.Expect(code).To(Equal(c.code), stderr)
			g.Expect(stderr).To(ContainSubstring(c.stderr))
		})
	}
}

// TestLintStories: what would be applied has no findings but annotations without effect,
// and each error that names an annotation or a field is a finding.
func TestLintStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			files := []string{story.File(t, "objects.yaml")}
			found, err := lint(nil, files)
			g.Expect(err).NotTo(HaveOccurred())
			dump, err := readDump(nil, files)
			g.Expect(err).NotTo(HaveOccurred())
			clusters := dump.Clusters()
			clean := true
			for _, o := range clusters {
				for _, p := range planFor(o, clusters).Problems {
					clean = clean && !p.Blocks() && p.Reason != network.AnnotationUnknown
					if p.Blocks() && len(p.Keys) > 0 {
						g.Expect(found).To(ContainElement(HaveField("Detail", explain.Problem(p).String())))
					}
				}
			}
			if clean {
				g.Expect(found).To(BeEmpty())
			}
		})
	}
}
