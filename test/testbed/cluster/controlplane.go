// This file has the processes of the control plane and their flags.

package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/test/testbed/process"
)

// controlPlane returns the daemons of the control plane, in the order in which they are started.
func (c *Cluster) controlPlane() []process.Daemon {
	return []process.Daemon{
		c.daemon("etcd", c.etcdFlags()),
		c.daemon("kube-apiserver", c.apiServerFlags()),
		c.daemon("kube-controller-manager", c.controllerManagerFlags()),
		c.daemon("kube-scheduler", c.schedulerFlags()),
	}
}

func (c *Cluster) daemon(name string, flags []string) process.Daemon {
	return process.Daemon{Name: name, Dir: c.Dir, NetNS: c.NetNS(), Args: append([]string{c.Bin(name)}, flags...)}
}

// etcdFlags returns the flags of etcd. It runs without fsync, because its data is removed together with the cluster.
func (c *Cluster) etcdFlags() []string {
	return []string{
		"--data-dir=" + filepath.Join(c.Dir, "etcd"),
		"--listen-client-urls=http://127.0.0.1:2379",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (c *Cluster) apiServerFlags() []string {
	return []string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address=" + NodeIP,
		"--bind-address=0.0.0.0",
		fmt.Sprintf("--secure-port=%d", APIServerPort),
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement", // the latter as OpenShift
		"--service-cluster-ip-range=" + ServiceCIDR,
		"--client-ca-file=" + c.pki("ca.crt"),
		"--tls-cert-file=" + c.pki("apiserver.crt"),
		"--tls-private-key-file=" + c.pki("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki("sa.pub"),
		"--service-account-signing-key-file=" + c.pki("sa.key"),
		"--kubelet-certificate-authority=" + c.pki("ca.crt"),
		"--kubelet-client-certificate=" + c.pki("kubelet-client.crt"),
		"--kubelet-client-key=" + c.pki("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + c.pki("ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + c.pki("front-proxy.crt"),
		"--proxy-client-key-file=" + c.pki("front-proxy.key"),
	}
}

func (c *Cluster) controllerManagerFlags() []string {
	return append(c.clientFlags("kcm"),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+c.pki("sa.key"),
		"--root-ca-file="+c.pki("ca.crt"),
		"--cluster-signing-cert-file="+c.pki("ca.crt"),
		"--cluster-signing-key-file="+c.pki("ca.key"),
		"--controllers=*,-nodeipam,-route,-cloud-node-lifecycle", // host-local assigns the addresses of pods
		"--kube-api-qps=500", "--kube-api-burst=1000",            // each controller first requests a token of its own
	)
}

func (c *Cluster) schedulerFlags() []string { return c.clientFlags("scheduler") }

func (c *Cluster) clientFlags(user string) []string {
	kubeconfig := c.pki(user + ".kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
	}
}

// apiReady returns a function that fails unless the API server is ready.
func apiReady(client kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
}
