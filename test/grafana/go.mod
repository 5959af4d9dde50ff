module github.com/cldmnky/oooi/test/grafana

go 1.26.3

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
