// This file decides what happens to edges, one thing at a time, and when it is over.
// What machines notice is measured elsewhere.

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apps "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/ocp"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// A fault is one thing that happens to an edge, or to what it depends on.
type fault struct {
	name string
	// quick: it is in every run.
	quick bool
	// planned: a user or an upgrade caused it, so the edge can drain first.
	planned bool
	// cuts of each long connection there may be, with two edges.
	cuts int
	// onSecond: the edge that machines send to must be on the second node.
	onSecond bool
	// onLongest: it must be the one that has served for the longest time.
	onLongest bool
	// fresh: no container of the edge was killed before. The kubelet waits ten seconds before it starts one again for the second time.
	fresh bool
	// do returns when all edges serve again. Machines send to the edge it is given.
	do func(t *testing.T, s *stage, m *measure.Measurement, edge edgePod)
}

// nothing is what the others are compared with.
func nothing() fault {
	return fault{name: "nothing", do: func(t *testing.T, _ *stage, m *measure.Measurement, _ edgePod) {
		quiet(t, m, 5*time.Second)
	}}
}

func faults() []fault {
	var all []fault
	for _, c := range []string{"envoy", "dns", "dhcp", "failover"} {
		all = append(all, fault{name: "container killed: " + c, cuts: 1, fresh: true, do: killContainer(c)})
	}
	// Envoy keeps the connections, and no VM moves for the time of an NTP server
	for _, c := range []string{"proxy", "ntp"} {
		all = append(all, fault{name: "container killed: " + c, fresh: true, do: killContainer(c)})
	}
	return append(all,
		fault{name: "pod killed", cuts: 1, fresh: true, do: killPod},
		fault{name: "pod deleted", quick: true, planned: true, cuts: 1, do: deletePod},
		fault{name: "node drained", planned: true, cuts: 1, onSecond: true, do: drainNode},
		fault{name: "node lost", quick: true, cuts: 1, onSecond: true, do: loseNode},
		fault{name: "plan changed", planned: true, do: changePlan},
		fault{name: "operator upgraded", planned: true, do: upgradeOperator},
		// the youngest edge is replaced first: VMs use it only when a test sent them there
		fault{name: "edge image changed", quick: true, planned: true, cuts: 1, onLongest: true, do: changeImage},
	)
}

// killContainer ends a container of the edge, as the kernel does where memory is short.
func killContainer(name string) func(*testing.T, *stage, *measure.Measurement, edgePod) {
	return func(t *testing.T, s *stage, _ *measure.Measurement, edge edgePod) {
		g := NewWithT(t)
		before, err := edge.container(name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(process.KillContainer(before.ContainerID)).To(Succeed())
		g.Eventually(func(g Gomega) {
			i := slices.IndexFunc(s.pods(t), func(p edgePod) bool { return p.UID == edge.UID })
			g.Expect(i).To(BeNumerically(">=", 0), "kubelet starts it again in the same pod")
			now, err := s.pods(t)[i].container(name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(now.ContainerID).NotTo(Equal(before.ContainerID))
			g.Expect(now.Ready).To(BeTrue())
		}).WithPolling(200*time.Millisecond).Should(Succeed(), name)
		s.whole(t)
	}
}

// killPod ends all processes of the edge's pod, its sandbox too.
func killPod(t *testing.T, s *stage, _ *measure.Measurement, edge edgePod) {
	g := NewWithT(t)
	g.Expect(process.KillContainer(string(edge.UID))).To(Succeed())
	g.Eventually(func(g Gomega) {
		i := slices.IndexFunc(s.pods(t), func(p edgePod) bool { return p.UID == edge.UID })
		g.Expect(i).To(BeNumerically(">=", 0), "kubelet recreates its sandbox")
		for _, now := range s.pods(t)[i].Status.ContainerStatuses {
			before, err := edge.container(now.Name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(now.ContainerID).NotTo(Equal(before.ContainerID), now.Name)
		}
	}).WithPolling(200 * time.Millisecond).Should(Succeed())
	s.whole(t)
}

// replaced waits until another pod is that edge, and all serve.
func (s *stage) replaced(t *testing.T, edge edgePod) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		return slices.ContainsFunc(s.pods(t), func(p edgePod) bool { return p.number == edge.number && p.UID != edge.UID })
	}).WithPolling(200*time.Millisecond).Should(BeTrue(), "another pod is edge %d", edge.number)
	s.whole(t)
}

// deletePod has the API server delete it, as a user does.
func deletePod(t *testing.T, s *stage, _ *measure.Measurement, edge edgePod) {
	NewWithT(t).Expect(s.hosted.Client.Delete(t.Context(), &edge.Pod)).To(Succeed())
	s.replaced(t, edge)
}

// drainNode evicts all edges from the node, as an administrator does before a node's
// update, and lets it in again.
func drainNode(t *testing.T, s *stage, m *measure.Measurement, edge edgePod) {
	s.drained(t, m, edge, func() {})
}

// drained drains the node of the edge, calls update, and lets the node in again.
func (s *stage) drained(t *testing.T, m *measure.Measurement, edge edgePod, update func()) {
	t.Helper()
	g := NewWithT(t)
	node := edge.Spec.NodeName
	defer func() { _, _ = s.cluster.Kubectl(s.ctx, "uncordon", node) }()
	_, err := s.cluster.Kubectl(t.Context(), "drain", node, "--pod-selector=app.kubernetes.io/part-of=oooi,app.kubernetes.io/name=oooi-edge",
		"--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+await.Patience.String())
	g.Expect(err).NotTo(HaveOccurred())
	update()
	quiet(t, m, 3*time.Second)
	_, err = s.cluster.Kubectl(t.Context(), "uncordon", node)
	g.Expect(err).NotTo(HaveOccurred())
	s.replaced(t, edge)
}

// loseNode pulls the node's cable until machines are served by another edge: the one
// that is there, or the one that is made when Kubernetes has given the node up.
func loseNode(t *testing.T, s *stage, m *measure.Measurement, edge edgePod) {
	g := NewWithT(t)
	number := edge.nodeNumber()
	g.Expect(s.cluster.NodeDown(number)).To(Succeed())
	defer func() { _ = s.cluster.NodeUp(number) }()
	if len(s.network.Edges) > 1 {
		s.missed(t, edge)
	}
	quiet(t, m, 3*time.Second)
	g.Expect(s.cluster.NodeUp(number)).To(Succeed())
	s.whole(t)
}

// missed waits until the other edge of two reports that this one is lost.
func (s *stage) missed(t *testing.T, edge edgePod) {
	t.Helper()
	NewWithT(t).Eventually(func() (string, error) {
		said, err := reports(t.Context(), s.hosted, s.network.Name)
		return said[3-edge.number].Peer, err
	}).WithPolling(100*time.Millisecond).Should(Equal(string(failover.PeerUnreachable)), "what the other edge says of the lost one")
}

// changePlan publishes a Service and withdraws it again. The pods stay.
func changePlan(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	before := s.pods(t)
	manifest := fmt.Appendf(nil, publishedPod, s.hosted.Namespace(), ocp.ShimImage, Prefix)
	g.Expect(s.cluster.Apply(t.Context(), manifest)).To(Succeed())
	const url = "https://extra.example.net:9443/apis"
	ask := func() error {
		_, err := askAnyone(t.Context(), s.worker.Machine, url)
		return err
	}
	g.Eventually(ask).WithPolling(time.Second).Should(Succeed(), url)
	_, err := s.cluster.Kubectl(t.Context(), "-n", s.hosted.Namespace(), "delete", "service/extra", "pod/extra", "--grace-period=1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(ask).WithPolling(time.Second).ShouldNot(Succeed(), "withdrawn")
	quiet(t, m, 2*time.Second)
	g.Expect(names(s.pods(t))).To(Equal(names(before)), "no edge is recreated")
}

// names are those of the pods, which are never given twice.
func names(pods []edgePod) (all []string) {
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}

// setOperator changes the operator's Deployment and waits until the new pod runs.
func (s *stage) setOperator(t *testing.T, change func(*apps.Deployment)) {
	t.Helper()
	g := NewWithT(t)
	var d apps.Deployment
	g.Expect(s.hosted.Client.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: "oooi"}, &d)).To(Succeed())
	patch := client.MergeFrom(d.DeepCopy())
	change(&d)
	g.Expect(s.hosted.Client.Patch(t.Context(), &d, patch)).To(Succeed())
	_, err := s.cluster.Kubectl(t.Context(), "-n", Namespace, "rollout", "status", "deployment/oooi", "--timeout="+await.Patience.String())
	g.Expect(err).NotTo(HaveOccurred())
}

// upgradeOperator replaces the operator by one that asks for the same edges.
func upgradeOperator(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	before := s.pods(t)
	s.setOperator(t, func(d *apps.Deployment) {
		c := &d.Spec.Template.Spec.Containers[0]
		c.Args = append(c.Args, "--health-probe-bind-address=:8081") // as it is without
	})
	s.operated(t)
	quiet(t, m, 2*time.Second)
	g.Expect(names(s.pods(t))).To(Equal(names(before)), "no edge is recreated")
}

// operated waits until the operator has looked at the cluster: what its user changes now is served.
func (s *stage) operated(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(s.hosted.Set(t.Context(), map[string]string{"dns-records": "upgraded.example.net=192.0.2.1"})).To(Succeed())
	g.Eventually(func() error {
		_, err := s.worker.Machine.Output(t.Context(), "getent", "ahostsv4", "upgraded.example.net")
		return err
	}).WithPolling(time.Second).Should(Succeed())
	g.Expect(s.hosted.Set(t.Context(), map[string]string{"dns-records": ""})).To(Succeed())
}

// changeImage has the operator run its edges from another image, as an upgrade does.
func changeImage(t *testing.T, s *stage, _ *measure.Measurement, edge edgePod) {
	g := NewWithT(t)
	image := fmt.Sprintf("localhost/oooi-edge:at%d", time.Now().Unix())
	g.Expect(s.cluster.TagImage(t.Context(), cluster.EdgeImage, image)).To(Succeed())
	s.setOperator(t, func(d *apps.Deployment) {
		env := d.Spec.Template.Spec.Containers[0].Env
		for i := range env {
			if env[i].Name == "RELATED_IMAGE_EDGE" {
				env[i].Value = image
			}
		}
	})
	s.rolled(t, edge, image)
}

// variable is what the operator's Deployment sets it to.
func variable(d apps.Deployment, name string) string {
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// rolled waits until all edges run that image and this edge is another pod, and expects that of two edges one serves all
// the time.
func (s *stage) rolled(t *testing.T, edge edgePod, image string) {
	t.Helper()
	g := NewWithT(t)
	fewest := len(s.network.Edges)
	g.Eventually(func(g Gomega) {
		edges, err := s.hosted.Edges(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		serving, changed := 0, 0
		for _, e := range edges {
			if e.Status.AvailableReplicas > 0 {
				serving++
			}
			if e.Spec.Template.Spec.Containers[0].Image == image && Available(e) {
				changed++
			}
		}
		fewest = min(fewest, serving)
		g.Expect(changed).To(Equal(len(s.network.Edges)))
	}).WithPolling(100*time.Millisecond).Should(Succeed(), "all edges run the new image")
	if len(s.network.Edges) > 1 {
		g.Expect(fewest).To(Equal(1), "one after the other")
	}
	s.replaced(t, edge)
}
