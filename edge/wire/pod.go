// This file holds the names inside an edge's pod: containers, paths and sockets.

package wire

import "github.com/cldmnky/oooi/network"

// The programs of a pod besides those of network.Service. Each is a container, a socket and a subcommand.
const (
	// Failover is the failover agent.
	Failover = "failover"
	// ACD is the address conflict detection.
	ACD = "acd"
	// Try tests a network as a VM would (NameTry).
	Try = "try"
	// Access is the access proxy, through which pods of the management cluster reach the destinations that a network
	// opens (network.Access).
	Access = "access"
	// Envoy is the proxy's data path. Its sockets are in package envoy/resources.
	Envoy = "envoy"
)

const (
	// Device is the interface on the network.
	Device = "net1"
	// LinkDevice is the interface below Device, without addresses, where the network itself would answer ARP requests for
	// the addresses of an edge (network.Attachment.AboveNAD).
	LinkDevice = "link1"
	// VIPDevice is the interface without a link for the VIPs and the published addresses, where Device has only the edge
	// address.
	VIPDevice = "vips"
	// ManagementDevice is the interface on the pod network.
	ManagementDevice = "eth0"
	// RunDir holds one directory for each program that writes sockets and files, until the pod ends. See RunMounts.
	RunDir = "/run/oooi"
	// PlanFile is the mounted plan, in PlanDir.
	PlanDir  = "/etc/oooi"
	PlanFile = PlanDir + "/" + PlanKey
	// PodinfoDir holds the pod's annotations, in PodinfoAnnotations.
	PodinfoDir         = "/etc/podinfo"
	PodinfoAnnotations = "annotations"
	// TokenDir holds the ServiceAccount's token, in the place that clients expect.
	TokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	// ResolvConf names the pod's resolvers, as the kubelet wrote it.
	ResolvConf = "/etc/resolv.conf"
	// APIServerVariable is the environment variable that has the address of the API server.
	APIServerVariable = "KUBERNETES_SERVICE_HOST"
	// NodeVariable has the name of the node, in the container that writes the report of the edge.
	NodeVariable = "NODE_NAME"
	// HostVariable has the address of the node, in a pod that tests a network (Try).
	HostVariable = "HOST_IP"
)

// HeartbeatPort is the UDP source and destination port of heartbeats, on the network and on the cluster network.
const HeartbeatPort = network.HeartbeatPort

// PodDNSPort is the port, UDP and TCP, at which container dns answers pods of the management cluster, on the cluster
// network. Service PodDNSService leaves out the pods of a release without these names.
const (
	PodDNSPort    = network.PodDNSPort
	PodDNSPortUDP = "pod-dns"
	PodDNSPortTCP = "pod-dns-tcp"
)

// AccessPortName is the name of network.AccessPort in a pod, in container access.
const AccessPortName = "access"

// MetricsPortName is the name of the port of metrics in a pod, in container failover.
const MetricsPortName = "metrics"

// Program is the entrypoint of the edges' image, in its PATH. Each container runs the subcommand of its name.
const Program = "oooi-edge"

// ProbeCommand returns the command of the kubelet's readiness probe of the named program.
func ProbeCommand(program string) []string {
	return []string{Program, "probe", program, "--run-dir", RunDir}
}
