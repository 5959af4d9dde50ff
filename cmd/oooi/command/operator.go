// This file names parts of the operator's pod: its environment variables, and the Lease of the leader.

package command

// The environment of the operator's pod.
const (
	EnvNamespace      = "POD_NAMESPACE"
	EnvServiceAccount = "SERVICE_ACCOUNT"
	EnvEdgeImage      = "RELATED_IMAGE_EDGE"
	EnvEnvoyImage     = "RELATED_IMAGE_ENVOY"
)

// LeaderElectionID is the name of the leader's Lease in the operator's namespace.
const LeaderElectionID = "oooi.densityops.com"
