package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

// oooiPlan runs `oooi plan`.
func oooiPlan(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return oooi(t, stdin, append([]string{"plan"}, args...)...)
}

func objects(t *testing.T, story string) string {
	t.Helper()
	return golden.Find(t, story).File(t, "objects.yaml")
}

// TestPlanStories: what the command says about each story, in words and as JSON. It exits with 2 for mistakes.
func TestPlanStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			text, _, code := oooiPlan(t, "", "-f", story.File(t, "objects.yaml"))
			story.Check(t, "plan.txt", []byte(text))

			lines, _, jsonCode := oooiPlan(t, "", "-o", "json", "-f", story.File(t, "objects.yaml"))
			g.Expect(jsonCode).To(Equal(code))
			want := 0
			for line := range strings.Lines(lines) {
				var keys map[string]json.RawMessage
				g.Expect(json.Unmarshal([]byte(line), &keys)).To(Succeed())
				_, service := keys["appsService"]
				g.Expect(service).To(Equal(strings.Contains(text, "\nService for *.apps\n")))
				delete(keys, "appsService")
				g.Expect(keys).To(And(HaveLen(5), HaveKey("cluster"), HaveKey("request"), HaveKey("facts"), HaveKey("plan"), HaveKey("problems")))
				var problems problem.Problems
				g.Expect(json.Unmarshal(keys["problems"], &problems)).To(Succeed())
				g.Expect(problems).NotTo(BeNil())
				g.Expect(string(keys["plan"]) == "null").To(Equal(problems.Blocking()), "null where it is refused, what is known where it waits")
				switch {
				case len(problems.Of(problem.SeverityError)) > 0, slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Mistake() || p.Cause == problem.NoRegistryReachable }):
					want = 2
				case problems.Waiting() && want == 0:
					want = 3
				}
			}
			if _, _, lintCode := oooi(t, "", "lint", "-f", story.File(t, "objects.yaml")); want == 2 {
				g.Expect(lintCode).To(Equal(want), "oooi lint finds each mistake")
			}
			g.Expect(code).To(Equal(want))
		})
	}
}

func TestPlanExitCodes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("a: b: c"), 0o600); err != nil {
		t.Fatal(err)
	}
	served := objects(t, "lb-ip")
	notAsked := strings.ReplaceAll(read(t, served), "hostedcluster.densityops.com/network: auto", "other: x")
	annotated := func(with string) string {
		const network = settings.Prefix + "network: auto\n"
		return strings.Replace(read(t, served), network, network+"    "+settings.Prefix+with+"\n", 1)
	}
	for name, c := range map[string]struct {
		stdin  string
		args   []string
		code   int
		stderr string
	}{
		"served":               {args: []string{"-f", served}},
		"a folder":             {args: []string{"-f", manifests(t, map[string]string{"a.yaml": read(t, served)})}},
		"standard input":       {stdin: read(t, served), args: []string{"-f", "-"}},
		"two on one VLAN":      {args: []string{"-f", objects(t, "two-clusters-conflict")}, code: 2},
		"not published yet":    {args: []string{"-f", objects(t, "not-yet-published")}, code: 3},
		"one waits":            {args: []string{"-f", objects(t, "not-yet-published"), "-f", otherClusterOf(t, served)}, code: 3},
		"waits and refused":    {args: []string{"-f", objects(t, "not-yet-published"), "-f", otherClusterOf(t, objects(t, "external-infrastructure"))}, code: 2},
		"no registry":          {args: []string{"-f", objects(t, "unreachable-registry")}, code: 2},
		"an unsure registry":   {args: []string{"-f", objects(t, "registries")}},
		"no registry, not yet": {stdin: strings.ReplaceAll(read(t, objects(t, "not-yet-published")), "quay.io/openshift-release-dev", "registry:5000"), args: []string{"-f", "-"}, code: 2},
		"one of two refused":   {args: []string{"-f", served, "-f", objects(t, "external-infrastructure")}, code: 2},
		"no such file":         {args: []string{"-f", "nonexistent"}, code: 1, stderr: "nonexistent"},
		"not YAML":             {args: []string{"-f", bad}, code: 1, stderr: "bad.yaml"},
		"no file":              {code: 1, stderr: "-f"},
		"a bad --set":          {args: []string{"-f", served, "--set", "network"}, code: 1, stderr: "KEY=VALUE"},
		"a bad -o":             {args: []string{"-f", served, "-o", "xml"}, code: 1, stderr: "json"},
		"no cluster":           {stdin: "kind: Other", args: []string{"-f", "-"}, code: 1, stderr: "no HostedCluster"},
		"no cluster opted in":  {stdin: notAsked, args: []string{"-f", "-"}, code: 1, stderr: "--set network=auto"},
		"another time server":  {stdin: annotated("services: 'dhcp,dns,proxy'"), args: []string{"-f", "-"}},
		"a mirror at hand":     {stdin: annotated("allowed-hosts: none"), args: []string{"-f", "-"}},
		"an edge for *.apps":   {stdin: annotated("apps-address: 192.168.100.3"), args: []string{"-f", "-"}, code: 2},
		"a misspelled network": {stdin: strings.ReplaceAll(read(t, served), "hostedcluster.densityops.com/network", "hostedclusters.densityops.com/network"), args: []string{"-f", "-"}, code: 2, stderr: "wrong prefix"},
		"opted in by --set":    {stdin: notAsked, args: []string{"-f", "-", "--set", "network=auto"}},
		"a setting by --set":   {args: []string{"-f", served, "--set", "cidr=10.0.0.0/30"}, code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := oooiPlan(t, c.stdin, c.args...)
			g.Expect(code).To(Equal(c.code), stderr)
			g.Expect(stderr).To(ContainSubstring(c.stderr))
			if c.stderr != "" {
				g.Expect(stdout).To(BeEmpty())
			}
		})
	}
}

// TestMirrorsInFiles: a plan knows the mirrors of the management cluster.
func TestMirrorsInFiles(t *testing.T) {
	g := NewWithT(t)
	const mirrors = "\n---\napiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nmetadata: {name: release}\n" +
		"spec: {imageDigestMirrors: [{source: quay.io/openshift-release-dev, mirrors: [mirror.example.com/ocp]}]}\n"
	text := read(t, objects(t, "registries"))
	stdout, _, _ := oooiPlan(t, text, "-f", "-")
	g.Expect(stdout).NotTo(ContainSubstring("The management cluster has mirrors"))
	text = strings.ReplaceAll(text, "source: quay.io/openshift-release-dev/ocp-v4.0-art-dev", "source: quay.io/other")
	stdout, _, _ = oooiPlan(t, text+mirrors, "-f", "-")
	g.Expect(stdout).To(ContainSubstring("The management cluster has mirrors of quay.io/openshift-release-dev/ocp-v4.0-art-dev"))
}

// TestPlanPermissions: the flags and environment variables of the operator show in a plan what the
// administrator does not permit. A wrong value is no plan.
func TestPlanPermissions(t *testing.T) {
	g := NewWithT(t)
	const said = "git.example.com"
	in := string(golden.Find(t, "registries").Read(t, "objects.yaml"))
	out, _, _ := oooiPlan(t, in, "-f", "-")
	g.Expect(out).To(And(ContainSubstring(said), Not(ContainSubstring("NotPermitted"))))
	out, _, _ = oooiPlan(t, in, "-f", "-", "--permit-hosts", "*.quay.io,quay.io")
	g.Expect(out).To(ContainSubstring("--permit-ports do not permit: " + said))
	t.Setenv("OOOI_PERMIT_HOSTS", "quay.io")
	out, _, _ = oooiPlan(t, in, "-f", "-")
	g.Expect(out).To(ContainSubstring("--permit-ports do not permit: " + said))
	t.Setenv("OOOI_PERMIT_HOSTS", "https://quay.io")
	_, errs, code := oooiPlan(t, in, "-f", "-")
	g.Expect(code).To(Equal(1))
	g.Expect(errs).To(ContainSubstring("--permit-hosts"))
}

// TestPlanKnowsTheManagementCluster: its networks in the files are not dialed.
func TestPlanKnowsTheManagementCluster(t *testing.T) {
	g := NewWithT(t)
	in := string(golden.Find(t, "registries").Read(t, "objects.yaml")) + "\n---\n{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: kubernetes}, spec: {cidrs: [10.96.0.0/12]}}\n"
	out, _, _ := oooiPlan(t, in, "-f", "-", "--set", "dns-upstreams=10.96.0.10")
	g.Expect(out).To(ContainSubstring("10.96.0.10:53"))
	g.Expect(out).To(ContainSubstring("the management cluster's Services (10.96.0.0/12)"))
}

// TestPlanSetFindsStrayNodePools: a NodePool without its cluster is a finding also if only --set opts in a cluster.
func TestPlanSetFindsStrayNodePools(t *testing.T) {
	g := NewWithT(t)
	asked := read(t, objects(t, "lb-ip")) + "---\n{apiVersion: hypershift.openshift.io/v1beta1, kind: NodePool, metadata: {namespace: clusters, name: far}, spec: {clusterName: entirely-other, platform: {type: KubeVirt}}}\n"
	_, want, code := oooiPlan(t, asked, "-f", "-")
	g.Expect(code).To(Equal(2))
	g.Expect(want).To(ContainSubstring("NodePool clusters/far"))
	_, stderr, code := oooiPlan(t, strings.ReplaceAll(asked, "hostedcluster.densityops.com/network: auto", "other: x"), "-f", "-", "--set", "network=auto")
	g.Expect(code).To(Equal(2))
	g.Expect(stderr).To(Equal(want))
}

// TestPlanSetLeavesWhoHasSaid: several clusters are one object a line, and one
// that named its network keeps it.
func TestPlanSetLeavesWhoHasSaid(t *testing.T) {
	g := NewWithT(t)
	both := strings.NewReplacer("hostedcluster.densityops.com/network: auto", "hostedcluster.densityops.com/network: clusters/other",
		"allowed-namespaces: clusters-blue", `allowed-namespaces: "clusters-blue,clusters-rt"`).Replace(read(t, objects(t, "lb-ip"))) +
		"---\n" + strings.NewReplacer("blue", "rt", "hostedcluster.densityops.com/network: auto", "hostedcluster.densityops.com/network: none").Replace(read(t, objects(t, "route")))
	stdout, _, code := oooiPlan(t, both, "-f", "-", "-o", "json", "--set", "network=auto")
	g.Expect(code).To(Equal(2))
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	g.Expect(lines).To(HaveLen(2))
	g.Expect(lines[0]).To(And(ContainSubstring(`"cluster":"clusters/blue"`), ContainSubstring("clusters/other"), ContainSubstring(`"plan":null`)))
	g.Expect(lines[1]).To(And(ContainSubstring(`"cluster":"clusters/rt"`), Not(ContainSubstring(`"plan":null`))))
}

// TestPlanNamesUnservedClusters: a plan names a cluster without the annotation whose VMs boot from the same layer-2 network.
func TestPlanNamesUnservedClusters(t *testing.T) {
	g := NewWithT(t)
	both := read(t, objects(t, "two-clusters-apart"))
	const said = "HostedCluster clusters/green uses network clusters/vlan100, too, but oooi does not serve it."
	stdout, _, _ := oooiPlan(t, both, "-f", "-")
	g.Expect(stdout).NotTo(ContainSubstring(said))
	i := strings.LastIndex(both, "hostedcluster.densityops.com/network: auto")
	g.Expect(both[i:]).To(ContainSubstring("name: green"))
	stdout, _, _ = oooiPlan(t, both[:i]+strings.Replace(both[i:], "network: auto", "paused: 'true'", 1), "-f", "-")
	g.Expect(stdout).To(And(ContainSubstring("Warning NetworkShared"), ContainSubstring(said)))
}

// otherClusterOf is a file with the objects of another one, as those of a hosted cluster on networks of
// its own.
func otherClusterOf(t *testing.T, file string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "other.yaml")
	text := strings.NewReplacer("blue", "green", "vlan", "wire").Replace(read(t, file))
	if err := os.WriteFile(out, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPlanRemarks: notes that are not problems.
func TestPlanRemarks(t *testing.T) {
	g := NewWithT(t)
	served := read(t, objects(t, "lb-ip"))
	plain, _, _ := oooiPlan(t, served, "-f", "-")
	g.Expect(plain).NotTo(ContainSubstring("jsonpatch"))

	patched, _, _ := oooiPlan(t, strings.Replace(served, "  annotations:\n", "  annotations:\n    hypershift.openshift.io/kubevirt-vm-jsonpatch: '[]'\n", 1), "-f", "-")
	g.Expect(patched).To(ContainSubstring("kubevirt-vm-jsonpatch patches the VMs"))
}

// TestPlanIsWhatTheOperatorDoes: nothing for a cluster that is being deleted, nothing if its
// annotations are too large, and what runs keeps its addresses.
func TestPlanIsWhatTheOperatorDoes(t *testing.T) {
	served := read(t, objects(t, "lb-ip"))
	deleted := strings.Replace(served, "  name: blue\n", "  name: blue\n  deletionTimestamp: '2026-11-22T00:00:00Z'\n", 1)
	paused := strings.Replace(served, "\nspec:\n", "\nspec:\n  pausedUntil: 'true'\n", 1)
	other := strings.NewReplacer("blue", "green", "vlan", "wire", "br1", "br2").Replace(served)
	var domains strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&domains, "host%d.example.com,", i)
	}
	inForce := func(plan string) string {
		return "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: clusters-blue, name: " + wire.PlanConfigMap + "}\ndata:\n  " + wire.PlanKey + ": " + plan + "\n"
	}
	running, err := json.Marshal(string(golden.Find(t, "lb-ip").Read(t, "plan.json")))
	if err != nil {
		t.Fatal(err)
	}
	// A new CIDR, and VMs on the network: the operator keeps the addresses.
	moved := strings.Replace(served, settings.Prefix+"network: auto\n", settings.Prefix+"network: auto\n    "+settings.Prefix+"cidr: 192.168.77.0/24\n", 1)
	// Another VLAN in the NAD, and VMs on the network: edges stay on theirs.
	edited := strings.Replace(served, `"vlan":100`, `"vlan":200`, 1)
	for name, c := range map[string]struct {
		stdin string
		code  int
		want  []string
		not   string
	}{
		"being deleted":              {stdin: deleted, code: 1, want: []string{"HostedCluster clusters/blue: is being deleted, so nothing is applied.", "Info Removing"}, not: "Network "},
		"being deleted, and another": {stdin: deleted + "\n---\n" + other, code: 0, want: []string{"clusters/blue: is being deleted", "clusters/green: nodes will become Ready, but the console stays degraded."}},
		"too large annotations":      {stdin: strings.Replace(served, settings.Prefix+"network: auto\n", settings.Prefix+"network: auto\n    "+settings.Prefix+"search-domains: "+strings.TrimSuffix(domains.String(), ",")+"\n", 1), code: 2, want: []string{"nothing is applied", "annotations that oooi reads have more than 96 KiB together"}},
		"a new CIDR":                 {stdin: moved, code: 0, want: []string{"192.168.77.0/24"}},
		"a new CIDR for what runs":   {stdin: moved + inForce(string(running)), code: 2, want: []string{"192.168.100.10-192.168.100.253", "Network clusters/vlan100 is in use"}},
		"an error for what runs":     {stdin: strings.Replace(served, settings.Prefix+"network: auto\n", settings.Prefix+"network: auto\n    "+settings.Prefix+"edges: two\n", 1) + inForce(string(running)), code: 2, want: []string{"clusters/blue: no change is applied. Edges keep serving the plan in force."}},
		"paused":                     {stdin: paused, code: 3, want: []string{"clusters/blue: nodes will not become Ready, because oooi does nothing while the cluster is paused.\n", "Waiting Paused\n", "(see spec.pausedUntil)"}},
		"paused by the annotation":   {stdin: strings.Replace(served, settings.Prefix+"network: auto\n", settings.Prefix+"network: auto\n    "+settings.Prefix+"paused: 'true'\n", 1), code: 3, want: []string{"because oooi does nothing while", "(see paused)"}},
		"paused before its creation": {stdin: strings.Replace(read(t, objects(t, "not-yet-published")), "\nspec:\n", "\nspec:\n  pausedUntil: 'true'\n", 1), code: 2, want: []string{"because oooi does nothing while"}},
		"paused, on the pod network": {stdin: strings.Replace(paused, "attachDefaultNetwork: false", "attachDefaultNetwork: true", 1), code: 2, want: []string{"oooi does nothing while the cluster is paused. Only nodes that boot from the pod network become Ready.\n"}},
		"paused for what runs":       {stdin: paused + inForce(string(running)), code: 0, want: []string{"clusters/blue: no change is applied while the cluster is paused. Edges keep serving the plan in force.\n", "Info Paused"}},
		"one control plane for two":  {stdin: strings.ReplaceAll(object("HostedCluster", "a-b", "network: auto")+object("HostedCluster", "b", "network: auto"), "  namespace: clusters\n  name: b\n", "  namespace: clusters-a\n  name: b\n"), code: 2, want: []string{"HostedCluster clusters/a-b: nodes will not become Ready", "Namespace clusters-a-b is the control plane namespace of hosted cluster clusters-a/b, too.", "HostedCluster clusters-a/b: not created yet"}},
		"another VLAN":               {stdin: edited, code: 0, want: []string{"(bridge, VLAN 200)"}},
		"another VLAN for what runs": {stdin: edited + inForce(string(running)), code: 0,
			want: []string{"(bridge, VLAN 100)", "now defines bridge br1 vlan 200"}, not: "(bridge, VLAN 200)"},
		"an unreadable plan in force": {stdin: served + inForce("'{'"), code: 2, want: []string{"nothing is applied", "unreadable"}},
		// Whether VMs run is unknown, so what runs does not move.
		"a new CIDR, VMs unknown": {stdin: withoutVMs(moved) + inForce(string(running)), code: 2,
			want: []string{"192.168.100.10-192.168.100.253", "Network clusters/vlan100 is in use", "The input has no VirtualMachineInstance"}},
		"a new CIDR, no plan in force": {stdin: withoutVMs(moved), code: 0, want: []string{"192.168.77.0/24"}, not: "The input has no VirtualMachineInstance"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := filepath.Join(t.TempDir(), "in.yaml")
			g.Expect(os.WriteFile(in, []byte(c.stdin), 0o600)).To(Succeed())
			stdout, stderr, code := oooiPlan(t, "", "-f", in)
			g.Expect(code).To(Equal(c.code), stdout+stderr)
			for _, want := range c.want {
				g.Expect(stdout).To(ContainSubstring(want))
			}
			if c.not != "" {
				g.Expect(stdout).NotTo(ContainSubstring(c.not))
			}
		})
	}
}

// withoutVMs is a file without its VirtualMachineInstances.
func withoutVMs(file string) string {
	documents := strings.Split(file, "\n---\n")
	return strings.Join(slices.DeleteFunc(documents, func(d string) bool { return strings.Contains(d, "kind: VirtualMachineInstance\n") }), "\n---\n")
}

// TestClustersOnOneNetwork: what a cluster wants is derived once, however many others share its network.
// So the work, counted in allocations, is not that of each pair of clusters.
func TestClustersOnOneNetwork(t *testing.T) {
	g := NewWithT(t)
	const clusters = 100
	served := read(t, objects(t, "lb-ip"))
	work := func(bridge func(cluster int) string) (allocations float64, shared int) {
		var text strings.Builder
		for i := range clusters {
			text.WriteString("\n---\n" + strings.NewReplacer("blue", fmt.Sprintf("blue%d", i), "vlan100", fmt.Sprintf("vlan100-%d", i), "br1", bridge(i)).Replace(served))
		}
		in, err := readInput(strings.NewReader(text.String()), []string{"-"}, manifest.Read)
		g.Expect(err).NotTo(HaveOccurred())
		all := in.dump.Clusters()
		var plans []Planned
		allocations = testing.AllocsPerRun(1, func() { plans = NewPlanner(in.dump, all, network.Permissions{}).Plans() })
		g.Expect(plans).To(HaveLen(clusters))
		for _, p := range plans {
			if p.Problems.Of(problem.SeverityError).Has(problem.NetworkShared) {
				shared++
			}
		}
		return allocations, shared
	}
	apart, none := work(func(i int) string { return fmt.Sprintf("br%d", i) })
	together, allButOldest := work(func(int) string { return "br1" })
	t.Logf("%.0f, %.0f allocations", apart, together)
	g.Expect(none).To(BeZero())
	g.Expect(allButOldest).To(Equal(clusters - 1))
	g.Expect(together).To(BeNumerically("<", 5*apart), "100 times as many if each pair derived")
}

// TestPlanBeforeCreation: what HyperShift publishes later is one line, and no problem repeats it.
func TestPlanBeforeCreation(t *testing.T) {
	g := NewWithT(t)
	text, _, code := oooiPlan(t, "", "-f", objects(t, "not-yet-published"))
	g.Expect(code).To(Equal(3))
	g.Expect(text).To(ContainSubstring("\n  HyperShift has not published yet: API server, konnectivity, Ignition, OAuth\n"))
	g.Expect(text).NotTo(Or(ContainSubstring("NOT YET"), ContainSubstring("Waiting"), ContainSubstring("has no host")))
	plan, _, _ := strings.Cut(text, "\nService for *.apps\n")
	g.Expect(strings.Count(plan, "\n")).To(BeNumerically("<", 40))
}
