// This file shows that whatever HyperShift's own command line renders is explained:
// served, or refused in words that name what to change. It needs no cluster.

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// A choice is what a user may say on HyperShift's command line about one thing, and
// which words the plan then has.
type choice struct {
	name  string
	flags []string
	says  []string
	// serves are texts that `oooi plan` shows for a plan that is applied. Otherwise it shows only the reason.
	serves []string
}

// besidePods is the choice in which VMs reach all that is published through the pod
// network, so that the plan need not name it.
const besidePods = "beside the pod network"

// unpublished is the line of a plan for a cluster that HyperShift has not created.
const unpublished = "HyperShift has not published yet: API server, konnectivity, Ignition, OAuth"

// choices are what one thing may be asked as; a render has one of each.
func choices() [][]choice {
	const network, further = "--additional-network=name:default/vlan100", "--additional-network=name:default/vlan101"
	vlan, both := []string{"default/vlan100"}, []string{"default/vlan100", "default/vlan101"}
	services := []string{unpublished}
	return [][]choice{
		{ // how it is published
			{name: "ingress", says: services},
			{name: "nodeport", flags: []string{"--service-publishing-strategy=NodePort", "--api-server-address=10.0.0.7"},
				says: services},
			{name: "nodeport by name", flags: []string{"--service-publishing-strategy=NodePort", "--api-server-address=node.example.com"},
				says: services},
			{name: "external DNS", flags: []string{"--external-dns-domain=ext.example.com"}, says: []string{"PublishingUnsupported", "spec.services"}},
		},
		{
			{name: "one network", flags: []string{network, "--attach-default-network=false"}, serves: vlan},
			{name: "two networks", flags: []string{network, further, "--attach-default-network=false"}, serves: both},
			{name: besidePods, flags: []string{network, "--attach-default-network=true"}, serves: vlan},
			{name: "pod network", says: []string{"NetworkMissing", "--additional-network"}},
		},
		{
			{name: "machine CIDR", flags: []string{"--machine-cidr=192.168.100.0/24"}},
			{name: "no machine CIDR"},
			{name: "two machine CIDRs", flags: []string{"--machine-cidr=192.168.100.0/24", "--machine-cidr=fd00:100::/64"}},
		},
		{
			{name: "base domain", flags: []string{"--base-domain=example.com"}},
			{name: "empty prefix", flags: []string{"--base-domain=example.com", "--base-domain-prefix=none"}},
			{name: "passthrough"},
		},
		{
			{name: "plain"},
			{name: "dual stack",
				flags: []string{"--cluster-cidr=10.132.0.0/14", "--cluster-cidr=fd01::/48", "--service-cidr=172.31.0.0/16", "--service-cidr=fd02::/112"},
				says:  []string{"IPv6", "fd01::/48"}},
			{name: "own API name, node selector",
				flags: []string{"--kas-dns-name=api.blue.example.org", "--node-selector=role=edge", "--toleration=key=role,operator=Exists"}},
			{name: "many", flags: []string{"--node-pool-replicas=400", "--control-plane-availability-policy=HighlyAvailable",
				"--disable-cluster-capabilities=ImageRegistry"}},
		},
	}
}

// attachments are the networks that the renders name, as an administrator made them.
const attachments = `apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: vlan100, namespace: default}
spec: {config: '{"cniVersion": "0.3.1", "name": "vlan100", "type": "bridge", "bridge": "br1", "vlan": 100}'}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: vlan101, namespace: default}
spec: {config: '{"cniVersion": "0.3.1", "name": "vlan101", "type": "bridge", "bridge": "br1", "vlan": 101}'}
`

func TestPlanExplainsEveryRender(t *testing.T) {
	if testing.Short() {
		t.Skip("builds HyperShift's command line")
	}
	g := NewWithT(t)
	programs, err := build.Programs(t.Context(), progress.New(os.Stderr), "hypershift")
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	oooi := program(t)
	for name, content := range map[string]string{"pull-secret": `{"auths": {}}`, "attachments.yaml": attachments} {
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)).To(Succeed())
	}
	rendered := 0
	for _, picked := range pairs(choices()) {
		var names, flags, says, serves []string
		for i, c := range picked {
			names, flags = append(names, c.name), append(flags, c.flags...)
			if published := i == 0; !published || picked[1].name != besidePods {
				says = append(says, c.says...)
			}
			serves = append(serves, c.serves...)
		}
		t.Run(strings.Join(names, ", "), func(t *testing.T) {
			render, ok := renderCluster(t, programs["hypershift"], filepath.Join(dir, "pull-secret"), flags)
			if !ok {
				return // HyperShift's own command line refuses it
			}
			rendered++
			for _, definitions := range [][]string{nil, {"-f", filepath.Join(dir, "attachments.yaml")}} {
				text, code := planOf(t, oooi, render, definitions)
				g := NewWithT(t)
				g.Expect(code).To(BeElementOf(0, 2, 3), "%s", text)
				g.Expect(text).NotTo(ContainSubstring("panic"))
				words := append([]string{"clusters/blue"}, says...)
				if !strings.Contains(text, "nothing is applied") {
					words = append(words, serves...)
				}
				for _, word := range words {
					g.Expect(text).To(ContainSubstring(word))
				}
				explained(t, text, code)
			}
		})
	}
	g.Expect(rendered).To(BeNumerically(">", 15), "renders that HyperShift makes")
	t.Logf("%d renders", rendered)
}

// explained expects that the text says what is served, or each problem with where it
// stands and its reason.
func explained(t *testing.T, text string, code int) {
	t.Helper()
	g := NewWithT(t)
	switch {
	case code == 0 && strings.Contains(text, "VMs boot from the pod network"):
		g.Expect(text).To(ContainSubstring("ServedByOthers"), "why the other network is not served")
		return
	case code == 0:
		for _, word := range []string{"next-hop vip", "dhcp", "dns"} {
			g.Expect(strings.ToLower(text)).To(ContainSubstring(word))
		}
		return
	}
	g.Expect(text).To(MatchRegexp(`(HyperShift has not published yet|Waiting|Missing|Unsupported|Conflict|TooSmall|Invalid|NotServed|NotAllowed|Shared)`), "a reason of docs/problems.md")
}

// renderCluster is what HyperShift's command line renders with the flags; not ok where
// it refuses them.
func renderCluster(t *testing.T, hypershift, pullSecret string, flags []string) (render []byte, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), hypershift, append([]string{
		"create", "cluster", "kubevirt", "--render", "--name=blue", "--infra-id=blue-1", "--namespace=clusters", "--pull-secret=" + pullSecret,
		"--release-image=quay.io/openshift-release-dev/ocp-release:4.20.8-multi"}, flags...)...)
	cmd.Env = []string{"HOME=" + filepath.Dir(pullSecret), "PATH=" + os.Getenv("PATH")}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Logf("not rendered: %s", said.Bytes())
		return nil, false
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out, true
}

// planOf is what `oooi plan` says about the render, and its exit code.
func planOf(t *testing.T, oooi string, render []byte, definitions []string) (text string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), oooi, append([]string{"plan", "--set", "network=auto", "-f", "-"}, definitions...)...)
	cmd.Stdin = bytes.NewReader(render)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// pairs are a few ways to pick one of each, so that any two choices meet in one of
// them: first those in which most meet that have not yet.
func pairs(of [][]choice) [][]choice {
	var some [][]choice
	met := map[[2]string]bool{}
	for most := len(of) * (len(of) - 1) / 2; most > 0; most-- {
		for _, picked := range combinations(of) {
			var meet [][2]string
			for i, a := range picked {
				for _, b := range picked[:i] {
					if pair := [2]string{a.name, b.name}; !met[pair] {
						meet = append(meet, pair)
					}
				}
			}
			if len(meet) < most {
				continue
			}
			some = append(some, picked)
			for _, pair := range meet {
				met[pair] = true
			}
		}
	}
	return some
}

// combinations are all ways to pick one of each.
func combinations(of [][]choice) [][]choice {
	if len(of) == 0 {
		return [][]choice{nil}
	}
	var all [][]choice
	for _, rest := range combinations(of[1:]) {
		for _, first := range of[0] {
			all = append(all, append([]choice{first}, rest...))
		}
	}
	return all
}
