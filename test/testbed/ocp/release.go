// Package ocp has the images of a release of OpenShift, as far as HyperShift needs them: those that a node imports, and the content of a
// registry.
//
// This file writes the content of the registry: a release image, the images whose labels HyperShift reads, and those from which the Ignition
// server takes programs. The images of pods are imported into the node, so that none is pulled.
package ocp

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// The names of images that pods and HyperShift use. The registry is an address, so that it needs no DNS.
const (
	RegistryIP      = "10.240.0.1"
	RegistryAddress = RegistryIP + ":5000"

	OperatorImage = RegistryAddress + "/hs/hypershift-operator:1"
	PayloadImage  = RegistryAddress + "/ocp/all:1"  // all parts of the release that have no image of their own
	ShimImage     = RegistryAddress + "/sys/shim:1" // on all nodes; with the argument virt-api, it runs a small HTTPS server on port 8443
	ReleaseImage  = RegistryAddress + "/ocp/release:" + releaseVersion

	controlPlaneImage  = RegistryAddress + "/hs/cpo:1"
	machineConfigImage = RegistryAddress + "/ocp/machine-config-operator:1"
	configAPIImage     = RegistryAddress + "/ocp/cluster-config-api:1"

	// capkImage is a constant in HyperShift, because this provider of Cluster API is not part of a release.
	capkImage = "registry.ci.openshift.org/ocp/4.18:cluster-api-provider-kubevirt"

	releaseVersion    = "4.20.8" // HyperShift supports versions up to 4.21 without an annotation.
	kubernetesVersion = "1.33.6" // that of OpenShift 4.20
)

// payload lists the parts that HyperShift looks up in a release, one per line.
//
//go:embed payload.txt
var payload string

// A RegistryImage is one image in the registry; see modules/registry.
type RegistryImage struct {
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels,omitempty"`
	Files    map[string][]byte `json:"files"`
	Programs map[string]string `json:"programs,omitempty"` // the path of each in the image, and on this host
}

// controlPlaneLabels returns the labels of the control plane operator's image, as in Containerfile.control-plane of HyperShift. From them,
// HyperShift's operator reads which features that version supports.
func controlPlaneLabels() map[string]string {
	labels := map[string]string{"io.openshift.release.operator": "true"}
	for _, l := range []string{
		"control-plane-operator-applies-management-kas-network-policy-label",
		"control-plane-operator-creates-aws-sg",
		"control-plane-operator-manages-ignition-server",
		"control-plane-operator-manages.cluster-autoscaler",
		"control-plane-operator-manages.cluster-machine-approver",
		"control-plane-operator-manages.decompress-decode-config",
		"control-plane-operator-skips-haproxy",
		"control-plane-operator-subcommands",
		"control-plane-operator-supports-kas-custom-kubeconfig",
		"control-plane-operator.v2-isdefault",
		"control-plane-pki-operator-signs-csrs",
		"hosted-cluster-config-operator-reports-node-count",
		"ignition-server-healthz-handler",
		"restricted-psa",
	} {
		labels["io.openshift.hypershift."+l] = "true"
	}
	return labels
}

// RegistryContent returns the images of the registry. Most are small: they have labels, and no programs.
func RegistryContent(s Sources) ([]RegistryImage, error) {
	release, err := releaseFiles()
	if err != nil {
		return nil, err
	}
	machineConfig, err := machineConfigContent(s)
	if err != nil {
		return nil, err
	}
	images := []RegistryImage{
		{Name: ReleaseImage, Labels: map[string]string{"io.openshift.release": releaseVersion}, Files: release},
		machineConfig,
		{Name: configAPIImage, Programs: registryPrograms(s, "render")},
	}
	for _, name := range []string{OperatorImage, controlPlaneImage, PayloadImage} {
		images = append(images, RegistryImage{
			Name: name, Labels: controlPlaneLabels(), Files: map[string][]byte{"etc/testbed": []byte("the node has this image by import\n")},
		})
	}
	return images, nil
}

// releaseFiles returns the files of the release image that HyperShift reads.
func releaseFiles() (map[string][]byte, error) {
	stream, err := imageStream(strings.Fields(payload))
	if err != nil {
		return nil, err
	}
	boot, err := bootImages()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"release-manifests/image-references":                         stream,
		"release-manifests/0000_50_installer_coreos-bootimages.yaml": boot,
		"release-manifests/release-metadata":                         fmt.Appendf(nil, `{"kind": "cincinnati-metadata-v0", "version": %q}`, releaseVersion),
	}, nil
}

type values = map[string]any

// imageStream returns the index of the release: the image of each part, and the versions of some.
func imageStream(parts []string) ([]byte, error) {
	var tags []values
	for _, part := range parts {
		notes := values{"io.openshift.build.source-location": "https://github.com/openshift/" + part}
		switch part {
		case "hyperkube":
			notes["io.openshift.build.versions"] = "kubernetes=" + kubernetesVersion
		case "machine-os-content", "rhel-coreos":
			notes["io.openshift.build.versions"] = "machine-os=9.6.0"
			notes["io.openshift.build.version-display-names"] = "machine-os=Red Hat Enterprise Linux CoreOS"
		}
		tags = append(tags, values{"name": part, "annotations": notes, "from": values{"kind": "DockerImage", "name": imageOf(part)}})
	}
	return json.Marshal(values{
		"kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
		"metadata": values{"name": releaseVersion, "creationTimestamp": "2026-01-01T00:00:00Z"},
		"spec":     values{"lookupPolicy": values{"local": false}, "tags": tags},
	})
}

// imageOf returns the name of the image of a part.
func imageOf(part string) string {
	switch part {
	case "hypershift":
		return controlPlaneImage
	case "machine-config-operator":
		return machineConfigImage
	case "cluster-config-api":
		return configAPIImage
	}
	return PayloadImage
}

// bootImages returns the ConfigMap with the images of RHCOS. NodePools of KubeVirt need the digest of the container disk, which is never
// started here.
func bootImages() ([]byte, error) {
	const disk = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
	arch := values{
		"artifacts": values{"openstack": values{"release": "9.6", "formats": values{"qcow2.gz": values{
			"disk": values{"location": "https://example.com/rhcos.qcow2.gz", "sha256": strings.Repeat("0", 64)}}}}},
		"images": values{"kubevirt": values{"release": "9.6", "image": disk + ":rhcos", "digest-ref": disk + "@sha256:" + strings.Repeat("1", 64)}},
	}
	stream, err := json.Marshal(values{"stream": "rhcos-9.6", "metadata": values{}, "architectures": values{"x86_64": arch}})
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(values{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": values{"name": "coreos-bootimages", "namespace": "openshift-machine-config-operator"},
		"data":     values{"stream": string(stream)},
	})
}
