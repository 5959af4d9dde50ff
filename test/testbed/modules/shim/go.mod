module github.com/cldmnky/oooi/test/testbed/modules/shim

go 1.26.0
