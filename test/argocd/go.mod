module github.com/cldmnky/oooi/test/argocd

go 1.26.3

require (
	github.com/cldmnky/oooi v0.0.0
	github.com/yuin/gopher-lua v1.1.2
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.4 // indirect

replace github.com/cldmnky/oooi => ../..
