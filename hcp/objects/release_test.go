package objects_test

import (
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
)

// TestReleases: the status names the release, and before it exists, the tag of the image does.
func TestReleases(t *testing.T) {
	const digest = "quay.io/openshift-release-dev/ocp-release@sha256:0c1d"
	of := func(version, image string) configv1.UpdateHistory {
		return configv1.UpdateHistory{Version: version, Image: image}
	}
	for name, c := range map[string]struct {
		image, ofControlPlane string
		history               []configv1.UpdateHistory
		first, now            string
	}{
		"a tag":                           {image: "quay.io/openshift-release-dev/ocp-release:4.20.8-multi", first: "4.20", now: "4.20"},
		"a tag, and a port":               {image: "192.168.100.7:5000/ocp/release:4.9.8", first: "4.9", now: "4.9"},
		"a port only":                     {image: "192.168.100.7:5000/ocp/release", first: "0.0", now: "0.0"},
		"a nightly release":               {image: "r.example.com/release:5.0.0-0.nightly-2026-08-01-000000", first: "5.0", now: "5.0"},
		"a tag of the user's own":         {image: "r.example.com/release:latest", first: "0.0", now: "0.0"},
		"another":                         {image: "r.example.com/release:1.0", first: "0.0", now: "0.0"},
		"a tag and a digest":              {image: "r.example.com/release:4.21.1@sha256:0c1d", first: "4.21", now: "4.21"},
		"a digest":                        {image: digest, first: "0.0", now: "0.0"},
		"none":                            {first: "0.0", now: "0.0"},
		"a control plane of its own":      {image: "r.example.com/release:4.20.8", ofControlPlane: "r.example.com/release:4.21.1", first: "4.21", now: "4.21"},
		"a version":                       {image: digest, history: []configv1.UpdateHistory{of("4.20.8", digest)}, first: "4.20", now: "4.20"},
		"a version to come":               {image: digest, history: []configv1.UpdateHistory{of("", "r.example.com/release:4.20.8")}, first: "4.20", now: "4.20"},
		"an update":                       {image: digest, history: []configv1.UpdateHistory{of("4.21.1", ""), of("4.20.8", ""), of("4.19.2", "")}, first: "4.19", now: "4.21"},
		"an update to an unknown release": {image: digest, history: []configv1.UpdateHistory{of("", digest), of("4.20.8", "")}, first: "4.20", now: "4.20"},
		"an update from one":              {image: digest, history: []configv1.UpdateHistory{of("4.20.8", ""), of("", digest)}, first: "0.0", now: "4.20"},
	} {
		t.Run(name, func(t *testing.T) {
			g, hc := NewWithT(t), &hyperv1.HostedCluster{}
			hc.Spec.Release.Image = c.image
			if c.ofControlPlane != "" {
				hc.Spec.ControlPlaneRelease = &hyperv1.Release{Image: c.ofControlPlane}
			}
			if c.history != nil {
				hc.Status.Version = &hyperv1.ClusterVersionStatus{History: c.history}
			}
			first, now := objects.Releases(hc)
			g.Expect([]string{first.String(), now.String()}).To(Equal([]string{c.first, c.now}))
			g.Expect(first.Before(20)).To(Equal(c.first == "4.9" || c.first == "4.19"))
			g.Expect(first.Since(20)).To(Equal(c.first == "4.20" || c.first == "4.21" || c.first == "5.0"))
			hc.Annotations = map[string]string{hyperv1.ControlPlaneOperatorImageAnnotation: "r.example.com/operator:mine"}
			first, now = objects.Releases(hc)
			g.Expect([]objects.Release{first, now}).To(HaveEach(objects.Release{}))
		})
	}
}
