// This file shows what `oooi status`, `oooi check`, `oooi map` and `oooi must-gather` print about a cluster that serves.

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/worker"
)

// program builds oooi, and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path, err := build.ProjectProgram(t.Context(), "oooi", "")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return path
}

// oooi builds the program, and returns what runs it with the rights of an administrator and expects an exit code.
func (b bed) oooi(t *testing.T) func(code int, args ...string) string {
	g, path := NewWithT(t), program(t)
	return func(code int, args ...string) string {
		c := b.cluster.Command(t.Context(), path, args...)
		out, _ := c.Output()
		g.Expect(c.ProcessState.ExitCode()).To(Equal(code), "%s: %s", args, out)
		return string(out)
	}
}

// testWhoCarries: status says which of two edges VMs use. Check evicts the edge that its own pod uses, which may be the other
// one. Then VMs use the one that is left.
func testWhoCarries(t *testing.T, s *stage) {
	g, oooi := NewWithT(t), s.oooi(t)
	carries := func() (out [2]string) {
		var told struct {
			Networks []struct {
				Edges []struct{ CarriesVMs string }
			}
		}
		g.Expect(json.Unmarshal([]byte(oooi(3, "status", "clusters/"+s.hosted.Name, "-o", "json")), &told)).To(Succeed())
		for i, e := range told.Networks[0].Edges {
			out[i] = e.CarriesVMs
		}
		return out
	}
	now := carries()
	g.Eventually(func() [2]string { now = carries(); return now }).WithPolling(time.Second).Should(BeElementOf([2]string{"yes", "no"}, [2]string{"no", "yes"}))
	i := slices.Index(now[:], "yes")
	pods := s.pods(t)
	tried := oooi(3, "check", "clusters/"+s.hosted.Name, "--failover") // It is unknown whether nodes of OpenShift would boot.
	t.Log(tried)
	g.Expect(tried).To(MatchRegexp(`\n  ok       failover: kube-apiserver:6443 at \S+: VMs could not open connections for `))
	evicted := regexp.MustCompile(`Edge (\d), pod (\S+), was evicted`).FindStringSubmatch(tried)
	g.Expect(evicted).NotTo(BeNil())
	at := slices.IndexFunc(pods, func(p edgePod) bool { return strconv.Itoa(p.number) == evicted[1] })
	g.Expect(at).To(BeNumerically(">=", 0))
	s.replaced(t, pods[at])
	if pods[at].number == i+1 {
		now[0], now[1] = now[1], now[0]
	}
	g.Eventually(carries).WithPolling(time.Second).Should(Equal(now))
}

// testTried: a pod of the management cluster acts as a VM, and leaves nothing behind. The OAuth server of a test
// cluster does not run. flags are further ones of the command.
func testTried(t *testing.T, b bed, h Hosted, flags ...string) {
	g := NewWithT(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	tried := b.oooi(t)(3, append([]string{"check", "clusters/" + h.Name, "--from-network"}, flags...)...) // It is unknown whether nodes of OpenShift would boot.
	t.Log(tried)
	_, tried, found := strings.Cut(tried, "\nFrom network "+plan.Networks[0].Attachment.String()+", as a VM with address ")
	g.Expect(found).To(BeTrue())
	want := []string{"DHCP: ", "no answer for name ", "time of ", "kube-apiserver:", "konnectivity-server:", "ignition-server-proxy:", "no way to 10.96.0.1:443\n", "an edge has 192.168.100.2\n", "an edge has 192.168.100.3\n"}
	for _, r := range plan.Networks[0].DNS.Views[0].Records {
		want = append(want, "name "+strings.Replace(r.Name, "*", "oooi-check", 1)+"\n")
	}
	for _, line := range want {
		g.Expect(tried).To(ContainSubstring("\n  ok       " + line))
	}
	g.Expect(tried).To(ContainSubstring("\n  warning  oauth-openshift:"))
	g.Expect(strings.Count(tried, "\n  warning  ")).To(Equal(1))
	left, err := b.cluster.Kubectl(t.Context(), "get", "pods,network-attachment-definitions", "-n", h.Namespace(), "-l", wire.LabelName+"="+wire.NameTry, "-o", "name")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(BeEmpty())
}

// testStatus: the lease and the endpoints of a VM are shown, and a directory that was collected says the same.
func testStatus(t *testing.T, b bed, h Hosted, w *worker.Worker) {
	g := NewWithT(t)
	oooi, dir := b.oooi(t), filepath.Join(t.TempDir(), "report")
	name := "clusters/" + h.Name
	var told struct {
		Boot     struct{ Answer, Why string }
		Networks []struct {
			Edges     []struct{ Ready, Level string }
			Endpoints []struct{ Backend, Health string }
			Leases    []struct{ Address, VM, State string }
		}
		Unread []string
	}
	// Edges report the API server for a minute after it becomes ready, and it has just become so. The operator sees what HyperShift
	// changes a moment later.
	g.Eventually(func(g Gomega) {
		told.Networks = nil
		// Images of the test cluster come from an IP address, so it is not known whether nodes of OpenShift would boot.
		g.Expect(json.Unmarshal([]byte(oooi(3, "status", name, "-o", "json")), &told)).To(Succeed())
		g.Expect(told.Networks).To(HaveLen(1))
		g.Expect(told.Networks[0].Endpoints).To(And(Not(BeEmpty()), HaveEach(HaveField("Health", "no fault reported"))))
		g.Expect(told.Boot.Answer).To(Equal("unknown"))
		g.Expect(told.Boot.Why).To(HavePrefix("Nodes may not become Ready. DHCP, DNS, NTP and proxy are ready on network "))
	}).WithPolling(2 * time.Second).Should(Succeed())
	g.Expect(told.Unread).To(BeEmpty())
	n := told.Networks[0]
	for _, e := range n.Edges {
		g.Expect(e.Ready).To(Equal("yes"))
	}
	g.Expect(n.Leases).To(ContainElement(And(HaveField("Address", w.Lease.Address.Addr().String()), HaveField("VM", w.VM.Name), HaveField("State", "assigned"))))

	for _, line := range []string{"  ok       operator\n", "  ok       admission policies\n", "  ok       edges of ", "  warning  ImagesUnreachable: ", "  unknown  nodes boot: Nodes may not become Ready. "} {
		g.Expect(oooi(3, "check", name)).To(ContainSubstring(line))
	}

	t.Log(oooi(0, "must-gather", name, "--to", dir))
	text := oooi(3, "status", name, "-f", dir)
	g.Expect(text).To(HavePrefix("HostedCluster " + name + ": it is unknown whether nodes boot\n  Nodes may not become Ready. "))
	g.Expect(text).To(ContainSubstring(w.Lease.Address.Addr().String()))
	g.Expect(oooi(0, "map", name, "-f", dir)).To(Equal(oooi(0, "map", name)))
	logs, err := filepath.Glob(filepath.Join(dir, "logs", h.Namespace(), "*", "*.log"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, program := range []string{"dhcp", "dns", "ntp", "proxy", "envoy", "failover"} {
		g.Expect(logs).To(ContainElement(HaveSuffix("/"+program+".log")), "a log of the edge")
	}
	operator, err := filepath.Glob(filepath.Join(dir, "logs", Namespace, "*", "manager.log"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(operator).NotTo(BeEmpty())
	index, err := os.ReadFile(filepath.Join(dir, "index"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Contains(string(index), `"unread"`)).To(BeFalse(), "%s", index)
}
