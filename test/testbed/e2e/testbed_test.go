// This file decides on which testbed the tests run: with HyperShift and the operator
// on it.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// keepVariable names a testbed that is used as it is and stays: for those who work
// on these tests.
const keepVariable = "OOOI_E2E_TESTBED"

// bed is what all tests share.
type bed struct {
	cluster    *cluster.Cluster
	hypershift *hypershift.HyperShift
	// deletions run while the next tests do: HyperShift's takes a minute.
	deletions *deletions
	ctx       context.Context
}

// deletions are those that began. Tests that run side by side add to them.
type deletions struct {
	lock sync.Mutex
	all  []deletion
}

// A deletion of one hosted cluster, and how it ended.
type deletion struct {
	name string
	done chan error
}

// A busy machine needs longer than Gomega's second.
func init() { SetDefaultEventuallyTimeout(await.Patience) }

// bedOptions say what differs from one testbed to another.
type bedOptions struct {
	nodes         int
	twin          *bed   // another testbed with the same registry; nil means none
	mini          bool   // hosted control planes run only what makes Services, Routes and status
	apiRules      string // file with the names that KubeVirt has; empty means its own
	kustomization string // directory that the operator is installed from; empty means config/default
}

// newBed brings everything up, for all subtests of t. HyperShift and the operator start on
// the first node.
func newBed(t *testing.T, o bedOptions) bed {
	t.Helper()
	b := newManagement(t, o)
	if o.kustomization == "" {
		NewWithT(t).Expect(InstallOperator(t.Context(), b.cluster)).To(Succeed())
	} else {
		NewWithT(t).Expect(InstallFrom(t.Context(), b.cluster, o.kustomization)).To(Succeed())
	}
	b.open(t)
	return b
}

// newManagement brings a cluster with HyperShift up. Only its first node gets pods, until [bed.open]: what starts before stays there.
func newManagement(t *testing.T, o bedOptions) bed {
	t.Helper()
	if testing.Short() {
		t.Skip("minutes of work")
	}
	needRoot(t)
	g := NewWithT(t)
	log.SetLogger(logr.Discard()) // controller-runtime asks for one
	options := hypershift.Options{APIRules: o.apiRules, Mini: o.mini, Log: os.Stderr}
	suffix := ""
	if o.twin != nil {
		suffix, options.Twin = "-twin", o.twin.hypershift
	}
	name := os.Getenv(keepVariable) + suffix
	if name == suffix {
		name = fmt.Sprintf("e%d%s", os.Getpid(), suffix)
		t.Cleanup(func() {
			explainPods(t, name)
			if err := cluster.Down(context.WithoutCancel(t.Context()), cluster.Options{Name: name, Log: os.Stderr}); err != nil {
				t.Errorf("down: %v", err)
			}
		})
	}
	g.Expect(host.EnsurePackages(t.Context(), os.Stderr, append(cluster.HostPackages(), machine.Packages()...)...)).To(Succeed())
	c, err := cluster.Up(t.Context(), cluster.Options{Name: name, Nodes: o.nodes, Log: os.Stderr})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Kubectl(t.Context(), "cordon", "--selector", furtherNodes)
	g.Expect(err).NotTo(HaveOccurred())
	h, err := hypershift.Install(t.Context(), c, options)
	g.Expect(err).NotTo(HaveOccurred())
	return bed{c, h, &deletions{}, t.Context()}
}

// explainPods logs the pods of a testbed where a test failed.
func explainPods(t *testing.T, name string) {
	c, err := cluster.Attach(name)
	if err != nil || !t.Failed() {
		return
	}
	out, err := c.Kubectl(context.WithoutCancel(t.Context()), "get", "pods", "-A", "-o", "wide", "--request-timeout=1m")
	t.Logf("%s%v", out, err)
}

// furtherNodes selects all nodes but the first.
const furtherNodes = "kubernetes.io/hostname!=node1"

// open lets pods onto all nodes.
func (b bed) open(t *testing.T) {
	t.Helper()
	_, err := b.cluster.Kubectl(t.Context(), "uncordon", "--selector", furtherNodes)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// hosted looks at a hosted cluster of the testbed.
func (b bed) hosted(t *testing.T, name string) Hosted {
	t.Helper()
	h, err := NewHosted(b.cluster, name)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return h
}

// create makes a hosted cluster. On a testbed that stays one of the same name is
// taken as it is, and is not new.
func (b bed) create(t *testing.T, o hypershift.HostedClusterOptions) (_ Hosted, isNew bool) {
	t.Helper()
	h := b.hosted(t, o.Name)
	if _, err := h.Condition(t.Context()); err == nil && os.Getenv(keepVariable) != "" {
		return h, false
	}
	NewWithT(t).Expect(b.hypershift.Create(t.Context(), o)).To(Succeed())
	return h, true
}

// destroy begins to delete the hosted cluster, as a user does.
func (b bed) destroy(h Hosted) {
	if os.Getenv(keepVariable) != "" && os.Getenv(keepVariable+"_HOSTED") != "" { // to look at it, or run again
		return
	}
	d := deletion{name: h.Name, done: make(chan error, 1)}
	b.deletions.lock.Lock()
	defer b.deletions.lock.Unlock()
	b.deletions.all = append(b.deletions.all, d)
	go func() {
		d.done <- errors.Join(b.hypershift.Destroy(b.ctx, h.Name), worker.Down(b.ctx, b.cluster, h.Namespace()))
	}()
}

// testDeletions expects that HyperShift's own deletion ran to its end for every
// hosted cluster, edges or not.
func testDeletions(t *testing.T, b bed) {
	for _, d := range b.deletions.all {
		t.Run(d.name, func(t *testing.T) {
			NewWithT(t).Expect(<-d.done).To(Succeed(), "HyperShift's own deletion")
		})
	}
}
