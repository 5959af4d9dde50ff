// This file has the parts of an installation: images for the node, the daemons of the registry and the world, and manifests. The manifests come
// from HyperShift's installer, from the module github.com/openshift/api and from manifests/. File hypershift.go decides the order.
package hypershift

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/image"
	"github.com/cldmnky/oooi/test/testbed/ocp"
	"github.com/cldmnky/oooi/test/testbed/process"
)

var (
	//go:embed manifests/kubevirt.yaml
	kubevirtManifest []byte
	//go:embed manifests/management.yaml
	managementManifest []byte
	//go:embed manifests/webhook.yaml
	webhookTemplate string
)

// load imports the images that the node does not have, or has with other content.
func (h *HyperShift) load(ctx context.Context, images []image.Image) error {
	for _, i := range images {
		tar, digest, err := i.Tar()
		if err != nil {
			return fmt.Errorf("image %s: %w", i.Names[0], err)
		}
		done := h.path("imported", strings.TrimPrefix(digest, "sha256:"))
		if _, err := os.Stat(done); err == nil {
			continue
		}
		if err := h.cluster.ImportImage(ctx, tar); err != nil {
			return err
		}
		if err := write(done, []byte(i.Names[0]+"\n")); err != nil {
			return err
		}
		h.say("image %s", i.Names[0])
	}
	return nil
}

// PayloadTar returns the path of an OCI tar archive with the image ocp.PayloadImage, which contains all parts of the release. A worker's containerd
// needs it for pods of the hosted cluster's DaemonSets.
func (h *HyperShift) PayloadTar(ctx context.Context) (string, error) {
	sources, err := ocp.FindSources(ctx, h.cluster.Bin)
	if err != nil {
		return "", err
	}
	images, err := ocp.Images(sources)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(images, func(i image.Image) bool { return i.Names[0] == ocp.PayloadImage })
	tar, _, err := images[i].Tar()
	return tar, err
}

// startRegistry starts the registry with the release, unless it runs. The registry listens once its content is loaded. Clients try again
// until then.
func (h *HyperShift) startRegistry(sources ocp.Sources) error {
	if process.Pid(h.cluster.Dir, "registry") != 0 {
		return nil
	}
	content, err := ocp.RegistryContent(sources)
	if err != nil {
		return err
	}
	list, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := write(h.path("registry.json"), list); err != nil {
		return err
	}
	_, err = h.cluster.Start(process.Daemon{Name: "registry", Dir: h.cluster.Dir, NetNS: h.cluster.NetNS(), Args: []string{
		h.cluster.Bin("registry"), "--listen", ocp.RegistryAddress, "--images", h.path("registry.json"),
		"--tls-cert-file", h.path("pki", "registry.crt"), "--tls-private-key-file", h.path("pki", "registry.key"),
	}})
	return err
}

// startWorld starts the stand-ins of PlayWorld as a daemon, unless it runs. The daemon is the command testbed, which startWorld compiles,
// because the caller of Install may be another program, such as a test.
func (h *HyperShift) startWorld(ctx context.Context, addresses netip.Prefix) error {
	if process.Pid(h.cluster.Dir, "world") != 0 {
		return nil
	}
	root, err := host.ProjectDir()
	if err != nil {
		return err
	}
	bin := h.path("world")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/testbed")
	build.Dir = filepath.Join(root, "test", "testbed")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build of the testbed's command: %w\n%s", err, out)
	}
	args := []string{bin, "--name", h.cluster.Name, "hypershift", "world"}
	if addresses.IsValid() {
		args = append(args, "--vm-addresses", addresses.String())
	}
	_, err = h.cluster.Start(process.Daemon{
		Name: "world", Dir: h.cluster.Dir, NetNS: h.cluster.NetNS(), Args: args,
		Env: []string{"OOOI_TESTBED_DIR=" + filepath.Dir(h.cluster.Dir)},
	})
	return err
}

// run runs a command of HyperShift, which trusts the registry's certificate.
func (h *HyperShift) run(cmd *exec.Cmd) ([]byte, error) {
	cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+h.path("pki", "ca.crt"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes()) // %v, so that callers do not print an ExitError again
	}
	return out, nil
}

// webhookManifest returns the manifest of the webhook that replaces OpenShift's admission. Only the components in keep run.
func webhookManifest(p pki, keep []string) ([]byte, error) {
	t, err := template.New("webhook").Funcs(template.FuncMap{"base64": base64.StdEncoding.EncodeToString}).Parse(webhookTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"CA": p.CA, "Cert": p.Webhook.Cert, "Key": p.Webhook.Key, "Keep": strings.Join(keep, ","), "KeepMini": strings.Join(MiniKeep(), ","),
	})
	return out.Bytes(), err
}

// operatorSecrets returns the objects that OpenShift would create in the operator's namespace: a serving certificate, and the bundle of
// trusted CAs, which contains that of the registry.
func operatorSecrets(p pki) ([]byte, error) {
	return documents(
		values{
			"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
			"metadata": values{"name": "manager-serving-cert", "namespace": "hypershift"},
			"data":     values{"tls.crt": p.Operator.Cert, "tls.key": p.Operator.Key},
		},
		values{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": values{"name": "openshift-config-managed-trusted-ca-bundle", "namespace": "hypershift"},
			"data":     values{"ca-bundle.crt": string(p.CA)},
		},
	)
}

// managementCRDs returns the CRDs of HyperShift and Cluster API, those of OpenShift that HyperShift reads, and foreignCRDs.
func (h *HyperShift) managementCRDs(ctx context.Context, apis string) ([]byte, error) {
	crds, err := h.renderOperator(ctx, "crds")
	if err != nil {
		return nil, err
	}
	openshift, err := crdFiles(apis, []string{
		"0000_10_config-operator_01_dnses.crd.yaml", "0000_10_config-operator_01_infrastructures-Default.crd.yaml",
		"0000_10_config-operator_01_ingresses.crd.yaml", "0000_10_config-operator_01_networks.crd.yaml", "routes.crd.yaml",
	})
	if err != nil {
		return nil, err
	}
	foreign, err := foreignCRDs()
	if err != nil {
		return nil, err
	}
	if foreign, err = h.named(foreign); err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{crds, openshift, foreign}, []byte("\n---\n")), nil
}

// crdFiles returns the generated CRDs of the module github.com/openshift/api with these file names. If two packages have a file with one name, it
// returns both.
func crdFiles(apis string, names []string) ([]byte, error) {
	found := map[string][][]byte{}
	err := filepath.WalkDir(apis, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Base(filepath.Dir(path)) != "zz_generated.crd-manifests" || !slices.Contains(names, e.Name()) {
			return err
		}
		b, err := os.ReadFile(path)
		found[e.Name()] = append(found[e.Name()], b)
		return err
	})
	if err != nil {
		return nil, err
	}
	var docs [][]byte
	for _, name := range names {
		if len(found[name]) == 0 {
			return nil, fmt.Errorf("no CRD %s in %s", name, apis)
		}
		docs = append(docs, found[name]...)
	}
	return bytes.Join(docs, []byte("\n---\n")), nil
}

// foreignCRDs returns CRDs, without schemas, for kinds that HyperShift watches or writes and for which no Go module contains a manifest.
func foreignCRDs() ([]byte, error) {
	var docs []any
	for _, c := range []struct {
		group, version, kind, plural string
		short                        []string
	}{
		{"monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors", nil},
		{"monitoring.coreos.com", "v1", "PodMonitor", "podmonitors", nil},
		{"monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules", nil},
		{"kubevirt.io", "v1", "VirtualMachine", "virtualmachines", []string{"vm", "vms"}},
		{"kubevirt.io", "v1", "VirtualMachineInstance", "virtualmachineinstances", []string{"vmi", "vmis"}},
		{"cdi.kubevirt.io", "v1beta1", "DataVolume", "datavolumes", []string{"dv", "dvs"}},
	} {
		docs = append(docs, values{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": values{"name": c.plural + "." + c.group},
			"spec": values{
				"group": c.group, "scope": "Namespaced",
				"names": values{"kind": c.kind, "listKind": c.kind + "List", "plural": c.plural, "singular": strings.ToLower(c.kind), "shortNames": c.short},
				"versions": []any{values{
					"name": c.version, "served": true, "storage": true, "subresources": values{"status": values{}},
					"schema": values{"openAPIV3Schema": values{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				}},
			},
		})
	}
	return documents(docs...)
}

// documents returns objects as YAML documents.
func documents(objects ...any) ([]byte, error) {
	var docs [][]byte
	for _, o := range objects {
		b, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		docs = append(docs, b)
	}
	return bytes.Join(docs, []byte("---\n")), nil
}

type values = map[string]any

// write writes a file, and creates its directory.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
