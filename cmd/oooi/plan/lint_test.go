package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/worlds"
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

// object is a manifest with annotations of oooi, "key: value" each.
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
			"d.yaml: NetworkAttachmentDefinition clusters/vlan100: " + settings.Prefix + "gatway: Annotation gatway of NetworkAttachmentDefinition clusters/vlan100 does not exist and has no effect. Did you mean gateway?",
		}},
		"on the wrong kind": {map[string]string{"a.yaml": object("NodePool", "workers", "apps-address: 192.168.100.6")}, []string{
			"a.yaml: NodePool clusters/workers: " + settings.Prefix + "apps-address: Annotation apps-address has no effect on NodePool workers. Set it on one of: HostedCluster."}},
		"of a network that a cluster uses, said once": {map[string]string{"a.yaml": object("HostedCluster", "blue", "network: auto") + object("NodePool", "workers") +
			strings.TrimSuffix(object("NetworkAttachmentDefinition", "vlan100", "allowed-namespaces: clusters-blue", "cidr: bad", "mtu: '1400'"), "---\n") +
			`spec: {config: '{"cniVersion":"0.3.1","name":"vlan100","type":"bridge","bridge":"br1","vlan":100}'}`}, []string{
			"a.yaml: NetworkAttachmentDefinition clusters/vlan100: " + settings.Prefix + "cidr: Annotation cidr of NetworkAttachmentDefinition clusters/vlan100 has the invalid value",
			"a.yaml: NetworkAttachmentDefinition clusters/vlan100: " + settings.Prefix + "mtu: Annotation mtu has no effect on NetworkAttachmentDefinition clusters/vlan100."}},
		"together: no registry is reachable": {map[string]string{"a.yaml": strings.ReplaceAll(read(t, objects(t, "lb-ip")), "192.168.100.7:5000", "registry:5000")}, []string{
			"a.yaml: HostedCluster clusters/blue: spec.release.image: VMs on network clusters/vlan100 reach no registry that nodes pull images from (registry:5000)."}},
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
		}, []string{"a.yaml: NodePool clusters/two: " + settings.Prefix + "mtu: NodePools one and two are on one network (clusters/vlan100), but their annotations mtu differ."}},
	} {
		t.Run(name, func(t *testing.T) { lints(t, c.files, c.want) })
	}
}

// TestLintTypos: keys that look like those of oooi and have no effect.
func TestLintTypos(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a prefix in another case or plural": {map[string]string{"a.yaml": strings.ReplaceAll(object("HostedCluster", "blue", "network: auto", "cidr: 192.168.100.0/24"), settings.Prefix+"cidr", "HostedClusters.densityops.com/cidr") + object("NodePool", "workers")}, []string{
			"a.yaml: HostedCluster clusters/blue: HostedClusters.densityops.com/cidr: HostedCluster blue has an annotation HostedClusters.densityops.com/cidr with a wrong prefix, so it has no effect. Set " + settings.Prefix + "cidr."}},
		"a label": {map[string]string{"a.yaml": strings.Replace(object("HostedCluster", "blue"), "  annotations:\n", "  labels:\n    "+settings.Prefix+"network: auto\n    "+settings.Prefix+"edge: x\n  annotations:\n", 1)}, []string{
			"a.yaml: HostedCluster clusters/blue: " + settings.Prefix + "network: Label network of HostedCluster blue has no effect. Set it as an annotation."}},
		"a Service of another namespace": {map[string]string{"a.yaml": object("HostedCluster", "blue") + object("Service", "git", "publish: git.example.com:443")}, []string{
			"a.yaml: Service clusters/git: " + settings.Prefix + "publish: Annotation publish of Service git has no effect, because clusters is not the control plane namespace of a hosted cluster in the input."}},
		"a Service alone": {map[string]string{"a.yaml": object("Service", "git", "publish: git.example.com:443")}, nil},
		"a key in capitals": {map[string]string{"a.yaml": object("HostedCluster", "blue", "CIDR: 192.168.100.0/24")}, []string{
			"a.yaml: HostedCluster clusters/blue: " + settings.Prefix + "CIDR: Annotation CIDR of HostedCluster blue does not exist and has no effect. Did you mean cidr?"}},
		"a key that cannot name a NodePool": {map[string]string{"a.yaml": object("HostedCluster", "blue", "mtu.workers: '1400'")}, []string{
			"a.yaml: HostedCluster clusters/blue: " + settings.Prefix + "mtu.workers: Annotation mtu.workers of HostedCluster blue has no effect. Only cidr, gateway and client-networks can name a NodePool. Set annotation mtu on NodePool workers."}},
	} {
		t.Run(name, func(t *testing.T) { lints(t, c.files, c.want) })
	}
}

// lints expects that the findings about files begin with wants, as text and as JSON.
func lints(t *testing.T, files map[string]string, wants []string) {
	t.Helper()
	g := NewWithT(t)
	dir := manifests(t, files)
	out, stderr, code := oooi(t, "", "lint", "-f", dir)
	g.Expect(stderr).To(BeEmpty())
	lines := strings.FieldsFunc(strings.ReplaceAll(out, dir+"/", ""), func(r rune) bool { return r == '\n' })
	g.Expect(lines).To(HaveLen(len(wants)+1), out)
	for i, want := range wants {
		g.Expect(regexp.MustCompile(`^(\S+):\d+: `).ReplaceAllString(lines[i], "$1: ")).To(HavePrefix(want))
	}
	checked := lines[len(wants)]
	g.Expect(checked).To(MatchRegexp(`^Checked \d+ files? with \d HostedClusters?: %d findings?\.$`, len(wants)))
	want := 0
	if len(wants) > 0 {
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
	g.Expect(again.String() + checked + "\n").To(Equal(out))
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
		"not a string":       {args: []string{"-f", numbers}, code: 2, stderr: "n.yaml: document 1: Service clusters/git: the value of " + settings.Prefix + "publish must be a quoted string"},
		"no such file":       {args: []string{"nonexistent"}, code: 1, stderr: "nonexistent"},
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

// lintOf is what both commands say about a text: the findings, and the problems of all plans.
func lintOf(t *testing.T, text string) (found []finding, problems problem.Problems) {
	t.Helper()
	in, err := readInput(strings.NewReader(text), []string{"-"}, manifest.Read)
	if err != nil {
		t.Fatal(err)
	}
	plans := NewPlanner(in.dump, in.dump.Clusters(), network.Permissions{}).Plans()
	for _, p := range plans {
		problems = append(problems, p.Problems...)
	}
	return findings(in, in.dump.Clusters(), plans), problems
}

// TestLintStories: both commands show the same problems. What would be applied has only findings about
// annotations with less effect than they say.
func TestLintStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			found, problems := lintOf(t, string(story.Read(t, "objects.yaml")))
			g.Expect(disagreement(found, problems)).To(BeEmpty())
			var said []string
			for _, p := range problems {
				said = append(said, explain.Problem(p).String())
			}
			for _, f := range found {
				g.Expect(said).To(ContainElement(f.Detail))
			}
		})
	}
}

// disagreement returns a problem that lint does not find although it must. Empty: there is none.
func disagreement(found []finding, problems problem.Problems) string {
	for _, p := range problems {
		text := explain.Problem(p).String()
		finds := slices.ContainsFunc(found, func(f finding) bool { return f.Detail == text && f.Severity == p.Level() })
		if (p.Level() == problem.SeverityError || p.Mistake() || p.Reason == problem.AnnotationUnknown) && !finds {
			return text
		}
	}
	return ""
}

// TestLintWorlds: both commands show the same Errors for random worlds.
func TestLintWorlds(t *testing.T) {
	stories := worlds.OfStories(t)
	for seed := range worlds.Count(t, 150) {
		w := worlds.Random(stories, seed, 4)
		in, err := readInput(bytes.NewReader(w.Manifests()), []string{"-"}, manifest.Read)
		if err != nil || len(in.dump.Clusters()) == 0 {
			continue
		}
		plans := NewPlanner(in.dump, in.dump.Clusters(), network.Permissions{}).Plans()
		found := findings(in, in.dump.Clusters(), plans)
		for _, p := range plans {
			if text := disagreement(found, p.Problems); text != "" {
				t.Fatalf("lint does not say %q\nseed %d, story %s: %s", text, seed, w.Story, strings.Join(w.Changes, "; "))
			}
		}
	}
}

// TestLintSeesWhatRulesNodesOut: what a HostedCluster alone shows to rule its nodes or its logins out is a finding, so a pipeline that runs lint stops there.
func TestLintSeesWhatRulesNodesOut(t *testing.T) {
	configured := func(what string) [2]string {
		return [2]string{"  configuration:\n", "  configuration:\n    " + what + "\n"}
	}
	pods := func(cidr string) [2]string { return [2]string{"- cidr: 10.132.0.0/14\n", "- cidr: " + cidr + "\n"} }
	ovn := func(what string) [2]string {
		return [2]string{"  olmCatalogPlacement:", "  operatorConfiguration: {clusterNetworkOperator: {ovnKubernetesConfig: " + what + "}}\n  olmCatalogPlacement:"}
	}
	for name, c := range map[string]struct {
		change [2]string
		cause  problem.Cause
	}{
		"networks that overlap":           {pods("100.64.0.0/10"), problem.HostedNetworksOverlap},
		"subnets for too few nodes":       {pods("10.132.0.0/22"), problem.PodSubnetsTooFew},
		"pods in a network of no subnet":  {pods("10.132.0.0/24"), problem.HostPrefixRefused},
		"join subnets that differ":        {ovn("{ipv4: {internalJoinSubnet: 100.70.0.0/16}}"), problem.JoinSubnetsDiffer},
		"a join subnet that is too small": {ovn("{ipv4: {internalTransitSwitchSubnet: 100.70.0.0/24}}"), problem.JoinSubnetTooSmall},
		"an API at an address of pods":    {[2]string{"    clusterNetwork:\n", "    apiServer: {advertiseAddress: 10.132.0.9}\n    clusterNetwork:\n"}, problem.HostedNetworksOverlap},
		"pods of IPv6 alone":              {pods("fd01::/48"), problem.FamiliesMixed},
		"Cluster API turned off":          {[2]string{"  annotations:\n", "  annotations:\n    hypershift.openshift.io/disable-machine-management: ''\n"}, problem.MachineManagementDisabled},
		"Ignition turned off":             {[2]string{"  annotations:\n", "  annotations:\n    hypershift.openshift.io/disable-ignition-server: ''\n"}, problem.IgnitionServerDisabled},
		"an HTTP proxy without a scheme":  {configured("proxy: {httpsProxy: '192.168.100.7:3128'}"), problem.HostedProxyInvalid},
		"an identity provider at an edge": {configured("oauth: {identityProviders: [{name: corp, type: OpenID, openID: {issuer: 'https://192.168.100.3'}}]}"), problem.IdentityProviderIsEdge},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := read(t, objects(t, "lb-ip"))
			text := strings.Replace(before, c.change[0], c.change[1], 1)
			g.Expect(text).NotTo(Equal(before))
			found, _ := lintOf(t, text)
			g.Expect(found).To(ContainElement(And(HaveField("Object", "HostedCluster clusters/blue"), HaveField("Cause", c.cause))))
		})
	}
}

// TestLintSeesWhatPlanRefuses: an annotation that a plan refuses, ignores or limits is a finding, with the
// words of the plan.
func TestLintSeesWhatPlanRefuses(t *testing.T) {
	service := func(publish, ports string) string {
		return "\n---\napiVersion: v1\nkind: Service\nmetadata:\n  namespace: clusters-blue\n  name: git\n  annotations: {" + settings.Prefix + "publish: '" + publish + "'}\nspec:\n  ports: " + ports + "\n"
	}
	for name, c := range map[string]struct {
		annotation string // of the HostedCluster
		further    string
		object     string
		key        string
	}{
		"a CIDR without room":            {annotation: "cidr: 192.168.100.0/30", key: "cidr"},
		"a CIDR of the pods":             {annotation: "cidr: 10.132.0.0/16", key: "cidr"},
		"a gateway outside":              {annotation: "gateway: 10.9.9.9", key: "gateway"},
		"a range outside":                {annotation: "dhcp-range: 10.9.9.9-10.9.9.10", key: "dhcp-range"},
		"a reservation outside":          {annotation: "reservations: 02:00:00:00:00:09=10.9.9.9", key: "reservations"},
		"a reservation of an edge's":     {annotation: "reservations: 02:00:00:00:00:09=192.168.100.2", key: "reservations"},
		"too few edge addresses":         {annotation: "edge-addresses: 192.168.100.2", key: "edge-addresses"},
		"apps at an edge":                {annotation: "apps-address: 192.168.100.3", key: "apps-address"},
		"a registry at the port of DNS":  {annotation: "allowed-hosts: 'auto,registry.example.com:53'", key: "allowed-hosts"},
		"an upstream inside":             {annotation: "dns-upstreams: 127.0.0.1", key: "dns-upstreams"},
		"a record of all names":          {annotation: "dns-records: '*.com=192.168.100.77'", key: "dns-records"},
		"a Service published at UDP":     {further: service("git.example.com:2222", "[{port: 2222, protocol: UDP}]"), object: "Service clusters-blue/git", key: "publish"},
		"a Service without a port":       {further: service("git.example.com:2222", "[]"), object: "Service clusters-blue/git", key: "publish"},
		"a Service at the port of DNS":   {further: service("git.example.com:53", "[{port: 53}]"), object: "Service clusters-blue/git", key: "publish"},
		"a key that is per network only": {annotation: "mtu.workers: '1400'", key: "mtu.workers"},
		"a key in capitals":              {annotation: "CIDR: 192.168.100.0/24", key: "CIDR"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text := read(t, objects(t, "lb-ip")) + c.further
			if c.annotation != "" {
				text = strings.Replace(text, "  annotations:\n    "+settings.Prefix+"network", "  annotations:\n    "+settings.Prefix+c.annotation+"\n    "+settings.Prefix+"network", 1)
				g.Expect(text).To(ContainSubstring(c.annotation))
			}
			found, problems := lintOf(t, text)
			var said []string
			for _, p := range problems {
				said = append(said, explain.Problem(p).String())
			}
			object := c.object
			if object == "" {
				object = "HostedCluster clusters/blue"
			}
			g.Expect(found).To(ContainElement(And(HaveField("Object", object), HaveField("Key", settings.Prefix+c.key))), strings.Join(said, "\n"))
			for _, f := range found {
				g.Expect(said).To(ContainElement(f.Detail))
			}
		})
	}
}
