// Package oracle checks plans against a model of what the nodes of a hosted cluster do. The model follows the sources of HyperShift,
// KubeVirt, Multus and Linux. The tests take a world, the objects of a hosted cluster, and change it in named ways. After each change,
// nodes must still get everything they need, or a problem in the plan must name what does not work. Otherwise the test fails.
//
// The oracle reads the output of `oooi plan -o json` as data. It imports no code that decides a plan, so it does not repeat an error there.
package oracle
