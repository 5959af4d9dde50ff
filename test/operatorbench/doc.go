// Package operatorbench measures the operator with many hosted clusters (`make bench-operator`), and
// kills it at random (`make soak`). The API server, the rights, the policies and the process
// `oooi manager` are real. The tests play HyperShift, the controller of Deployments, and edges.
package operatorbench
