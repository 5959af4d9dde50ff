// This file restores a hosted cluster as Velero does, on the same management cluster. Velero is played by its rules
// (test/velero), and HyperShift does what follows.

package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/ocp"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/velero"
)

// TestRestored has a testbed of its own. Both rows share one hosted cluster with two edges.
func TestRestored(t *testing.T) {
	b := newBed(t, bedOptions{nodes: 2})
	const vlan = 250
	h, w := joined(t, b, hypershift.HostedClusterOptions{
		Name: "restored", Strategy: hypershift.LoadBalancerName, VLAN: vlan, Flags: onFirstNode(),
		Annotations: map[string]string{Annotation: "auto", Prefix + "edges": "2"},
	})
	s := stageOf(t, b, h, w)
	s.playOperators(t)
	t.Run("etcd", func(t *testing.T) { testEtcdRestored(t, s) })
	t.Run("backup", func(t *testing.T) { testBackupRestored(t, s, vlan) })
}

// servers measures DNS, time and renewals from the renewing machine, which is not part of the hosted cluster.
func (s *stage) servers(t *testing.T) (m *measure.Measurement) {
	t.Helper()
	m = measure.Start(t.Context(), measure.Options{
		Dial: lan.DialNetNS(s.stations[1].netNS), DNS: netip.AddrPortFrom(s.network.ServiceVIP, 53).String(), Question: s.name,
		NTP: netip.AddrPortFrom(s.network.ServiceVIP, 123).String(), Renew: s.client.Renew, InTurn: true,
	})
	NewWithT(t).Expect(measure.AwaitAnswers(t.Context(), m)).To(Succeed())
	return m
}

// testEtcdRestored: the hosted cluster's etcd is lost, and restored to an older state, as HyperShift's documentation says. Edges serve
// all the time, and plan and leases stay.
func testEtcdRestored(t *testing.T, s *stage) {
	g, h := NewWithT(t), s.hosted
	s.whole(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	before := s.held(t)
	saved, err := h.saveEtcd(t.Context(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	var newer *core.ConfigMap
	g.Eventually(func() (err error) {
		newer, err = s.guest.CoreV1().ConfigMaps("default").Create(t.Context(), &core.ConfigMap{ObjectMeta: meta.ObjectMeta{GenerateName: "newer-"}}, meta.CreateOptions{})
		return err
	}).WithPolling(time.Second).Should(Succeed())
	m := s.servers(t)

	pause := func(until any) {
		body, err := json.Marshal(map[string]any{"spec": map[string]any{"pausedUntil": until}})
		g.Expect(err).NotTo(HaveOccurred())
		hc := &hyperv1.HostedCluster{ObjectMeta: meta.ObjectMeta{Namespace: hypershift.Namespace, Name: h.Name}}
		g.Expect(h.Client.Patch(t.Context(), hc, client.RawPatch(types.MergePatchType, body))).To(Succeed())
	}
	pause("true")
	g.Eventually(func() (meta.Condition, error) { return h.Condition(t.Context()) }).WithPolling(time.Second).Should(HaveField("Message", ContainSubstring("paused")))
	g.Eventually(func() (*string, error) {
		var hcp hyperv1.HostedControlPlane
		err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: h.Namespace(), Name: h.Name}, &hcp)
		return hcp.Spec.PausedUntil, err
	}).WithPolling(time.Second).ShouldNot(BeNil())
	s.scaleEtcd(t, 0)
	api := func() error {
		_, err := askAnyone(t.Context(), s.worker.Machine, s.worker.API.String()+"/readyz", "--fail")
		return err
	}
	g.Eventually(api).WithPolling(time.Second).ShouldNot(Succeed(), "the hosted API server is away")
	s.renews(t)
	g.Expect(h.putEtcd(t.Context(), saved)).To(Succeed())
	s.scaleEtcd(t, 1)
	g.Eventually(api).WithPolling(time.Second).Should(Succeed(), "the hosted API server is back")
	pause(nil)
	g.Eventually(func() (string, error) {
		out, err := h.Cluster.Kubectl(t.Context(), "-n", h.Namespace(), "get", "clusters.cluster.x-k8s.io", "-o", "jsonpath={.items[*].spec.paused}")
		return string(out), err
	}).WithPolling(time.Second).ShouldNot(Equal("true"), "HyperShift has ended the pause")

	g.Expect(s.hypershift.WaitAvailable(t.Context(), h.Name)).To(Succeed())
	g.Expect(h.WaitReady(t.Context())).To(Succeed())
	s.whole(t)
	after := s.held(t)
	g.Expect(after.address).To(Equal(before.address), "the worker's address")
	g.Expect(measure.AwaitAnswers(t.Context(), m)).To(Succeed())
	report := m.Report()
	t.Logf("etcd restored: %+v", report)
	g.Expect(report.DHCP.Addresses).To(Equal([]netip.Addr{s.client.Address}))
	g.Expect(time.Duration(max(report.DNS.LongestGap, report.NTP.LongestGap, report.DHCP.LongestGap))).To(BeNumerically("<", overBusy), "edges serve all the time")
	_, err = s.guest.CoreV1().ConfigMaps("default").Get(t.Context(), newer.Name, meta.GetOptions{})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "etcd has the older state: %v", err)
	g.Expect(h.Plan(t.Context())).To(Equal(plan))
}

// scaleEtcd waits until etcd runs with so many members.
func (s *stage) scaleEtcd(t *testing.T, members int32) {
	t.Helper()
	g, key := NewWithT(t), client.ObjectKey{Namespace: s.hosted.Namespace(), Name: "etcd"}
	etcd := &apps.StatefulSet{ObjectMeta: meta.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": members}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.hosted.Client.Patch(t.Context(), etcd, client.RawPatch(types.MergePatchType, body))).To(Succeed())
	g.Eventually(func() (apps.StatefulSetStatus, error) {
		return etcd.Status, s.hosted.Client.Get(t.Context(), key, etcd)
	}).WithPolling(time.Second).Should(And(HaveField("Replicas", members), HaveField("ReadyReplicas", members)))
}

// testBackupRestored: the hosted cluster is saved, deleted, and restored. It ends with the same addresses, after a check of them,
// and nothing of the old one is left.
func testBackupRestored(t *testing.T, s *stage, vlan int) {
	g, h, oooi := NewWithT(t), s.hosted, program(t)
	s.whole(t)
	before, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	owned := s.ownedNames(t)
	static := s.plugStatic(t)
	const recovering = "HyperShift has recovered this cluster from a backup since "
	status := func() string {
		out, _ := s.cluster.Command(t.Context(), oooi, "status", "clusters/"+h.Name).Output() // The exit code says whether nodes boot.
		g.Expect(string(out)).To(HavePrefix("HostedCluster clusters/" + h.Name))
		return string(out)
	}
	g.Expect(status()).NotTo(ContainSubstring(recovering))
	saved, err := velero.Save(t.Context(), h.Client, hypershift.Namespace, h.Namespace())
	g.Expect(err).NotTo(HaveOccurred())
	for _, u := range saved {
		g.Expect(u.GetName()).NotTo(HavePrefix("oooi"), "%s: the backup has no object of oooi", u.GetKind())
	}
	etcd, err := h.saveEtcd(t.Context(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	m := s.servers(t)
	began := time.Now()
	said := func(what string) {
		t.Helper()
		t.Logf("%4.0f s after the deletion began: %s", time.Since(began).Seconds(), what)
	}

	g.Expect(s.hypershift.Destroy(t.Context(), h.Name)).To(Succeed())
	g.Expect(worker.Down(t.Context(), s.cluster, h.Namespace())).To(Succeed())
	said("the namespace is gone")
	log := s.logDeployments(t)
	for _, u := range saved {
		g.Expect(velero.Restore(t.Context(), h.Client, u)).To(Succeed(), "%s %s", u.GetKind(), u.GetName())
		if u.GetName() == etcdClaim {
			g.Expect(h.putEtcd(t.Context(), etcd)).To(Succeed()) // as Velero's data mover
		}
	}
	said("Velero has restored")
	g.Expect(h.WaitReason(t.Context(), meta.ConditionFalse, "NetworkMissing")).To(Succeed(), "the NAD is not in the backup")
	c, err := h.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Message).To(ContainSubstring(s.network.Attachment.String()))
	g.Expect(log.read()).To(BeEmpty(), "no pod of oooi before the network exists")
	g.Expect(status()).To(ContainSubstring(recovering))
	_, err = s.hypershift.MakeNetwork(t.Context(), h.Namespace(), vlan)
	g.Expect(err).NotTo(HaveOccurred())
	said("the NAD is made")
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
	said("edges serve")
	g.Expect(measure.AwaitAnswers(t.Context(), m)).To(Succeed())
	said("DNS, time and DHCP answer again")
	report := m.Report()
	t.Logf("backup restored: longest time without DNS %s, time %s, DHCP %s", time.Duration(report.DNS.LongestGap), time.Duration(report.NTP.LongestGap), time.Duration(report.DHCP.LongestGap))
	g.Expect(report.DHCP.Addresses).To(Equal([]netip.Addr{s.client.Address}), "a machine with a lost lease keeps its address")

	g.Expect(s.hypershift.WaitAvailable(t.Context(), h.Name)).To(Succeed())
	said("HyperShift: available")
	g.Expect(h.WaitReady(t.Context())).To(Succeed())
	w := testWorkers(t, s.bed, h, 1)[0]
	said("a new worker is Ready")
	g.Expect(w.Lease.Address.Addr()).NotTo(BeElementOf(static.address, s.client.Address))
	static.keeps(t)
	after, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lasting(t, after)).To(Equal(lasting(t, before)), "the same plan")
	log.checkedFirst(t, s.network)
	g.Expect(s.ownedNames(t)).To(Equal(owned))
	s.ownedByNow(t)
	g.Expect(h.Leases(t.Context())).NotTo(ContainElement(HaveField("Name", HaveSuffix("."+s.worker.Lease.Address.Addr().String()))), "the old worker has no lease")
	g.Eventually(func() (bool, error) {
		var hc hyperv1.HostedCluster
		err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: hypershift.Namespace, Name: h.Name}, &hc)
		return apimeta.IsStatusConditionTrue(hc.Status.Conditions, string(hyperv1.HostedClusterRestoredFromBackup)), err
	}).WithPolling(time.Second).Should(BeTrue(), "HyperShift has finished the recovery")
	g.Expect(status()).NotTo(ContainSubstring(recovering))
}

// clusterVersion is the status of a release that runs, with its image.
const clusterVersion = `{"status": {"observedGeneration": 1, "versionHash": "", "availableUpdates": [], "desired": {"version": "4.20.8", "image": %[1]q},
	"history": [{"state": "Completed", "version": "4.20.8", "image": %[1]q, "verified": false, "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z"}],
	"conditions": [
	{"type": "Available", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
	{"type": "Failing", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`

// playOperators writes what the version and the monitoring operator would in the hosted cluster. Without the status of the version,
// HyperShift does not follow a pause. It awaits the monitoring before a recovery ends.
func (s *stage) playOperators(t *testing.T) {
	t.Helper()
	g, labels := NewWithT(t), map[string]string{"app": "prometheus"}
	monitoring := &apps.StatefulSet{ObjectMeta: meta.ObjectMeta{Namespace: "openshift-monitoring", Name: "prometheus-k8s"}, Spec: apps.StatefulSetSpec{
		Replicas: new(int32), Selector: &meta.LabelSelector{MatchLabels: labels}, Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels},
			Spec: core.PodSpec{Containers: []core.Container{{Name: "prometheus", Image: ocp.PayloadImage}}}},
	}}
	var hc hyperv1.HostedCluster
	g.Expect(s.hosted.Client.Get(t.Context(), client.ObjectKey{Namespace: hypershift.Namespace, Name: s.hosted.Name}, &hc)).To(Succeed())
	_, err := s.hypershift.GuestKubectl(t.Context(), s.hosted.Name, "patch", "clusterversion", "version", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(clusterVersion, hc.Spec.Release.Image))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = s.guest.CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: monitoring.Namespace}}, meta.CreateOptions{})
	g.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	_, err = s.guest.AppsV1().StatefulSets(monitoring.Namespace).Create(t.Context(), monitoring, meta.CreateOptions{})
	g.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}

// lasting returns p as JSON without what is new after a restore: the UID of the HostedCluster, and the addresses of Services.
func lasting(t *testing.T, p network.Plan) string {
	t.Helper()
	p.Cluster.UID = ""
	out, err := json.MarshalIndent(p.WithEach(func(n *network.Network) { n.DNS.Pods = network.View{} }), "", " ")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return regexp.MustCompile(`"clusterIP": "[0-9.]+"`).ReplaceAllString(string(out), `"clusterIP"`)
}

// ownedNames are the names of oooi's objects, except for those with random names, and for leases of VMs.
func (s *stage) ownedNames(t *testing.T) []string {
	t.Helper()
	var out []string
	NewWithT(t).Eventually(func() ([]string, error) {
		all, err := s.hosted.Owned(t.Context())
		out = slices.DeleteFunc(all, func(name string) bool {
			kind, _, _ := strings.Cut(name, "/")
			return slices.Contains([]string{"pod", "replicaset.apps", "endpointslice.discovery.k8s.io", "lease.coordination.k8s.io"}, kind)
		})
		slices.Sort(out)
		return out, err
	}).WithPolling(time.Second).ShouldNot(ContainElement(ContainSubstring("oooi-acd")))
	return out
}

// ownedByNow expects that each object of oooi, except for Leases, is owned by the HostedControlPlane that exists now, or by an object that is.
func (s *stage) ownedByNow(t *testing.T) {
	t.Helper()
	g, h := NewWithT(t), s.hosted
	var now hyperv1.HostedControlPlane
	g.Expect(h.Client.Get(t.Context(), client.ObjectKey{Namespace: h.Namespace(), Name: h.Name}, &now)).To(Succeed())
	out, err := h.Cluster.Kubectl(t.Context(), "-n", h.Namespace(), "get", kinds, "-l", "app.kubernetes.io/part-of=oooi", "-o", "json")
	g.Expect(err).NotTo(HaveOccurred())
	var list struct{ Items []unstructured.Unstructured }
	g.Expect(json.Unmarshal(out, &list)).To(Succeed())
	g.Expect(list.Items).NotTo(BeEmpty())
	for _, u := range list.Items {
		if u.GetKind() == "Lease" { // Edges write them.
			continue
		}
		owner := meta.GetControllerOf(&u)
		if owners := u.GetOwnerReferences(); owner == nil && len(owners) > 0 {
			owner = &owners[0]
		}
		g.Expect(owner).NotTo(BeNil(), "%s %s", u.GetKind(), u.GetName())
		if owner.Kind == "HostedControlPlane" {
			g.Expect(owner.UID).To(Equal(now.UID), "%s %s", u.GetKind(), u.GetName())
		}
		g.Expect(u.GetLabels()).NotTo(HaveKey(velero.RestoreLabel), "%s %s", u.GetKind(), u.GetName())
	}
}

// A deploymentLog says in which order Deployments of oooi were created and became available.
type deploymentLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *deploymentLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.lines, line) {
		l.lines = append(l.lines, line)
	}
}

func (l *deploymentLog) read() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// checkedFirst expects that an address check passed before the edges of n were created.
func (l *deploymentLog) checkedFirst(t *testing.T, n network.Network) {
	t.Helper()
	g := NewWithT(t)
	check, edges := wire.ACDDeploymentName(n), []string{}
	for _, e := range n.Edges {
		edges = append(edges, "new "+wire.EdgeDeploymentName(n, e))
	}
	order := slices.DeleteFunc(l.read(), func(line string) bool { return strings.HasPrefix(line, "available ") && line != "available "+check })
	g.Expect(len(order)).To(BeNumerically(">", 2), "%v", order)
	g.Expect(order[:2]).To(Equal([]string{"new " + check, "available " + check}))
	g.Expect(order[2:]).To(ConsistOf(edges))
}

// logDeployments begins a deploymentLog, in a namespace that need not exist.
func (s *stage) logDeployments(t *testing.T) *deploymentLog {
	t.Helper()
	g := NewWithT(t)
	config, err := s.cluster.RESTConfig()
	g.Expect(err).NotTo(HaveOccurred())
	management, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	w, err := management.AppsV1().Deployments(s.hosted.Namespace()).Watch(t.Context(), meta.ListOptions{LabelSelector: "app.kubernetes.io/part-of=oooi"})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.Stop)
	log := &deploymentLog{}
	go func() {
		for event := range w.ResultChan() {
			d, ok := event.Object.(*apps.Deployment)
			if !ok {
				continue
			}
			if event.Type == watch.Added {
				log.add("new " + d.Name)
			}
			if Available(*d) {
				log.add("available " + d.Name)
			}
		}
	}()
	return log
}

// A staticHost is a host on the network with an address in the pool that DHCP did not assign.
type staticHost struct {
	station
	address netip.Addr
}

// plugStatic attaches a static host.
func (s *stage) plugStatic(t *testing.T) staticHost {
	t.Helper()
	g := NewWithT(t)
	h := staticHost{s.plug(t, "static"+s.hosted.Name, s.worker.VM.VLAN), s.network.DHCP.Range.Last}
	for h.address == s.worker.Lease.Address.Addr() || h.address == s.client.Address {
		h.address = h.address.Prev()
	}
	out, err := exec.CommandContext(t.Context(), "nsenter", "--net="+h.netNS, "--", "ip", "address", "add", h.address.String()+"/24", "dev", h.card).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	h.keeps(t)
	return h
}

// keeps expects that edges do not offer the host's address to a client that asks for it, but another that it asks for.
func (h staticHost) keeps(t *testing.T) {
	t.Helper()
	asking := func(wanted netip.Addr) func() ([]netip.Addr, error) {
		return func() ([]netip.Addr, error) {
			return Offered(t.Context(), h.netNS, h.card, []byte{2, 0, 0, 0, 0, 77}, wanted, 2*time.Second)
		}
	}
	g, free := NewWithT(t), h.address.Prev()
	g.Eventually(asking(free)).Should(HaveExactElements(free))
	g.Eventually(asking(h.address)).Should(And(HaveLen(1), Not(ContainElement(h.address))), "%s answers the probe", h.address)
}
