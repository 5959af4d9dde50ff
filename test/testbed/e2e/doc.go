// Package e2e tests oooi on a real Kubernetes with a real HyperShift. The operator is installed from config/. Hosted clusters use
// every publishing strategy, and their workers reach the control plane only through an edge.
//
// The functions of the package see oooi only as users and VMs do. Command demo uses them as well.
package e2e
