// This file has clients for the API server of a hosted cluster. It applies what the cluster version operator and the ingress operator would apply
// there. Everything else is done by the hosted cluster's own operators.
package hypershift

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

// guestCRDs lists the files of CRDs that a hosted OpenShift cluster has, one a line.
//
//go:embed guest-crds.txt
var guestCRDs string

// hostedIngress is the Service that the ingress operator creates if its router is published at node ports, as on KubeVirt. No router is
// behind it. HyperShift reads the port from it.
//
//go:embed manifests/guest-ingress.yaml
var hostedIngress []byte

// guestNamespaces lists the namespaces that the cluster version operator creates. The hosted cluster's configuration operator writes into them.
//
//go:embed guest-namespaces.txt
var guestNamespaces string

// GuestKubeconfig returns the administrator's kubeconfig of a hosted cluster, as HyperShift wrote it, with one change. A published host name does
// not resolve here, so it is replaced by the address of the Service. The server can be reached only inside the testbed's network namespace.
func (h *HyperShift) GuestKubeconfig(ctx context.Context, name string) ([]byte, error) {
	var s corev1.Secret
	if err := h.client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name + "-admin-kubeconfig"}, &s); err != nil {
		return nil, err
	}
	config, err := clientcmd.Load(s.Data["kubeconfig"])
	if err != nil {
		return nil, err
	}
	for _, c := range config.Clusters {
		if err := h.resolve(ctx, name, c); err != nil {
			return nil, err
		}
	}
	return clientcmd.Write(*config)
}

// resolve replaces a host name in c.Server by an address, and sets the name as the TLS server name.
func (h *HyperShift) resolve(ctx context.Context, name string, c *clientcmdapi.Cluster) error {
	server, err := url.Parse(c.Server)
	if err != nil {
		return err
	}
	if _, err := netip.ParseAddr(server.Hostname()); err == nil {
		return nil
	}
	service := "kube-apiserver"
	if server.Port() == "443" {
		service = "router"
	}
	var s corev1.Service
	if err := h.client.Get(ctx, client.ObjectKey{Namespace: ControlPlaneNamespace(name), Name: service}, &s); err != nil {
		return err
	}
	if len(s.Status.LoadBalancer.Ingress) == 0 {
		return fmt.Errorf("service %s of %s has no address yet", service, name)
	}
	c.TLSServerName = server.Hostname()
	server.Host = net.JoinHostPort(s.Status.LoadBalancer.Ingress[0].IP, server.Port())
	c.Server = server.String()
	return nil
}

// GuestRESTConfig returns the administrator's configuration of clients for a hosted cluster. It works from the host's network namespace.
func (h *HyperShift) GuestRESTConfig(ctx context.Context, name string) (*rest.Config, error) {
	kubeconfig, err := h.GuestKubeconfig(ctx, name)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Dial = lan.DialNetNS(h.cluster.NetNS())
	config.QPS, config.Burst = 200, 400
	return config, nil
}

// GuestKubectl runs kubectl as the administrator of a hosted cluster, and returns its standard output. An error contains its standard error.
func (h *HyperShift) GuestKubectl(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd, err := h.guestKubectl(ctx, name, args...)
	if err != nil {
		return nil, err
	}
	return h.run(cmd)
}

func (h *HyperShift) guestKubectl(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	kubeconfig, err := h.GuestKubeconfig(ctx, name)
	if err != nil {
		return nil, err
	}
	file := h.path("guests", name+".kubeconfig")
	if err := write(file, kubeconfig); err != nil {
		return nil, err
	}
	return h.cluster.Command(ctx, h.cluster.Bin("kubectl"), append([]string{"--kubeconfig", file}, args...)...), nil
}

func (h *HyperShift) guestApply(ctx context.Context, name string, manifest []byte) error {
	cmd, err := h.guestKubectl(ctx, name, "apply", "--server-side", "--force-conflicts", "--validate=false", "-f", "-")
	if err != nil {
		return err
	}
	cmd.Stdin = bytes.NewReader(manifest)
	_, err = h.run(cmd)
	return err
}

// BootstrapGuest applies what the cluster version operator would in a hosted cluster: CRDs, empty configuration, namespaces, and the router's
// Service. It returns when the hosted cluster's configuration operator has created the DaemonSet of the konnectivity agent, the last object that
// a worker needs.
func (h *HyperShift) BootstrapGuest(ctx context.Context, name string) error {
	apis, err := build.ModuleSource(ctx, "hypershift", "github.com/openshift/api")
	if err != nil {
		return err
	}
	crds, err := crdFiles(apis, strings.Fields(guestCRDs))
	if err != nil {
		return err
	}
	foreign, err := foreignCRDs()
	if err != nil {
		return err
	}
	config, err := emptyConfig(apis)
	if err != nil {
		return err
	}
	var namespaces []any
	for _, n := range strings.Fields(guestNamespaces) {
		namespaces = append(namespaces, values{"apiVersion": "v1", "kind": "Namespace", "metadata": values{"name": n}})
	}
	first, err := documents(namespaces...)
	if err != nil {
		return err
	}
	err = poll(ctx, await.Patience, name+"'s API server", func(ctx context.Context) (bool, error) {
		return h.guestHas(ctx, name, "/apis/config.openshift.io/v1/featuregates") // The last step of the API server's bootstrap creates this CRD.
	})
	if err != nil {
		return err
	}
	h.say("%s: its API server serves", name)
	for _, manifest := range [][]byte{first, bytes.Join([][]byte{crds, foreign}, []byte("\n---\n")), bytes.Join([][]byte{config, hostedIngress}, []byte("\n---\n"))} {
		var last error
		err := wait.PollUntilContextTimeout(ctx, 3*time.Second, await.Patience, true, func(ctx context.Context) (bool, error) {
			last = h.guestApply(ctx, name, manifest) // It may fail at first: new CRDs are served later.
			return last == nil, nil
		})
		if err != nil {
			return errors.Join(err, last)
		}
	}
	h.say("%s: OpenShift's CRDs and configuration", name)
	err = poll(ctx, await.Patience, name+" to have a konnectivity agent", func(ctx context.Context) (bool, error) {
		return h.guestHas(ctx, name, "/apis/apps/v1/namespaces/kube-system/daemonsets/konnectivity-agent")
	})
	if err == nil {
		h.say("%s: konnectivity agent's DaemonSet", name)
	}
	return err
}

// guestHas reports whether a GET of path succeeds at the API server of a hosted cluster.
func (h *HyperShift) guestHas(ctx context.Context, name, path string) (bool, error) {
	config, err := h.GuestRESTConfig(ctx, name)
	if err != nil {
		return false, err
	}
	config.Timeout = 15 * time.Second // A request that hangs is sent again.
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, err
	}
	_, err = c.RESTClient().Get().AbsPath(path).DoRaw(ctx)
	return err == nil, err
}

// emptyConfig returns the empty configuration resources of a release, as YAML documents.
func emptyConfig(apis string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(apis, "payload-command/empty-resources/*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no empty resources in %s: %w", apis, err)
	}
	var docs [][]byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		docs = append(docs, b)
	}
	return bytes.Join(docs, []byte("\n---\n")), nil
}
