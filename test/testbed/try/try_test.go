package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

// tried returns what make try prints for objects, and checks that nothing is left of it on this machine.
func tried(t *testing.T, ctx context.Context, objects []string, out io.Writer) (code int, err error) {
	t.Helper()
	netns.Require(t)
	g := NewWithT(t)
	name := fmt.Sprintf("oooi-t%d.try", os.Getpid())
	code, err = try(ctx, name, objects, out, t.Output())
	g.Expect(lan.NetNSNames()).NotTo(ContainElement(HavePrefix(name)))
	g.Expect(filepath.Glob("/var/tmp/" + name + "*")).To(BeEmpty())
	environments, globErr := filepath.Glob("/proc/[0-9]*/environ")
	g.Expect(globErr).NotTo(HaveOccurred())
	for _, path := range environments {
		text, _ := os.ReadFile(path) // The process may have ended.
		g.Expect(string(text)).NotTo(ContainSubstring(name), path)
	}
	return code, err
}

// TestTry: a VM gets what the plan says, on one screen.
func TestTry(t *testing.T) {
	for name, c := range map[string]struct {
		objects []string
		code    int
		lines   []string // patterns of lines, in their order
	}{
		"names": {nil, 0, []string{
			`HostedCluster clusters/blue: nodes will become Ready\.`, `Network clusters/vlan100: edge 1 serves a VM`,
			`  DHCP  192\.168\.100\.\d+/24 for 1h from 192\.168\.100\.3`, `        route 0\.0\.0\.0/0 via 192\.168\.100\.2`,
			`  DNS   api\.blue\.example\.com is 192\.168\.100\.3`, `        www\.example\.net has no address: .*`,
			`  NTP   192\.168\.100\.3, stratum \d+, differs by .*`,
			`  TLS   api\.blue\.example\.com:6443`, `          certificate verified; stand-in for Service kube-apiserver`,
			`All of it is removed\. The exit code is 0, as that of oooi plan\. Try next:`, `  make build && go run \./test/show apps-host-network \| bin/oooi plan -f -`, `  make demo .*`,
		}},
		"an address, in a file": {[]string{"test/scenarios/lb-ip/objects.yaml"}, 0, []string{
			`        route 10\.240\.0\.200/32 via 192\.168\.100\.2`, `  TLS   10\.240\.0\.200:6443`, `          certificate verified; stand-in for Service kube-apiserver`,
		}},
		"nothing published": {[]string{"not-yet-published"}, 3, []string{
			`  HyperShift has not published yet: API server, konnectivity, Ignition, OAuth`, `  DHCP  192\.168\.100\.\d+/24 .*`,
			`  TLS   not tried: the plan has no Service of the control plane yet`,
		}},
		"an address only": {[]string{"pod-network"}, 0, []string{`  DHCP  10\.50\.1\.\d+/24 for 1h from 10\.50\.1\.3`, ``, `All of it is removed.*`}},
		"a finding": {[]string{"unreachable-registry"}, 2, []string{
			`HostedCluster clusters/blue: VMs that start cannot pull images, .*`, `  DHCP  192\.168\.100\.\d+/24 .*`, `  make demo .*`,
		}},
		"an Error": {[]string{"wrong-annotation"}, 2, []string{
			`HostedCluster clusters/blue: nodes will not become Ready, because nothing is\napplied\.`, `  Fix first: .*`, `Nothing is served\. The exit code is 2\. All that the plan says, after make build:`,
			`  go run \./test/show wrong-annotation \| bin/oooi plan -f -`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out strings.Builder
			code, err := tried(t, t.Context(), c.objects, &out)
			g.Expect(err).NotTo(HaveOccurred())
			t.Log(out.String())
			g.Expect(code).To(Equal(c.code))
			g.Expect(out.String()).To(MatchRegexp(`(?ms)^` + strings.Join(c.lines, `$.*^`) + `$`))
			g.Expect(strings.Count(out.String(), "\n")).To(BeNumerically("<=", 40), "lines of a screen")
			g.Expect(regexp.MustCompile(`(?m)^.{81,}$`).FindString(out.String())).To(BeEmpty(), "is wider than 80 columns")
		})
	}
}

// TestTryNoAnswer: what cannot be served is an error, and serves nothing.
func TestTryNoAnswer(t *testing.T) {
	for _, c := range []struct{ objects, want string }{
		{"test/scenarios/no-such-file.yaml", "oooi plan: exit status 1"},
		{"dhcp-by-others", "network clusters/vlan100 has its own DHCP server"},
		{"two-clusters-apart", "there are 2 HostedClusters, and one is served: name the files of one"},
	} {
		t.Run(c.objects, func(t *testing.T) {
			g := NewWithT(t)
			code, err := tried(t, t.Context(), []string{c.objects}, io.Discard)
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
			g.Expect(code).To(Equal(1))
		})
	}
}

// TestMakeTry: the command of the README runs, and ends with the exit code of the plan.
func TestMakeTry(t *testing.T) {
	netns.Require(t)
	g := NewWithT(t)
	root, err := host.ProjectDir()
	g.Expect(err).NotTo(HaveOccurred())
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	command := regexp.MustCompile(`(?m)^    (make try)$`).FindSubmatch(readme)
	g.Expect(command).NotTo(BeNil(), "the README offers it")
	g.Expect(strings.Index(string(readme), "    make try\n")).To(BeNumerically("<", strings.Index(string(readme), "    make demo\n")), "before the demo")
	for objects, want := range map[string]string{"": "Try next:", " FILES=wrong-annotation": "Error 2"} {
		c := exec.CommandContext(t.Context(), "sh", "-c", string(command[1])+objects)
		c.Dir, c.Env = root, append(os.Environ(), "LC_ALL=C")
		out, err := c.CombinedOutput()
		g.Expect(string(out)).To(ContainSubstring(want))
		g.Expect(err == nil).To(Equal(objects == ""), "%s: %v", objects, err)
	}
}

// A trip calls a function when a text is written.
type trip struct {
	at   string
	call func()
}

// Write implements io.Writer.
func (w trip) Write(text []byte) (int, error) {
	if strings.Contains(string(text), w.at) {
		w.call()
	}
	return len(text), nil
}

// TestTryInterrupted: a signal while a VM is served leaves nothing.
func TestTryInterrupted(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	code, err := tried(t, ctx, nil, trip{"DHCP", interrupt})
	g.Expect(err).To(MatchError("interrupted, and all of it is removed"))
	g.Expect(code).To(Equal(1))
}
