module github.com/cldmnky/oooi/test/testbed/modules/bridgevlan

go 1.26.8

require github.com/cilium/ebpf v0.22.0

require golang.org/x/sys v0.48.0 // indirect
