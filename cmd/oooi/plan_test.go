package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// oooiPlan runs `oooi plan` as a script does.
func oooiPlan(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return oooi(t, stdin, append([]string{"plan"}, args...)...)
}

// oooi runs the command as a script does.
func oooi(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	c.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

func objects(t *testing.T, story string) string {
	t.Helper()
	return golden.Find(t, story).File(t, "objects.yaml")
}

// TestPlanStories: what the command says of each story, in words and as JSON.
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
				g.Expect(keys).To(And(HaveLen(5), HaveKey("cluster"), HaveKey("request"), HaveKey("facts"), HaveKey("plan"), HaveKey("problems")))
				var problems network.Problems
				g.Expect(json.Unmarshal(keys["problems"], &problems)).To(Succeed())
				g.Expect(problems).NotTo(BeNil())
				g.Expect(string(keys["plan"]) == "null").To(Equal(problems.Blocking()), "null where it is refused, what is known where it waits")
				if problems.Blocking() || problems.Waiting() {
					want = 2
				}
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
	for name, c := range map[string]struct {
		stdin  string
		args   []string
		code   int
		stderr string
	}{
		"served":             {args: []string{"-f", served}},
		"a folder":           {args: []string{"-f", filepath.Dir(served)}},
		"standard input":     {stdin: read(t, served), args: []string{"-f", "-"}},
		"two on one VLAN":    {args: []string{"-f", objects(t, "two-clusters-conflict")}, code: 2},
		"one of two refused": {args: []string{"-f", served, "-f", objects(t, "external-infrastructure")}, code: 2},
		"no such file":       {args: []string{"-f", "/nonexistent"}, code: 1, stderr: "nonexistent"},
		"not YAML":           {args: []string{"-f", bad}, code: 1, stderr: "bad.yaml"},
		"no file":            {code: 1, stderr: "-f"},
		"a bad --set":        {args: []string{"-f", served, "--set", "network"}, code: 1, stderr: "KEY=VALUE"},
		"a bad -o":           {args: []string{"-f", served, "-o", "xml"}, code: 1, stderr: "json"},
		"no cluster":         {stdin: "kind: Other", args: []string{"-f", "-"}, code: 2, stderr: "no HostedCluster"},
		"nobody opted in":    {stdin: notAsked, args: []string{"-f", "-"}, code: 2, stderr: "--set network=auto"},
		"opted in by --set":  {stdin: notAsked, args: []string{"-f", "-", "--set", "network=auto"}},
		"a setting by --set": {args: []string{"-f", served, "--set", "cidr=10.0.0.0/30"}, code: 2},
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

// TestPlanPermissions: the flags and environment variables of the operator show in a plan what the
// administrator does not permit. A wrong value is no plan.
func TestPlanPermissions(t *testing.T) {
	g := NewWithT(t)
	const said = "git.example.com"
	in := string(golden.Find(t, "registries").Read(t, "objects.yaml"))
	out, _, _ := oooiPlan(t, in, "-f", "-")
	g.Expect(out).To(And(ContainSubstring(said), Not(ContainSubstring("NotPermitted"))))
	out, _, _ = oooiPlan(t, in, "-f", "-", "--permit-hosts", "*.quay.io,quay.io")
	g.Expect(out).To(ContainSubstring("--permit-hosts does not permit: " + said))
	t.Setenv("OOOI_PERMIT_HOSTS", "quay.io")
	out, _, _ = oooiPlan(t, in, "-f", "-")
	g.Expect(out).To(ContainSubstring("--permit-hosts does not permit: " + said))
	t.Setenv("OOOI_PERMIT_HOSTS", "https://quay.io")
	_, errs, code := oooiPlan(t, in, "-f", "-")
	g.Expect(code).To(Equal(exitUnreadable))
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

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPlanRemarks: what is no problem, and people should know.
func TestPlanRemarks(t *testing.T) {
	g := NewWithT(t)
	served := read(t, objects(t, "lb-ip"))
	plain, _, _ := oooiPlan(t, served, "-f", "-")
	g.Expect(plain).NotTo(Or(ContainSubstring("PAUSED"), ContainSubstring("jsonpatch")))

	paused, _, code := oooiPlan(t, strings.Replace(served, "\nspec:\n", "\nspec:\n  pausedUntil: 'true'\n", 1), "-f", "-")
	g.Expect(code).To(Equal(0))
	g.Expect(paused).To(ContainSubstring("PAUSED by spec.pausedUntil"))

	patched, _, _ := oooiPlan(t, strings.Replace(served, "  annotations:\n", "  annotations:\n    hypershift.openshift.io/kubevirt-vm-jsonpatch: '[]'\n", 1), "-f", "-")
	g.Expect(patched).To(ContainSubstring("kubevirt-vm-jsonpatch patches the VMs"))
}
