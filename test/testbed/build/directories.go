// This file makes directories with links to programs, for different users of the programs.

package build

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// Install builds programs, and links them under all their names into directory bin. It links CNI plugins into directory cni.
func Install(ctx context.Context, log *progress.Log, bin, cni string, names ...string) error {
	paths, err := Programs(ctx, log, names...)
	if err != nil {
		return err
	}
	for name, path := range paths {
		p, _ := programNamed(name)
		dir := bin
		if p.plugin {
			dir = cni
		}
		for _, link := range append([]string{name}, p.links...) {
			if err := host.ReplaceLink(path, filepath.Join(dir, link)); err != nil {
				return err
			}
		}
	}
	return nil
}

// EnvtestAssets returns a directory with etcd, kube-apiserver and kubectl, for the environment variable KUBEBUILDER_ASSETS.
func EnvtestAssets(ctx context.Context, log *progress.Log) (string, error) {
	paths, err := Programs(ctx, log, "kubelite")
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(paths["kubelite"])
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := host.ReplaceLink("kubelite", filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// CNIPlugins returns a directory with the CNI plugins that edges use on any kind of network.
func CNIPlugins(ctx context.Context, log *progress.Log) (string, error) {
	return directory(ctx, log, "cni", "bridge.real", "macvlan", "dummy", "static", "tuning")
}

// Konnectivity returns a directory with proxy-server and proxy-agent of apiserver-network-proxy.
func Konnectivity(ctx context.Context, log *progress.Log) (string, error) {
	return directory(ctx, log, "konnectivity", "proxy-server", "proxy-agent")
}

// Netpold returns the path of the program that enforces NetworkPolicies.
func Netpold(ctx context.Context, log *progress.Log) (string, error) {
	paths, err := Programs(ctx, log, "netpold")
	return paths["netpold"], err
}

// directory returns the directory with this name in the cache, with links to programs. It builds those that are missing.
func directory(ctx context.Context, log *progress.Log, name string, programs ...string) (string, error) {
	paths, err := Programs(ctx, log, programs...)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(host.CacheDir(), name)
	for _, p := range programs {
		if err := host.ReplaceLink(paths[p], filepath.Join(dir, strings.TrimSuffix(p, ".real"))); err != nil {
			return "", err
		}
	}
	return dir, nil
}
