// Package e2e shows the product on a real Kubernetes with a real HyperShift: the
// operator installed from config/, hosted clusters of every publishing strategy,
// and workers that reach their control plane through an edge and nothing else.
//
// This file says what the package is. Its functions look at the product only as
// users and machines do; demo uses them too.
package e2e
