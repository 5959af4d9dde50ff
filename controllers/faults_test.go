// This file injects each fault of testdata/condition-of-each-fault.md on a real API server, and holds the table.

package controllers

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// within is how long the condition may take to name a fault, and to drop it once it is fixed: users are promised 10 s.
// Only the long run holds that time.
func within() time.Duration {
	if programs.Long() {
		return 10 * time.Second
	}
	return patience.Limit
}

// A fault is a row of testdata/condition-of-each-fault.md.
type fault struct {
	// name of the fault.
	name string
	// sees are the severity and the reason in the condition's message. Empty: nothing changes there.
	sees string
	// words are in the line of that problem.
	words string
	// keeps is what VMs keep, and dark says that it is nothing.
	keeps string
	dark  bool
	// bootless: no new node boots, so the condition is False for a Warning.
	bootless bool
	// unreported: nothing reports it today, and nothing is injected.
	unreported bool
	// opted are further annotations of the HostedCluster.
	opted map[string]string
	// inject causes the fault, and returns what fixes it. Nil: nothing does.
	inject func(t *testing.T, h hosted) (fix func())
}

// An injected is one fault in a hosted cluster of its own.
type injected struct {
	fault
	hosted
	// reason is that of the condition before.
	reason string
}

// testFaults injects the faults of one cluster side by side, each in a hosted cluster of its own, and those of all
// clusters one after another.
func testFaults(t *testing.T, s *apiServer) {
	s.acceptInvalidAnnotations(t)
	s.addNode(t)
	s.run(t)
	t.Run("OneCluster", func(t *testing.T) {
		for i, f := range slices.Concat(faultsOfInput(), faultsOfWrites(), faultsOfEdges()) {
			f.run(t, func(t *testing.T) {
				t.Parallel()
				f.try(t, s, fmt.Sprintf("f0-%d", i))
			})
		}
	})
	t.Run("AllClusters", func(t *testing.T) {
		for i, f := range faultsOfAll() {
			f.run(t, func(t *testing.T) { f.try(t, s, fmt.Sprintf("f1-%d", i)) })
		}
	})
}

// run runs the test of f, if anything is injected.
func (f fault) run(t *testing.T, test func(*testing.T)) {
	if !f.unreported {
		t.Run(f.name, test)
	}
}

// try injects f in a new hosted cluster that is served, expects it to be seen in time, fixes it, and expects its end.
func (f fault) try(t *testing.T, s *apiServer, name string) {
	h := s.newHosted(t, name, f.opted)
	h.publish(t)
	h.edgeServes(t)
	h.wellServed(t)
	x := &injected{f, h, h.reason(t)()}
	fix := f.inject(t, h)
	x.isSeen(t)
	if fix == nil {
		return
	}
	fix()
	x.isGone(t)
}

// faults are all rows of the table.
func faults() []fault {
	return slices.Concat(faultsOfInput(), faultsOfWrites(), faultsOfEdges(), faultsOfAll())
}

// faultsHead explains the table.
const faultsHead = `What the condition of a HostedCluster says about each fault, and what VMs keep. The reason is there within 10 s after Kubernetes or an
edge reports the fault, and gone within 10 s after it is fixed. A removed right to watch takes effect when the API server ends the watch.
"nothing": the condition does not change. "not reported": no part of oooi reports the fault today.

| fault | condition | VMs keep |
| --- | --- | --- |
`

// TestGoldenFaults writes the table.
func TestGoldenFaults(t *testing.T) {
	rows := strings.Builder{}
	rows.WriteString(faultsHead)
	for _, f := range faults() {
		said := "nothing"
		if f.sees != "" {
			said = f.sees
		}
		if f.unreported {
			said = "not reported"
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", f.name, said, f.keeps)
	}
	golden.Check(t, filepath.Join("testdata", "condition-of-each-fault.md"), []byte(rows.String()))
}

// lines are those of the message that name x.
func (x *injected) lines(t *testing.T) func() []string {
	return func() []string {
		return slices.DeleteFunc(strings.Split(x.says(t)(), "\n"), func(line string) bool {
			return !strings.Contains(line, x.sees+": ") || !strings.Contains(line, x.words)
		})
	}
}

func (x *injected) isSeen(t *testing.T) {
	g := NewWithT(t)
	if x.sees == "" {
		const marker = "later-pass" // The condition is right without a pass, so two more passes must write it.
		x.annotate(t, marker, "x")
		g.Eventually(x.says(t)).WithTimeout(within()).Should(ContainSubstring(marker))
		x.annotate(t, marker, "")
		g.Eventually(x.says(t)).WithTimeout(within()).Should(And(HavePrefix(x.reason+": "), Not(ContainSubstring(marker))))
		x.isServed(t)
		return
	}
	g.Eventually(x.lines(t)).WithTimeout(within()).ShouldNot(BeEmpty(), x.says(t))
	ready := x.condition(t).Status == metav1.ConditionTrue
	g.Expect(ready).To(Equal(!x.bootless && (strings.HasPrefix(x.sees, "Warning") || strings.HasPrefix(x.sees, "Info"))), x.condition(t).Message)
	x.isServed(t)
}

// isServed expects an edge of the network that still serves, unless the fault takes all.
func (x *injected) isServed(t *testing.T) {
	t.Helper()
	serving := slices.ContainsFunc(x.deployments(t, "vlan100"), func(d appsv1.Deployment) bool {
		return gather.RoleOf(d) == gather.RoleEdge && d.Status.AvailableReplicas > 0
	})
	NewWithT(t).Expect(serving).To(Equal(!x.dark), "VMs keep %s", x.keeps)
}

// isGone expects the condition as it was, while all edges become ready.
func (x *injected) isGone(t *testing.T) {
	g := NewWithT(t)
	says := func() (string, error) { return x.says(t)(), x.allServe(t, x.deployments(t, "vlan100")) }
	g.Eventually(says).WithTimeout(within()).Should(HavePrefix(x.reason))
	if x.sees != "" {
		g.Eventually(func() ([]string, error) { return x.lines(t)(), x.allServe(t, x.deployments(t, "vlan100")) }).WithTimeout(within()).Should(BeEmpty())
	}
}
