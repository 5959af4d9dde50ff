package ocp

import (
	"encoding/json"
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
	g.Expect(images).To(HaveLen(len(stream.Spec.Tags)), "a part is named twice")
}
