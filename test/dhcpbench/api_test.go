// This file starts an API server with the VMs of the farm, and our server as an edge's container.

package dhcpbench

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/containers"
	"github.com/cldmnky/oooi/test/netns"
)

const (
	namespace        = "clusters-amber"
	apiHost, apiPort = "10.9.0.1", "6443"
)

// startAPI starts a real API server, which knows all VMs of the farm that take part. The result runs our server
// as a container does: with a token, and without capabilities.
func startAPI(t *testing.T, clients int) func(t *testing.T, dir string, edge *netns.Namespace) ([]string, []string) {
	t.Helper()
	g := NewWithT(t)
	t.Setenv("KUBEBUILDER_CONTROLPLANE_START_TIMEOUT", "2m")
	text, err := os.ReadFile(planFile(t, t.TempDir()))
	g.Expect(err).NotTo(HaveOccurred())
	plan := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wire.PlanConfigMap}, Data: map[string]string{wire.PlanKey: string(text)}}
	admin, edges := apiserver.ForEdges(t, namespace, plan)
	var creating errgroup.Group
	creating.SetLimit(16)
	for i := range clients {
		creating.Go(func() error { return admin.Create(t.Context(), vm(i)) })
	}
	for i := probers; i < clientsOfFarm; i++ {
		creating.Go(func() error { return admin.Create(t.Context(), vm(i)) })
	}
	g.Expect(creating.Wait()).To(Succeed())

	pods, api := netns.NewSegment(t), netns.New(t)
	pods.Attach(t, api, "eth0", "", apiHost+"/16")
	secrets := apiserver.ServePods(t, api, edges, namespace, apiHost, apiPort)
	address := netip.MustParseAddr("10.9.1.0")
	return func(t *testing.T, dir string, edge *netns.Namespace) ([]string, []string) {
		address = address.Next()
		pods.Attach(t, edge, "eth0", "", address.String()+"/16")
		for _, device := range []string{"net1", "eth0"} {
			edge.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", "0")
		}
		edge.Route(t, "0.0.0.0/0", apiHost)
		services := []network.Service{network.ServiceDHCP, network.ServiceDNS}
		program := os.Getenv(ourProgram)
		run := filepath.Join(dir, "run")
		if err := os.Mkdir(run, 0o755); err != nil {
			t.Fatal(err)
		}
		pod := containers.NewPod(t, run, program, os.Getuid(), services, secrets)
		args := ours(t, edge, append([]string{"--plan", planFile(t, dir), "--network", networkName, "--edge", "1", "--interface", "net1",
			"--run-dir", wire.RunDir}, wire.WatchArguments(services, "dhcp")...)...)
		return append([]string{"unshare", "--mount", "sh", "-c", pod.Mounts("dhcp") + ` && exec "$@"`, "-"}, args...),
			[]string{"KUBERNETES_SERVICE_HOST=" + apiHost, "KUBERNETES_SERVICE_PORT=" + apiPort}
	}
}

// vm is a VirtualMachineInstance with the MAC of client i.
func vm(i int) client.Object {
	mac := MAC(i)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
		"metadata": map[string]any{"namespace": namespace, "name": "amber-" + strconv.Itoa(i)},
		"spec": map[string]any{"domain": map[string]any{"devices": map[string]any{"interfaces": []any{
			map[string]any{"name": "vlan", "macAddress": net.HardwareAddr(mac[:]).String()},
		}}}},
	}}
}
