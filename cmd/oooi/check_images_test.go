package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// TestImages: the images that the operator gives to edges.
func TestImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for name, c := range map[string]struct {
		edge, envoy string
		want        outcome
		why         string
	}{
		"digests":       {"registry.example.com:5000/oooi/edge" + digest, "envoy:v1" + digest, fine, ""},
		"versions":      {"ghcr.io/cldmnky/oooi-edge:v0.1.0", "docker.io/envoyproxy/envoy:distroless-v1.39.1", fine, ""},
		"no image":      {"", "envoy:v1", failure, "Deployment oooi-system/oooi does not name it: set RELATED_IMAGE_EDGE in its environment."},
		"no Envoy":      {"edge:v1", "", failure, "set RELATED_IMAGE_ENVOY"},
		"no name":       {"edge:v1", "docker.io/Envoy Proxy:v1", failure, `RELATED_IMAGE_ENVOY of Deployment oooi-system/oooi is "docker.io/Envoy Proxy:v1", which is no name of an image.`},
		"half a digest": {"edge@sha256:0a", "envoy:v1", failure, "which is no name of an image"},
		"no version":    {"registry.example.com:5000/edge", "envoy:latest", warning, "registry.example.com:5000/edge and envoy:latest: another image can get this name"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := operatorOf("oooi-system")
			d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: envEdgeImage, Value: c.edge}, {Name: envEnvoyImage, Value: c.envoy}}
			got := imagesCheck(*d)
			g.Expect(got.Verdict).To(Equal(c.want), got.Why)
			g.Expect(got.Why).To(ContainSubstring(c.why))
			g.Expect(got.Page == "").To(Equal(c.want == fine))
		})
	}
}

// TestNotPulled: the words of the kubelet, and when it is waited no longer.
func TestNotPulled(t *testing.T) {
	for name, c := range map[string]struct {
		state  corev1.ContainerState
		why    string
		gaveUp bool
	}{
		"starts":      {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}, "", false},
		"runs":        {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, "", false},
		"failed once": {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}, "ErrImagePull not found", false},
		"waits":       {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off"}}, "ImagePullBackOff Back-off", true},
		"no name":     {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName"}}, "InvalidImageName", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: c.state}}}}
			g.Expect(notPulled(pod)).To(Equal(c.why))
			g.Expect(gaveUpOn(pod)).To(Equal(c.gaveUp))
		})
	}
	g := NewWithT(t)
	line := unpulledCheck(unpulled{"worker-1", "edge:v1", "ErrImagePull denied."})
	g.Expect(line.String()).To(Equal("image of edges on node worker-1: The kubelet cannot pull edge:v1: ErrImagePull denied. An edge that moves there does not start. " +
		"Look at the registry, its mirror and the pull secret. See " + docs + "check.md#the-images-of-edges"))
}
