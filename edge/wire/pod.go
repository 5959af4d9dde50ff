// This file holds the names inside an edge's pod: containers, paths and sockets.

package wire

// The programs of a pod in addition to those of network.Service (dhcp, dns, proxy). Each
// is a container, a socket and a subcommand.
const (
	// Failover is the failover agent.
	Failover = "failover"
	// ACD is the address conflict detection.
	ACD = "acd"
	// Envoy is the proxy's data path. Its sockets are in package envoy.
	Envoy = "envoy"
)

const (
	// Device is the interface on the network.
	Device = "net1"
	// VIPDevice is the interface without a link that holds the VIPs and the published
	// addresses, where Device holds the edge address only.
	VIPDevice = "vips"
	// RunDir holds one directory for each program that writes sockets and files, for as long as
	// the pod runs. See RunMounts.
	RunDir = "/run/oooi"
	// PlanFile is the mounted plan, in PlanDir.
	PlanDir  = "/etc/oooi"
	PlanFile = PlanDir + "/" + PlanKey
	// PodinfoDir holds the pod's annotations, in PodinfoAnnotations.
	PodinfoDir         = "/etc/podinfo"
	PodinfoAnnotations = "annotations"
	// TokenDir holds the ServiceAccount's token, in the place that clients expect.
	TokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// HeartbeatPort is the UDP source and destination port of heartbeats: between the edge
// addresses on the network, and between the pods' addresses on the cluster network.
const HeartbeatPort = 7788

// ProbeCommand returns the command of the kubelet's readiness probe of the named program.
func ProbeCommand(program string) []string {
	return []string{"oooi", "edge", "probe", program, "--run-dir", RunDir}
}

// Command returns the arguments that start the named program. Users run dhcp, dns and
// proxy too; the other commands are for containers only.
func Command(program string) []string {
	if program == Failover || program == ACD {
		return []string{"edge", program}
	}
	return []string{program}
}
