// This file shows split horizon's other half: a pod of the management cluster resolves the published name of a hosted
// API server by the cluster's own DNS, and reaches it there. VMs resolve the same name to the service VIP.

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// testPodNames asks in a pod of another namespace.
func testPodNames(t *testing.T, b bed, h Hosted) {
	g := NewWithT(t)
	api, kas, edges := testNameAtEdges(t, b, h)
	before, err := edgesOf(t.Context(), h)
	g.Expect(err).NotTo(HaveOccurred())
	testNameInCluster(t, b, h, api, kas, edges)
	g.Expect(edgesOf(t.Context(), h)).To(Equal(before), "no edge was recreated")
}

// testNameAtEdges asks the edges themselves, in a pod of the DNS namespace, and expects that no edge was recreated for it. The hosted
// cluster publishes its API server by name, at the port of its Service. It returns the name, the Service and where the edges answer.
func testNameAtEdges(t *testing.T, b bed, h Hosted) (api network.Record, kas core.Service, server string) {
	t.Helper()
	g := NewWithT(t)
	before, err := edgesOf(t.Context(), h)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.Set(t.Context(), map[string]string{"management-dns": "serve"})).To(Succeed())
	var service core.Service
	g.Eventually(func() error {
		return h.Client.Get(t.Context(), client.ObjectKey{Namespace: h.Namespace(), Name: wire.PodDNSService}, &service)
	}).Should(Succeed())
	var plan network.Plan
	g.Eventually(func() (bool, error) {
		plan, err = h.Plan(t.Context())
		return plan.AnswersPods(), err
	}).Should(BeTrue())
	view := plan.Networks[0].DNS.Pods
	i := slices.IndexFunc(view.Records, func(r network.Record) bool { return strings.HasPrefix(r.Name, "api.") })
	g.Expect(i).To(BeNumerically(">=", 0), "the API server's name is in the view: %v", view)
	api = view.Records[i]
	g.Expect(h.Client.Get(t.Context(), client.ObjectKey{Namespace: h.Namespace(), Name: network.APIService}, &kas)).To(Succeed())
	g.Expect(api.Addresses).To(Equal([]netip.Addr{netip.MustParseAddr(kas.Spec.ClusterIP)}))

	edges := resolverIn(b.asker(t, "kube-system", "resolves-"+h.Name), service.Spec.ClusterIP)
	for _, protocol := range []string{"udp", "tcp"} {
		g.Eventually(func() ([]netip.Addr, error) { return edges(protocol).LookupNetIP(t.Context(), "ip4", api.Name+".") }).
			WithPolling(time.Second).Should(Equal(api.Addresses), "%s, at the edges themselves", protocol)
	}
	_, err = edges("udp").LookupNetIP(t.Context(), "ip4", "oauth"+strings.TrimPrefix(api.Name, "api")+".")
	g.Expect(err).To(HaveOccurred(), "its Service has another port")
	g.Expect(err).NotTo(HaveField("IsNotFound", BeTrue()), "a refusal is no denial")

	g.Expect(edgesOf(t.Context(), h)).To(Equal(before), "no edge was recreated")
	return api, kas, service.Spec.ClusterIP
}

// testNameInCluster has the cluster's DNS ask the edges, and opens a connection to the API server by its name.
func testNameInCluster(t *testing.T, b bed, h Hosted, api network.Record, kas core.Service, server string) {
	t.Helper()
	g := NewWithT(t)
	b.stub(t, api.Name, server)
	pod := b.asker(t, "default", "asks-"+h.Name)
	var clusterDNS core.Service
	g.Expect(h.Client.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, &clusterDNS)).To(Succeed())
	resolver := resolverIn(pod, clusterDNS.Spec.ClusterIP)("udp")
	g.Eventually(func() ([]netip.Addr, error) { return resolver.LookupNetIP(t.Context(), "ip4", api.Name+".") }).
		WithPolling(2*time.Second).Should(Equal(api.Addresses), "through the cluster's DNS, once the kubelet updated its file")
	g.Expect(resolver.LookupNetIP(t.Context(), "ip4", "kubernetes.default.svc.cluster.local.")).NotTo(BeEmpty(), "which answers as before")

	config, err := b.hypershift.GuestRESTConfig(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	version, err := serverVersion(config, fmt.Sprintf("%s:%d", api.Name, kas.Spec.Ports[0].Port), func(ctx context.Context, at string) (net.Conn, error) {
		name, port, err := net.SplitHostPort(at)
		if err != nil {
			return nil, err
		}
		addresses, err := resolver.LookupNetIP(ctx, "ip4", name+".")
		if err != nil {
			return nil, err
		}
		return lan.DialNetNS(pod)(ctx, "tcp", net.JoinHostPort(addresses[0].String(), port))
	})
	g.Expect(err).NotTo(HaveOccurred(), "by its published name and port, with its own CA")
	t.Logf("%s is %s in pods, and answers as %s", api.Name, api.Addresses, version)
}

// edgesOf are the UIDs of the edges' pods.
func edgesOf(ctx context.Context, h Hosted) ([]string, error) {
	var list core.PodList
	err := h.Client.List(ctx, &list, client.InNamespace(h.Namespace()), ourOwn("oooi-edge"))
	var out []string
	for _, p := range list.Items {
		out = append(out, string(p.UID))
	}
	slices.Sort(out)
	return out, err
}

// asker runs a pod on the first node, and returns the path of its network namespace.
func (b bed) asker(t *testing.T, namespace, name string) string {
	t.Helper()
	g := NewWithT(t)
	h := b.hosted(t, name)
	pod := &core.Pod{
		ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: name},
		Spec: core.PodSpec{
			NodeName:                      b.cluster.Nodes()[0].Name,
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []core.Container{{Name: "pause", Image: "localhost/pause:1", ImagePullPolicy: core.PullNever}},
		},
	}
	// A namespace that is new has no ServiceAccount yet.
	g.Eventually(func() error { return client.IgnoreAlreadyExists(h.Client.Create(t.Context(), pod)) }).Should(Succeed())
	t.Cleanup(func() { _ = h.Client.Delete(context.WithoutCancel(t.Context()), pod) })
	g.Eventually(func() (core.PodPhase, error) {
		err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
		return pod.Status.Phase, err
	}).Should(Equal(core.PodRunning))
	processes := process.ContainerProcesses(string(pod.UID))
	g.Expect(processes).NotTo(BeEmpty())
	return fmt.Sprintf("/proc/%d/ns/net", processes[0])
}

// resolverIn asks server from inside a network namespace, by udp or tcp.
func resolverIn(path, server string) func(protocol string) *net.Resolver {
	return func(protocol string) *net.Resolver {
		return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return lan.DialNetNS(path)(ctx, protocol, net.JoinHostPort(server, "53"))
		}}
	}
}

// stub has the cluster's DNS ask server for one name, as docs/management-access.md says. It reloads its file by itself.
func (b bed) stub(t *testing.T, name, server string) {
	t.Helper()
	g := NewWithT(t)
	h := b.hosted(t, name)
	change := func(ctx context.Context, with func(string) string) error {
		var file core.ConfigMap
		if err := h.Client.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "coredns"}, &file); err != nil {
			return err
		}
		file.Data["Corefile"] = with(file.Data["Corefile"])
		return h.Client.Update(ctx, &file)
	}
	block := fmt.Sprintf("\n%s:53 {\n  errors\n  forward . %s\n}\n", name, server)
	g.Expect(change(t.Context(), func(is string) string { return is + block })).To(Succeed())
	t.Cleanup(func() {
		_ = change(context.WithoutCancel(t.Context()), func(is string) string { return strings.ReplaceAll(is, block, "") })
	})
}

// serverVersion asks an API server at its name and port for its version. It believes the certificate authority of
// config for that name only.
func serverVersion(config *rest.Config, at string, dial func(ctx context.Context, at string) (net.Conn, error)) (string, error) {
	c := rest.CopyConfig(config)
	c.Host, c.ServerName = "https://"+at, ""
	c.Dial = func(ctx context.Context, _, at string) (net.Conn, error) { return dial(ctx, at) }
	guest, err := kubernetes.NewForConfig(c)
	if err != nil {
		return "", err
	}
	version, err := guest.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}
