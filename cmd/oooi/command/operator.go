// This file has the names of the environment variables of the operator's pod, and of its Lease for leader election.

package command

// The environment variables of the operator's pod: its namespace, its ServiceAccount, and the images that edges run.
const (
	EnvNamespace      = "POD_NAMESPACE"
	EnvServiceAccount = "SERVICE_ACCOUNT"
	EnvEdgeImage      = "RELATED_IMAGE_EDGE"
	EnvEnvoyImage     = "RELATED_IMAGE_ENVOY"
)

// LeaderElectionID is the name of the leader's Lease in the operator's namespace.
const LeaderElectionID = "oooi.densityops.com"
