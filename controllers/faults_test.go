// This file injects each fault of docs/faults.md on a real API server, and holds the table.

package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/programs"
)

// within is how long the condition may take to name a fault, and to drop it once it is fixed: users are promised 10 s.
// Only the long run holds that time.
func within() time.Duration {
	if programs.Long() {
		return 10 * time.Second
	}
	return patience
}

// A fault is a row of docs/faults.md.
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
	reason string
	fix    func()
}

// TestFaults injects all faults at the same time, each in a hosted cluster of its own.
func TestFaults(t *testing.T) {
	s := sharedAPIServer(t, &altered)
	s.acceptInvalidAnnotations(t)
	s.addNode(t)
	s.run(t)
	groups := [][]fault{slices.Concat(faultsOfInput(), faultsOfWrites(), faultsOfEdges()), faultsOfRights(), faultsOfKinds()}
	var served [][]*injected
	for i, faults := range groups {
		served = append(served, serveAll(t, s, fmt.Sprintf("f%d-", i), faults))
	}
	for _, all := range served {
		for _, x := range all {
			x.edgeServes(t)
			x.wellServed(t)
			x.reason = x.hosted.reason(t)()
		}
	}
	for _, all := range served {
		tryAll(t, s, all)
	}
}

// faults are all rows of the table.
func faults() []fault {
	return slices.Concat(faultsOfInput(), faultsOfWrites(), faultsOfEdges(), faultsOfAll())
}

// TestGoldenFaults writes docs/faults.md.
func TestGoldenFaults(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "test", "docs", "testdata", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, f := range faults() {
		said := "nothing"
		if severity, reason, ok := strings.Cut(f.sees, " "); ok {
			said = fmt.Sprintf("`%s` [`%s`](problems.md#%s)", severity, reason, strings.ToLower(reason))
		}
		if f.unreported {
			said = "not reported"
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", f.name, said, f.keeps)
	}
	golden.Check(t, filepath.Join("..", "docs", "faults.md"), []byte(strings.Replace(string(text), "<!-- faults -->\n", rows.String(), 1)))
}

// serveAll creates a hosted cluster for each fault.
func serveAll(t *testing.T, s *apiServer, prefix string, faults []fault) (all []*injected) {
	t.Helper()
	for i, f := range slices.DeleteFunc(faults, func(f fault) bool { return f.unreported }) {
		h := s.newHosted(t, fmt.Sprintf("%s%d", prefix, i), f.opted)
		h.publish(t)
		all = append(all, &injected{fault: f, hosted: h})
	}
	return all
}

// tryAll injects all faults, expects each to be seen in time, fixes them, and expects the end of each.
func tryAll(t *testing.T, s *apiServer, all []*injected) {
	t.Helper()
	for _, x := range all {
		x.fix = x.inject(t, x.hosted)
	}
	for _, x := range all {
		t.Run(x.name, func(t *testing.T) { x.isSeen(t) })
	}
	all = slices.DeleteFunc(all, func(x *injected) bool { return x.fix == nil })
	for _, x := range all {
		x.fix()
	}
	defer playDeployments(t, s)()
	for _, x := range all {
		t.Run(x.name+", fixed", func(t *testing.T) { x.isGone(t) })
	}
}

// playDeployments plays the Deployments' controller for all clusters until it is stopped.
func playDeployments(t *testing.T, s *apiServer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(time.Second / 4); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			list := &appsv1.DeploymentList{}
			if s.admin.List(ctx, list, client.MatchingLabels(ownedLabels())) != nil {
				continue
			}
			for i := range list.Items {
				// The next tick tries again.
				_ = hosted{apiServer: s}.serves(t, &list.Items[i])
			}
		}
	}()
	return func() { cancel(); <-ended }
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
		g.Eventually(x.hosted.reason(t)).WithTimeout(within()).Should(Equal(x.reason))
		g.Consistently(x.hosted.reason(t)).WithTimeout(time.Second / 2).Should(Equal(x.reason))
		x.isServed(t)
		return
	}
	g.Eventually(x.lines(t)).WithTimeout(within()).ShouldNot(BeEmpty(), x.says(t))
	ready := x.condition(t).Status == metav1.ConditionTrue
	g.Expect(ready).To(Equal(strings.HasPrefix(x.sees, "Warning") || strings.HasPrefix(x.sees, "Info")), x.condition(t).Message)
	x.isServed(t)
}

// isServed expects an edge of the network that still serves, unless the fault takes all.
func (x *injected) isServed(t *testing.T) {
	t.Helper()
	serving := slices.ContainsFunc(x.deployments(t, "vlan100"), func(d appsv1.Deployment) bool { return roleOf(d) == roleEdge && d.Status.AvailableReplicas > 0 })
	NewWithT(t).Expect(serving).To(Equal(!x.dark), "VMs keep %s", x.keeps)
}

func (x *injected) isGone(t *testing.T) {
	g := NewWithT(t)
	g.Eventually(x.says(t)).WithTimeout(within()).Should(HavePrefix(x.reason))
	if x.sees != "" {
		g.Eventually(x.lines(t)).WithTimeout(within()).Should(BeEmpty())
	}
}
