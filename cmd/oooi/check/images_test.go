package check

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/test/blue"
)

// TestImages: the images that the operator gives to edges.
func TestImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for name, c := range map[string]struct {
		edge, envoy string
		want        outcome
		why         string
	}{
		"IPv6 registries": {"[fd00::1]:5000/oooi/edge:v1", "[fd00::1]/envoy" + digest, fine, ""},
		"half an address": {"[fd00::1:5000/oooi/edge:v1", "envoy:v1", failure, "which is not an image name"},
		"digests":         {"registry.example.com:5000/oooi/edge" + digest, "envoy:v1" + digest, fine, ""},
		"versions":        {"ghcr.io/cldmnky/oooi-edge:v0.1.0", "docker.io/envoyproxy/envoy:distroless-v1.39.1", fine, ""},
		"no image":        {"", "envoy:v1", failure, "Deployment oooi-system/oooi does not set RELATED_IMAGE_EDGE, so the operator does not start."},
		"no Envoy":        {"edge:v1", "", failure, "Set RELATED_IMAGE_ENVOY"},
		"no name":         {"edge:v1", "docker.io/Envoy Proxy:v1", failure, `RELATED_IMAGE_ENVOY of Deployment oooi-system/oooi is "docker.io/Envoy Proxy:v1", which is not an image name.`},
		"half a digest":   {"edge@sha256:0a", "envoy:v1", failure, "which is not an image name"},
		"no version":      {"registry.example.com:5000/edge", "envoy:latest", warning, "registry.example.com:5000/edge and envoy:latest: the tag can move to another image"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := operatorOf("oooi-system")
			d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: command.EnvEdgeImage, Value: c.edge}, {Name: command.EnvEnvoyImage, Value: c.envoy}}
			got := imagesCheck(*d)
			g.Expect(got.Verdict).To(Equal(c.want), got.Why)
			g.Expect(got.Why).To(ContainSubstring(c.why))
			g.Expect(got.Page == "").To(Equal(c.want == fine))
		})
	}
}

// TestImagesOfOtherObjects: what is in a ConfigMap is not known, and the operator that runs has read it.
func TestImagesOfOtherObjects(t *testing.T) {
	key := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "x"}}
	edge, envoy := corev1.EnvVar{Name: command.EnvEdgeImage, ValueFrom: key}, corev1.EnvVar{Name: command.EnvEnvoyImage, ValueFrom: key}
	for name, c := range map[string]struct {
		env   []corev1.EnvVar
		from  []corev1.EnvFromSource
		runs  int32
		want  outcome
		why   string
		aside bool
	}{
		"both":                  {[]corev1.EnvVar{edge, envoy}, nil, 0, unsure, "Deployment oooi-system/oooi takes RELATED_IMAGE_EDGE and RELATED_IMAGE_ENVOY from another object, which is not read.", false},
		"both, and it runs":     {[]corev1.EnvVar{edge, envoy}, nil, 1, unsure, "which is not read.", true},
		"all variables":         {nil, []corev1.EnvFromSource{{}}, 0, unsure, "takes RELATED_IMAGE_EDGE and RELATED_IMAGE_ENVOY from", false},
		"one, and no other":     {[]corev1.EnvVar{edge}, nil, 0, failure, "Set RELATED_IMAGE_ENVOY", false},
		"one, and a wrong name": {[]corev1.EnvVar{edge, {Name: command.EnvEnvoyImage, Value: "Envoy"}}, nil, 0, failure, `RELATED_IMAGE_ENVOY of Deployment oooi-system/oooi is "Envoy"`, false},
		"one, and no version":   {[]corev1.EnvVar{edge, {Name: command.EnvEnvoyImage, Value: "envoy"}}, nil, 0, warning, "envoy: the tag can move to another image", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := operatorOf("oooi-system")
			d.Spec.Template.Spec.Containers[0].Env, d.Spec.Template.Spec.Containers[0].EnvFrom, d.Status.AvailableReplicas = c.env, c.from, c.runs
			got := imagesCheck(*d)
			g.Expect(got.Verdict).To(Equal(c.want), got.Why)
			g.Expect(got.Why).To(ContainSubstring(c.why))
			g.Expect(got.aside).To(Equal(c.aside))
		})
	}
}

// TestNotPulled: the words of the kubelet, and when it is waited no longer.
func TestNotPulled(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	failed, waits, runs := waiting("ErrImagePull", "not found"), waiting("ImagePullBackOff", "Back-off"), corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	type at struct {
		second int
		state  corev1.ContainerState
	}
	for name, c := range map[string]struct {
		seen   []at
		why    string
		gaveUp bool
	}{
		"starts":                       {[]at{{0, waiting("ContainerCreating", "")}}, "", false},
		"runs":                         {[]at{{0, runs}}, "", false},
		"failed once":                  {[]at{{0, failed}}, "ErrImagePull not found", false},
		"waits":                        {[]at{{0, failed}, {1, waits}}, "ErrImagePull not found", false},
		"was first seen when it waits": {[]at{{0, waits}}, "ImagePullBackOff Back-off", false},
		"failed again":                 {[]at{{0, failed}, {1, waits}, {11, waiting("ErrImagePull", "no answer")}, {12, waits}, {45, waits}}, "ErrImagePull no answer", false},
		"fails on":                     {[]at{{0, failed}, {1, waits}, {11, failed}, {12, waits}, {46, waits}}, "ErrImagePull not found", true},
		"is pulled at last":            {[]at{{0, failed}, {1, waits}, {46, runs}}, "", false},
		"no name":                      {[]at{{0, waiting("InvalidImageName", "")}}, "InvalidImageName", true},
		"may not be pulled":            {[]at{{0, waiting("ErrImageNeverPull", "")}}, "ErrImageNeverPull", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var p pull
			for _, x := range c.seen {
				pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: x.state}}}}
				p = p.seen(pod, blue.At.Add(time.Duration(x.second)*time.Second))
			}
			g.Expect(p.failure).To(Equal(c.why))
			g.Expect(p.gaveUp).To(Equal(c.gaveUp))
		})
	}
}
