// This file checks the images of edges: their names in the operator's Deployment, and whether a node can pull them.
// It is pure.

package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/network/problem"
)

// imagesOf returns the images that the environment in d, the operator's Deployment, gives to edges. Empty: the variable is
// missing or refers to another object.
func imagesOf(d appsv1.Deployment) (edge, envoy string) {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			switch e.Name {
			case command.EnvEdgeImage:
				edge = e.Value
			case command.EnvEnvoyImage:
				envoy = e.Value
			}
		}
	}
	return edge, envoy
}

// refersTo reports whether a variable of d may come from another object. Its value is then unknown.
func refersTo(d appsv1.Deployment, variable string) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return len(c.EnvFrom) > 0 || slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == variable && e.ValueFrom != nil })
	})
}

// imageReference matches the image references that container runtimes accept: a host and a path, a tag, a digest. An
// IPv6 host is in brackets.
var imageReference = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9.-]+|\[[a-fA-F0-9:.]+\])(?::[0-9]+)?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

func imagesCheck(d appsv1.Deployment) checked {
	const name = "images of edges"
	edge, envoy := imagesOf(d)
	var moving, referred []string
	for _, x := range []struct{ variable, image string }{{command.EnvEdgeImage, edge}, {command.EnvEnvoyImage, envoy}} {
		parts := imageReference.FindStringSubmatch(x.image)
		switch {
		case x.image == "" && refersTo(d, x.variable):
			referred = append(referred, x.variable)
		case x.image == "":
			return lineOf(name, about(problem.EdgeImageUnset, "Deployment", d.Namespace, d.Name, problem.Args{"variable": {x.variable}}))
		case parts == nil:
			return lineOf(name, about(problem.EdgeImageInvalid, "Deployment", d.Namespace, d.Name, problem.Args{"variable": {x.variable}, "image": {strconv.Quote(x.image)}}))
		case parts[2] == "" && (parts[1] == "" || parts[1] == ":latest"):
			moving = append(moving, x.image)
		}
	}
	var ps problem.Problems
	if len(moving) > 0 {
		ps = found(problem.EdgeImageMoves, problem.Args{"images": {strings.Join(moving, " and ")}})
	}
	if len(referred) > 0 {
		ps = append(ps, about(problem.EdgeImageReferred, "Deployment", d.Namespace, d.Name, problem.Args{"variables": {strings.Join(referred, " and ")}})...)
	}
	return lineOf(name, ps).asideIf(d.Status.AvailableReplicas > 0) // A running operator has both images.
}

// notPulled returns the kubelet's message about a failed pull of the pod's image. Empty: the node has the image, or is
// still pulling it.
func notPulled(pod *corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && (strings.Contains(w.Reason, "Image") || w.Reason == "RegistryUnavailable" || w.Reason == "SignatureValidationFailed") {
			return strings.TrimSpace(w.Reason + " " + w.Message)
		}
	}
	return ""
}

// pullsAgainFor limits the wait for another pull after a failed one. The kubelet tries again after 10 seconds, and
// then after another 20 seconds.
const pullsAgainFor = 45 * time.Second

// A pull is the state of the pull of a pod's image.
type pull struct {
	// failure is the kubelet's message about the last failed pull. Empty: the image was pulled, or its first pull has
	// not ended.
	failure string
	// waitsSince is when the kubelet was first seen in ImagePullBackOff. Zero: never.
	waitsSince time.Time
	// gaveUp is true if the image will not be pulled soon.
	gaveUp bool
}

// seen returns p after an update from the status of pod. Parameter now is the current time.
func (p pull) seen(pod *corev1.Pod, now time.Time) pull {
	why, waits := notPulled(pod), waitsFor(pod, "ImagePullBackOff")
	switch {
	case why == "":
		return pull{}
	case !waits, p.failure == "":
		p.failure = why // While the kubelet waits, its message is only that it waits.
	}
	if waits && p.waitsSince.IsZero() {
		p.waitsSince = now
	}
	p.gaveUp = waitsFor(pod, "InvalidImageName", "ErrImageNeverPull") || !p.waitsSince.IsZero() && now.Sub(p.waitsSince) >= pullsAgainFor
	return p
}

func waitsFor(pod *corev1.Pod, reasons ...string) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
	})
}

func imageOn(node string) string {
	if node == "" {
		return "image of edges"
	}
	return "image of edges on node " + node
}
