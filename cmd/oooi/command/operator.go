// This file names what the operator's pod has: its environment, and the Lease of the pod that leads.

package command

// The environment of the operator's pod.
const (
	EnvNamespace      = "POD_NAMESPACE"
	EnvServiceAccount = "SERVICE_ACCOUNT"
	EnvEdgeImage      = "RELATED_IMAGE_EDGE"
	EnvEnvoyImage     = "RELATED_IMAGE_ENVOY"
)

// LeaderElectionID names the Lease of the pod that decides, in the operator's namespace.
const LeaderElectionID = "oooi.densityops.com"
