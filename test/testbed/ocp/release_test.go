package ocp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestReleaseNamesAnImageForEachPart(t *testing.T) {
	g := NewWithT(t)
	files, err := releaseFiles()
	g.Expect(err).NotTo(HaveOccurred())
	var stream struct {
		Metadata struct{ Name string }
		Spec     struct {
			Tags []struct {
				Name        string
				Annotations map[string]string
				From        struct{ Name string }
			}
		}
	}
	g.Expect(json.Unmarshal(files["release-manifests/image-references"], &stream)).To(Succeed())
	g.Expect(stream.Metadata.Name).To(Equal(releaseVersion))
	images := map[string]string{}
	for _, tag := range stream.Spec.Tags {
		images[tag.Name] = tag.From.Name
		if tag.Name == "hyperkube" {
			g.Expect(tag.Annotations).To(HaveKeyWithValue("io.openshift.build.versions", "kubernetes="+kubernetesVersion))
		}
	}
	g.Expect(images).To(HaveKeyWithValue("hypershift", controlPlaneImage))
	g.Expect(images).To(HaveKeyWithValue("etcd", PayloadImage))
	g.Expect(images).To(HaveKeyWithValue("machine-config-operator", machineConfigImage))
	g.Expect(images).To(HaveKeyWithValue("cluster-config-api", configAPIImage))
	g.Expect(images).To(HaveLen(len(stream.Spec.Tags)), "a part is named twice")
}

// TestIgnitionServerFindsItsFiles: the registry has what local_ignitionprovider.go of HyperShift takes from images. Other images stay small.
func TestIgnitionServerFindsItsFiles(t *testing.T) {
	g := NewWithT(t)
	module := t.TempDir()
	g.Expect(os.MkdirAll(filepath.Join(module, "templates/worker/units"), 0o700)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(module, "templates/worker/units/kubelet.yaml"), []byte("a unit"), 0o600)).To(Succeed())

	images, err := RegistryContent(Sources{Bin: func(program string) string { return "/built/" + program }, MachineConfig: module})

	g.Expect(err).NotTo(HaveOccurred())
	programs := map[string]map[string]string{}
	for _, i := range images {
		if len(i.Programs) > 0 {
			programs[i.Name] = i.Programs
		}
		if i.Name == machineConfigImage {
			g.Expect(i.Files).To(HaveKeyWithValue("etc/mcc/templates/worker/units/kubelet.yaml", []byte("a unit")))
			g.Expect(string(i.Files["usr/lib/os-release"])).To(ContainSubstring("\nVERSION_ID=\"9."))
		}
	}
	g.Expect(programs).To(Equal(map[string]map[string]string{
		machineConfigImage: {
			"usr/bin/machine-config-operator":   "/built/machine-config-operator",
			"usr/bin/machine-config-controller": "/built/machine-config-controller",
			"usr/bin/machine-config-server":     "/built/machine-config-server",
		},
		configAPIImage: {"usr/bin/render": "/built/render"},
	}))
}
