// This file holds the inside of an edge's pod: containers, paths and sockets.

package wire

import "path/filepath"

// The programs of a pod beside those that network.Service names (dhcp, dns, proxy).
// Each is a container, a socket and a word of a command.
const (
	// Failover is the failover agent.
	Failover = "failover"
	// ACD is the address conflict detection.
	ACD = "acd"
	// Envoy is the proxy's data path. It has no socket of ours.
	Envoy = "envoy"
)

const (
	// Device is the interface on the network.
	Device = "net1"
	// RunDir holds the sockets, and what is remembered while the pod runs.
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

// HeartbeatPort is the UDP port of the edge addresses that heartbeats go from and
// to.
const HeartbeatPort = 7788

// Socket is where the named program answers HTTP in runDir.
func Socket(runDir, program string) string { return filepath.Join(runDir, program+".sock") }

// ProbeCommand is what a kubelet runs to ask whether the named program is ready.
func ProbeCommand(program string) []string {
	return []string{"oooi", "edge", "probe", program, "--run-dir", RunDir}
}

// Command is the arguments that start the named program: dhcp, dns and proxy are
// commands that users run too, the others are for containers only.
func Command(program string) []string {
	if program == Failover || program == ACD {
		return []string{"edge", program}
	}
	return []string{program}
}
