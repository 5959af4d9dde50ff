module github.com/cldmnky/oooi/test/testbed/modules/pause

go 1.26.0
