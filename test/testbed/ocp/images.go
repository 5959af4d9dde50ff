// This file decides the content of the images of HyperShift's pods: the path of each program in each image.
package ocp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/image"
)

// Programs returns the programs in test/testbed/modules that an installation of HyperShift needs. Those that take longest to build come first.
func Programs() []string {
	return []string{
		"hypershift", "hypershift-operator", "control-plane-operator", "control-plane-pki-operator", "cluster-api-manager", "capk-manager",
		"proxy-server", "proxy-agent", "render", "etcdctl", "registry", "shim", "kubelite",
		"machine-config-operator", "machine-config-controller", "machine-config-server",
	}
}

// Packages returns the Debian packages whose programs are in the images.
func Packages() []string { return []string{"bash-static", "busybox-static", "haproxy"} }

// Sources says where the files in images are on this host.
type Sources struct {
	Bin           func(program string) string // a built program
	APIs          string                      // the module github.com/openshift/api
	MachineConfig string                      // the module github.com/openshift/machine-config-operator
}

// FindSources returns the sources for programs at the paths that bin returns. It downloads modules if needed.
func FindSources(ctx context.Context, bin func(program string) string) (Sources, error) {
	apis, err := build.ModuleSource(ctx, "hypershift", "github.com/openshift/api")
	if err != nil {
		return Sources{}, err
	}
	machineConfig, err := build.ModuleSource(ctx, "mco", "github.com/openshift/machine-config-operator")
	return Sources{Bin: bin, APIs: apis, MachineConfig: machineConfig}, err
}

// Images returns all images of HyperShift's pods and of those of hosted control planes. The first is ShimImage.
func Images(s Sources) ([]image.Image, error) {
	labels := controlPlaneLabels()
	all, err := payloadFiles(s)
	if err != nil {
		return nil, err
	}
	// Cluster API's Deployment has no command, so the image needs this entrypoint.
	payload := newImage(PayloadImage, "/usr/bin/cluster-api-manager", nil, all...)
	payload.Names = append(payload.Names, configAPIImage)
	return []image.Image{
		newImage(ShimImage, "/usr/bin/shim", nil, program(s, "shim")),
		newImage(OperatorImage, "/usr/bin/hypershift", labels, program(s, "hypershift"), program(s, "hypershift-operator")),
		newImage(controlPlaneImage, "/usr/bin/control-plane-operator", labels, append(shell(), osRelease(),
			program(s, "control-plane-operator"), program(s, "control-plane-pki-operator"))...),
		newImage(capkImage, "/manager", nil, image.File{Path: "/manager", Source: s.Bin("capk-manager")}),
		payload,
	}, nil
}

func newImage(name, entrypoint string, labels map[string]string, files ...image.File) image.Image {
	users := image.File{Path: "/etc/passwd", Data: []byte("root:x:0:0::/:/\nnonroot:x:1001:0::/:/\n")}
	return image.Image{
		Names: []string{name}, Entrypoint: []string{entrypoint}, Labels: labels,
		Env:   []string{"PATH=/usr/bin:/usr/sbin:/sbin:/bin"},
		Files: append([]image.File{users, {Path: "/tmp/.keep", Data: []byte{}}}, files...),
	}
}

func program(s Sources, name string) image.File {
	return image.File{Path: "/usr/bin/" + name, Source: s.Bin(name)}
}

func link(name, target string) image.File { return image.File{Path: name, Link: target} }

// shell returns the programs that scripts in HyperShift's manifests call.
func shell() []image.File {
	files := []image.File{{Path: "/bin/bash", Source: "/bin/bash-static"}, {Path: "/bin/busybox", Source: "/bin/busybox"}, link("/usr/bin/tail", "/bin/busybox")}
	for _, name := range []string{"awk", "cat", "chmod", "cp", "date", "grep", "head", "id", "ls", "mkdir", "mv", "pkill", "ps", "rm", "sed", "sh", "sleep", "touch", "true", "wc"} {
		files = append(files, link("/bin/"+name, "busybox"))
	}
	return files
}

// payloadFiles returns the files of the image for all parts of a release that run here: upstream's programs with OpenShift's names, stand-ins for
// programs that upstream does not have, and the manifests that bootstrap reads from the release.
func payloadFiles(s Sources) ([]image.File, error) {
	files := shell()
	for _, name := range []string{"shim", "kubelite", "proxy-server", "proxy-agent", "render", "etcdctl", "cluster-api-manager"} {
		files = append(files, program(s, name))
	}
	for _, name := range []string{"authentication-operator", "cluster-etcd-operator", "etcd", "haproxy", "hyperkube", "nslookup"} {
		files = append(files, link("/usr/bin/"+name, "shim"))
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"} {
		files = append(files, link("/usr/bin/"+name, "kubelite"))
	}
	for dir, targets := range map[string][]string{
		"payload-manifests/crds":          {"/manifests", "/usr/share/bootkube/manifests/manifests"},
		"payload-manifests/featuregates":  {"/manifests"},
		"payload-command/empty-resources": {"/manifests"},
	} {
		entries, err := os.ReadDir(filepath.Join(s.APIs, dir))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			for _, target := range targets {
				files = append(files, image.File{Path: path.Join(target, e.Name()), Source: filepath.Join(s.APIs, dir, e.Name())})
			}
		}
	}
	const haproxy = "/usr/sbin/haproxy"
	libs, err := libraries(haproxy)
	if err != nil {
		return nil, err
	}
	for _, f := range append([]string{haproxy}, libs...) {
		files = append(files, image.File{Path: f, Source: f})
	}
	slices.SortFunc(files, func(a, b image.File) int { return strings.Compare(a.Path, b.Path) }) // so that equal images have equal bytes
	return files, nil
}

// libraries returns the paths of the loader and the shared libraries of a program.
func libraries(program string) ([]string, error) {
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", program, err)
	}
	return regexp.MustCompile(`/\S+`).FindAllString(string(out), -1), nil
}
