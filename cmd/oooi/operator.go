// This file names what the operator's pod has: its environment, and the Lease of the pod that leads.

package main

// The environment of the operator's pod.
const (
	envNamespace      = "POD_NAMESPACE"
	envServiceAccount = "SERVICE_ACCOUNT"
	envEdgeImage      = "RELATED_IMAGE_EDGE"
	envEnvoyImage     = "RELATED_IMAGE_ENVOY"
)

// leaderElectionID names the Lease of the pod that decides, in the operator's namespace.
const leaderElectionID = "oooi.densityops.com"
