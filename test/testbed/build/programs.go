// This file is the table of the programs of a testbed: where each comes from, and how it is built.

package build

import released "github.com/cldmnky/oooi/config/release/program"

// A program is one main package in one module below modules/.
type program struct {
	name    string   // of the file, and for [Programs]
	module  string   // directory under modules/
	pkg     string   // main package
	cgo     bool     // linked statically against the C library, all others without C
	tags    string   // build tags
	ldflags string   // in addition to -s -w
	links   []string // further names of the program
	plugin  bool     // a CNI plugin: not in bin/ but among the plugins
	cold    int      // seconds to compile after those before it, on two cores with an empty Go cache; 0 means 2
}

const (
	kubernetesVersion = "v1.36.3"
	containerdPkg     = "github.com/containerd/containerd/v2"
	cniPkg            = "github.com/containernetworking/plugins/plugins/"
	hypershiftPkg     = "github.com/openshift/hypershift"
	containerdTags    = "no_btrfs no_zfs no_devmapper"
	olmPkg            = "github.com/operator-framework/operator-lifecycle-manager"
	machineConfigPkg  = "github.com/openshift/machine-config-operator/cmd/machine-config-"
	machineConfigTags = "containers_image_openpgp exclude_graphdriver_btrfs exclude_graphdriver_devicemapper"
	opmModule         = "../../../config/opm" // the release makes its catalogs with the same opm
	containerdStamp   = "-X " + containerdPkg + "/version.Version=v2.4.2"
)

// Base returns the names of the programs that a cluster needs. Those that take longest to build come first.
func Base() []string {
	names := []string{"kubelite", "containerd", "containerd-shim-runc-v2", "ctr", "runc", "coredns", "netpold", "pause", "multus", "bridgevlan"}
	for _, p := range programs() {
		if p.plugin && p.module == "cni" && p.name != "multus" {
			names = append(names, p.name)
		}
	}
	return names
}

// programs returns the table.
func programs() []program {
	return []program{
		{name: "kubelite", cold: 330, module: "kube", pkg: ".", ldflags: kubernetesStamp(), links: []string{
			"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl"}},

		{name: "containerd", cold: 25, module: "containerd", pkg: containerdPkg + "/cmd/containerd", tags: containerdTags, ldflags: containerdStamp},
		{name: "containerd-shim-runc-v2", module: "containerd", pkg: containerdPkg + "/cmd/containerd-shim-runc-v2", tags: containerdTags, ldflags: containerdStamp},
		{name: "ctr", module: "containerd", pkg: containerdPkg + "/cmd/ctr", tags: containerdTags, ldflags: containerdStamp},
		{name: "runc", cold: 8, module: "runc", pkg: "github.com/opencontainers/runc", cgo: true, tags: "seccomp netgo osusergo", ldflags: "-extldflags -static"},
		{name: "pause", module: "pause", pkg: "."},
		{name: "coredns", cold: 8, module: "coredns", pkg: "."},
		{name: "netpold", cold: 4, module: "netpold", pkg: "."},

		{name: "bridge.real", module: "cni", pkg: cniPkg + "main/bridge", plugin: true},
		{name: "loopback", module: "cni", pkg: cniPkg + "main/loopback", plugin: true},
		{name: "macvlan", module: "cni", pkg: cniPkg + "main/macvlan", plugin: true},
		{name: "dummy", module: "cni", pkg: cniPkg + "main/dummy", plugin: true},
		{name: "ptp", module: "cni", pkg: cniPkg + "main/ptp", plugin: true},
		{name: "host-local", module: "cni", pkg: cniPkg + "ipam/host-local", plugin: true},
		{name: "static", module: "cni", pkg: cniPkg + "ipam/static", plugin: true},
		{name: "portmap", module: "cni", pkg: cniPkg + "meta/portmap", plugin: true},
		{name: "tuning", module: "cni", pkg: cniPkg + "meta/tuning", plugin: true},
		{name: "firewall", module: "cni", pkg: cniPkg + "meta/firewall", plugin: true},
		{name: "multus", cold: 5, module: "cni", pkg: "gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus", plugin: true},
		{name: "bridgevlan", module: "bridgevlan", pkg: ".", plugin: true},

		{name: "hypershift", cold: 120, module: "hypershift", pkg: hypershiftPkg},
		{name: "hcp", cold: 5, module: "hypershift", pkg: hypershiftPkg + "/product-cli"},
		{name: "hypershift-operator", cold: 20, module: "hypershift", pkg: hypershiftPkg + "/hypershift-operator"},
		{name: "control-plane-operator", cold: 20, module: "hypershift", pkg: hypershiftPkg + "/control-plane-operator"},
		{name: "control-plane-pki-operator", cold: 5, module: "hypershift", pkg: hypershiftPkg + "/control-plane-pki-operator"},
		{name: "render", cold: 5, module: "hypershift", pkg: "github.com/openshift/api/payload-command/cmd/render"},
		{name: "machine-config-operator", cold: 35, module: "mco", pkg: machineConfigPkg + "operator", tags: machineConfigTags},
		{name: "machine-config-controller", cold: 13, module: "mco", pkg: machineConfigPkg + "controller", tags: machineConfigTags},
		{name: "machine-config-server", module: "mco", pkg: machineConfigPkg + "server", tags: machineConfigTags},
		{name: "cluster-api-manager", cold: 8, module: "capi", pkg: "sigs.k8s.io/cluster-api"},
		{name: "capk-manager", cold: 20, module: "capk", pkg: "sigs.k8s.io/cluster-api-provider-kubevirt"},
		{name: "proxy-server", cold: 3, module: "konn", pkg: "sigs.k8s.io/apiserver-network-proxy/cmd/server"},
		{name: "proxy-agent", module: "konn", pkg: "sigs.k8s.io/apiserver-network-proxy/cmd/agent"},
		{name: "etcdctl", cold: 3, module: "etcdctl", pkg: "go.etcd.io/etcd/etcdctl/v3"},
		{name: "registry", cold: 3, module: "registry", pkg: "."},
		{name: "shim", module: "shim", pkg: "."},

		{name: "opm", cold: 15, module: opmModule, pkg: "github.com/operator-framework/operator-registry/cmd/opm", tags: released.Opm("").Tags},
		{name: "olm", cold: 12, module: "olm", pkg: olmPkg + "/cmd/olm", tags: released.Opm("").Tags},
		{name: "catalog", cold: 8, module: "olm", pkg: olmPkg + "/cmd/catalog", tags: released.Opm("").Tags},
		{name: "copy-content", module: "olm", pkg: olmPkg + "/cmd/copy-content", tags: released.Opm("").Tags},
		{name: "cpb", module: "olm", pkg: olmPkg + "/util/cpb", tags: released.Opm("").Tags},
		{name: "grpc_health_probe", cold: 5, module: "olm", pkg: "github.com/grpc-ecosystem/grpc-health-probe"},
	}
}

// kubernetesStamp returns the linker flags that set the version of Kubernetes, as Kubernetes' own build does.
func kubernetesStamp() string {
	flags := ""
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, set := range []string{
			"gitVersion=" + kubernetesVersion, "gitMajor=1", "gitMinor=36", "gitTreeState=clean",
			"gitCommit=0000000000000000000000000000000000000000", "buildDate=1970-01-01T00:00:00Z",
		} {
			flags += "-X " + pkg + "." + set + " "
		}
	}
	return flags
}

// programNamed returns the entry with this name, and whether there is one.
func programNamed(name string) (program, bool) {
	for _, p := range programs() {
		if p.name == name {
			return p, true
		}
	}
	return program{}, false
}
