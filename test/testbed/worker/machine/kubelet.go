// This file decides how a node's container runtime and kubelet are set up inside a
// machine. It never says yes to a certificate request: package worker does.

package machine

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/containerd"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// Programs are where the node's programs lie on the host; all of them real.
type Programs struct {
	// Dir holds containerd, containerd-shim-runc-v2, runc, ctr and kubelet.
	Dir string
	// CNI holds the plugins bridge, host-local and loopback.
	CNI string
}

// Credentials are what a node's ignition payload brings it.
type Credentials struct {
	// BootstrapKubeconfig may ask for a certificate and no more.
	BootstrapKubeconfig []byte
	// ClientCA signs the certificates of the kubelet's clients, in PEM.
	ClientCA []byte
}

// podNetwork is the guest's pod network as far as it goes here: one bridge inside
// the machine.
const podNetwork = `{"cniVersion": "1.0.0", "name": "guest", "plugins": [
 {"type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true,
  "ipam": {"type": "host-local", "dataDir": "/run/machine/ipam", "ranges": [[{"subnet": "10.132.0.0/24"}]]}}]}
`

const runtimeSocket = "/run/containerd.sock"

// kubeletConfig has a cgroup root of its own, since the host runs another kubelet;
// all else is what a node of the hosted cluster has.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /%s
containerRuntimeEndpoint: unix://` + runtimeSocket + `
authentication:
  anonymous: {enabled: false}
  x509: {clientCAFile: /run/machine/kubelet-ca.crt}
  webhook: {enabled: true}
authorization: {mode: Webhook}
rotateCertificates: true
serverTLSBootstrap: true
providerID: %s
failSwapOn: false
podLogsDir: /run/machine/pods
volumePluginDir: /run/machine/volumes
resolvConf: /etc/resolv.conf
clusterDomain: cluster.local
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: "1%%", imagefs.available: "1%%"}
makeIPTablesUtilChains: false
nodeStatusReportFrequency: 10s
`

// StartRuntime starts containerd and imports the images, which are tars on the host.
func (m *Machine) StartRuntime(ctx context.Context, p Programs, images ...string) error {
	if _, err := m.WriteFile("net.d/10-guest.conflist", []byte(podNetwork), 0o644); err != nil {
		return err
	}
	config, err := m.WriteFile("containerd.toml", []byte(containerd.Paths{
		Root: stateMount + "/containerd", State: "/run/containerd", Socket: runtimeSocket,
		CNIBin: p.CNI, CNIConf: stateMount + "/net.d", Runc: filepath.Join(p.Dir, "runc"),
	}.Config()), 0o644)
	if err != nil {
		return err
	}
	path := "PATH=" + p.Dir + ":" + searchPath
	if err := m.Start("containerd", []string{path}, filepath.Join(p.Dir, "containerd"), "-c", config); err != nil {
		return err
	}
	ctr := filepath.Join(p.Dir, "ctr")
	var last error
	err = await.Poll(ctx, await.Patience, func() (bool, error) {
		_, last = m.Output(ctx, ctr, "-a", runtimeSocket, "version")
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("containerd: %w: %w", err, last)
	}
	for _, tar := range images {
		if _, err := m.Output(ctx, ctr, "-a", runtimeSocket, "-n", "k8s.io", "images", "import", tar); err != nil {
			return fmt.Errorf("image %s: %w", tar, err)
		}
	}
	return nil
}

// Pull has the machine's containerd pull an image by the program ctr, trusting the authority ca (PEM)
// alone for its registry.
func (m *Machine) Pull(ctx context.Context, ctr, image string, ca []byte) error {
	host, _, _ := strings.Cut(image, "/")
	authority, err := m.WriteFile(filepath.Join("registries", host, "ca.crt"), ca, 0o644)
	if err != nil {
		return err
	}
	hosts := fmt.Appendf(nil, "[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n  ca = %q\n", "https://"+host, authority)
	if _, err := m.WriteFile(filepath.Join("registries", host, "hosts.toml"), hosts, 0o644); err != nil {
		return err
	}
	_, err = m.Output(ctx, ctr, "-a", runtimeSocket, "-n", "k8s.io", "images", "pull", "--hosts-dir", stateMount+"/registries", image)
	return err
}

// StartKubelet starts the node. Its name is the machine's host name, which DHCP
// gave; provider is what the cloud controller would set ("kubevirt://<machine>").
func (m *Machine) StartKubelet(p Programs, c Credentials, address netip.Addr, provider string) error {
	if err := process.MakeCgroup(m.Name); err != nil {
		return err
	}
	if _, err := m.WriteFile("kubelet-ca.crt", c.ClientCA, 0o644); err != nil {
		return err
	}
	bootstrap, err := m.WriteFile("bootstrap.kubeconfig", c.BootstrapKubeconfig, 0o600)
	if err != nil {
		return err
	}
	config, err := m.WriteFile("kubelet.yaml", fmt.Appendf(nil, kubeletConfig, m.Name, provider), 0o644)
	if err != nil {
		return err
	}
	return m.Start("kubelet", []string{"PATH=" + p.Dir + ":" + searchPath}, filepath.Join(p.Dir, "kubelet"),
		"--config="+config, "--bootstrap-kubeconfig="+bootstrap, "--kubeconfig="+stateMount+"/kubeconfig",
		"--root-dir="+stateMount+"/kubelet", "--cert-dir="+stateMount+"/pki", "--node-ip="+address.String(),
		"--node-labels=node.openshift.io/os_id=rhcos", "--v=2")
}
