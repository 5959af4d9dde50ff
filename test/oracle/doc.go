// Package oracle judges plans by what nodes of a hosted cluster do, as the sources of HyperShift, KubeVirt, Multus and Linux have it. Its
// tests change worlds in named ways, and each change is served, or a problem names what it breaks. What is silent is red.
//
// The oracle reads the output of `oooi plan -o json` as data. It imports nothing that decides a plan, so an error there cannot hide here.
package oracle
