// This file starts a node's container runtime and kubelet on a machine. Package worker approves the kubelet's certificates.

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

// Programs are the directories on the host with the node's programs.
type Programs struct {
	// Dir contains containerd, containerd-shim-runc-v2, runc, ctr and kubelet.
	Dir string
	// CNI contains the plugins bridge, host-local and loopback.
	CNI string
}

// podNetwork is the CNI configuration of the hosted cluster's pod network. Here, it is only a bridge inside the machine.
const podNetwork = `{"cniVersion": "1.0.0", "name": "guest", "plugins": [
 {"type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true,
  "ipam": {"type": "host-local", "dataDir": "/run/machine/ipam", "ranges": [[{"subnet": "10.132.0.0/24"}]]}}]}
`

const runtimeSocket = "/run/containerd.sock"

// kubeletConfig is the configuration of a node of the hosted cluster, except for the cgroup root: another kubelet runs on this host.
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

// StartRuntime starts containerd, and imports images, the paths of tar archives on the host.
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

// Pull pulls an image into the machine's containerd. ctr is the path of the program. It trusts only ca, in PEM, for the registry.
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

// StartKubelet starts the node with the credentials in files. Its name is the host name of the machine, which is from DHCP. provider is
// the provider ID that a cloud controller would set ("kubevirt://<machine>").
func (m *Machine) StartKubelet(p Programs, files Payload, address netip.Addr, provider string) error {
	if err := process.MakeCgroup(m.Name); err != nil {
		return err
	}
	if _, err := m.WriteFile("kubelet-ca.crt", files[ClientCA], 0o644); err != nil {
		return err
	}
	bootstrap, err := m.WriteFile("bootstrap.kubeconfig", files[BootstrapKubeconfig], 0o600)
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
