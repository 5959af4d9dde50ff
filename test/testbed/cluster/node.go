// This file starts the parts of one node: containerd, CNI, kubelet and kube-proxy. It uses only the address and the
// kubeconfigs of the control plane. File nodes.go decides which nodes there are.

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// A Node is a Kubernetes node, in the network namespace of its runtime.
type Node struct {
	Name    string  // of the Node object: "node" and its number
	IP      string  // on the LAN
	PodCIDR string  // of its pods
	Cgroup  string  // name of its cgroup root
	Runtime Runtime // its containerd; Runtime.Command runs a program on the node

	number  int
	cluster *Cluster
}

// startRuntime starts containerd with the node's CNI configuration.
func (n Node) startRuntime(ctx context.Context) error {
	if err := os.MkdirAll(n.Runtime.CNIConf, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.Runtime.CNIConf, "00-multus.conf"), n.cniConfig(), 0o644); err != nil {
		return err
	}
	return n.Runtime.Start(ctx)
}

// cniConfig returns the CNI configuration: Multus, which calls the plugin of the pod network. IP forwarding is on in the
// namespaces of pods, as on a node with IP forwarding whose runtime does not turn it off for pods.
func (n Node) cniConfig() []byte {
	const version = "0.4.0"
	podNetwork := map[string]any{
		"cniVersion": version,
		"name":       "pods",
		"plugins": []any{
			map[string]any{
				"type": "bridge", "bridge": podBridge, "isGateway": true, "isDefaultGateway": true, "hairpinMode": true,
				"ipam": map[string]any{
					"type": "host-local", "dataDir": filepath.Join(n.Runtime.Dir, "ipam"),
					"ranges": []any{[]any{map[string]any{"subnet": n.PodCIDR}}},
				},
			},
			map[string]any{"type": "tuning", "sysctl": map[string]any{"net.ipv4.conf.all.forwarding": "1"}},
			map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}},
		},
	}
	config, err := json.MarshalIndent(map[string]any{
		"cniVersion":   version,
		"name":         "multus-cni-network",
		"type":         "multus",
		"capabilities": map[string]any{"portMappings": true, "ips": true},
		"kubeconfig":   n.cluster.pki("multus.kubeconfig"),
		"cniDir":       filepath.Join(n.Runtime.Dir, "multus"),
		"binDir":       n.Runtime.CNIBin,
		"logFile":      filepath.Join(n.Runtime.Dir, "log", "multus.log"),
		"logLevel":     "verbose",
		"delegates":    []any{podNetwork},
	}, "", "  ")
	if err != nil {
		panic(err) // Never: there are only strings and booleans.
	}
	return config
}

// podBridge is the bridge of the pods of one node.
const podBridge = "cni0"

// masquerade replaces the source address of packets from pods to hosts that are not pods by the node's address.
const masquerade = `table ip testbed {
	chain postrouting {
		type nat hook postrouting priority srcnat;
		ip saddr ` + ClusterCIDR + ` ip daddr != { ` + ClusterCIDR + `, 224.0.0.0/4 } masquerade
	}
}`

// makePodNetwork creates the bridge before the bridge plugin does, so that kube-proxy's rules also apply to packets between
// two pods of the node.
func (n Node) makePodNetwork() error {
	inside := []string{"--net=" + n.Runtime.NetNS}
	for _, do := range []struct {
		stdin string
		argv  []string
	}{
		{"", []string{"ip", "link", "add", podBridge, "type", "bridge", "nf_call_iptables", "1"}},
		{masquerade, []string{"nft", "-f", "-"}},
	} {
		cmd := n.cluster.enter(context.Background(), inside, do.argv[0], do.argv[1:])
		cmd.Stdin = strings.NewReader(do.stdin)
		if _, err := host.Output(cmd); err != nil {
			return err
		}
	}
	return nil
}

// startAgents starts kubelet and kube-proxy. containerd must be running.
func (n Node) startAgents() error {
	if err := process.MakeCgroup(n.Cgroup); err != nil {
		return err
	}
	for file, config := range map[string]any{
		"kubelet.yaml":    n.kubeletConfig(),
		"kube-proxy.yaml": n.proxyConfig(),
		"resolv.conf":     nil, // Pods with dnsPolicy Default have no resolver.
	} {
		text, err := yaml.Marshal(config)
		if err != nil {
			return err
		}
		if config == nil {
			text = nil
		}
		if err := os.WriteFile(filepath.Join(n.Runtime.Dir, file), text, 0o644); err != nil {
			return err
		}
	}
	c, dir := n.cluster, n.Runtime.Dir
	for _, d := range []process.Daemon{
		{Name: "kubelet", MountNS: n.Runtime.MountNS(), Args: []string{c.Bin("kubelet"),
			"--config=" + filepath.Join(dir, "kubelet.yaml"),
			"--kubeconfig=" + c.pki("kubelet-"+n.Name+".kubeconfig"),
			"--root-dir=" + filepath.Join(dir, "kubelet"),
			"--cert-dir=" + filepath.Join(dir, "kubelet-pki"),
			"--hostname-override=" + n.Name,
			"--node-ip=" + n.IP,
		}},
		{Name: "kube-proxy", MountNS: n.Runtime.MountNS(), Args: []string{c.Bin("kube-proxy"), "--config=" + filepath.Join(dir, "kube-proxy.yaml")}},
	} {
		d.Dir, d.NetNS = dir, n.Runtime.NetNS
		if _, err := c.Start(d); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) kubeletConfig() map[string]any {
	in := func(name string) string { return filepath.Join(n.Runtime.Dir, name) }
	return map[string]any{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"failCgroupV1":             false,
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               "/" + n.Cgroup,
		"containerRuntimeEndpoint": "unix://" + n.Runtime.Socket(),
		"maxPods":                  MaxPods,
		"podLogsDir":               in("podlogs"),
		"volumePluginDir":          in("plugins"),
		"resolvConf":               in("resolv.conf"),
		"clusterDNS":               []string{ClusterDNS},
		"clusterDomain":            "cluster.local",
		"tlsCertFile":              n.cluster.pki("kubelet-serving-" + n.Name + ".crt"),
		"tlsPrivateKeyFile":        n.cluster.pki("kubelet-serving-" + n.Name + ".key"),
		"failSwapOn":               false,
		"makeIPTablesUtilChains":   false,
		// On a busy host, the controllers of a hosted control plane lose their Leases and end. With the default of five minutes
		// until a restart, a worker would wait that long for its certificate.
		"crashLoopBackOff":            map[string]any{"maxContainerRestartPeriod": "10s"},
		"imageGCHighThresholdPercent": 100, // Images are imported, and kubelet cannot pull them again.
		"evictionHard":                map[string]any{"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
		"authorization":               map[string]any{"mode": "Webhook"},
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": n.cluster.pki("ca.crt")},
		},
	}
}

// proxyConfig returns kube-proxy's configuration. It does not set the limits of connection tracking, which is possible only
// in the host's initial network namespace.
func (n Node) proxyConfig() map[string]any {
	return map[string]any{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"mode":               "nftables",
		"clientConnection":   map[string]any{"kubeconfig": n.cluster.pki("kube-proxy.kubeconfig")},
		"clusterCIDR":        ClusterCIDR,
		"hostnameOverride":   n.Name,
		"metricsBindAddress": "127.0.0.1:10249",
		"healthzBindAddress": "127.0.0.1:10256",
		"conntrack":          map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
	}
}

// ready returns a function that fails unless the node is Ready in the API.
func (n Node) ready(client kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		object, err := client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range object.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("node " + n.Name + " is not Ready")
	}
}

// daemons returns the names of the node's processes.
func (n Node) daemons() []string { return []string{"containerd", "kubelet", "kube-proxy", netpold} }

// daemonSetReady returns a function that fails unless a DaemonSet has ready pods on so many nodes.
func daemonSetReady(client kubernetes.Interface, namespace, name string, nodes int) func(context.Context) error {
	return func(ctx context.Context) error {
		d, err := client.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ObservedGeneration < d.Generation || int(d.Status.NumberReady) < nodes {
			return fmt.Errorf("daemon set %s/%s is ready on %d of %d nodes", namespace, name, d.Status.NumberReady, nodes)
		}
		return nil
	}
}
