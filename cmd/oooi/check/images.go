// This file checks the images of edges: as the operator names them, and as a node pulls them. It is pure.

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

// imagesOf are the images of edges in the environment of the operator's pod. Empty: it has none as a plain value.
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

// refersTo reports whether d has a variable from another object, or may have it: then its value is not known.
func refersTo(d appsv1.Deployment, variable string) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return len(c.EnvFrom) > 0 || slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == variable && e.ValueFrom != nil })
	})
}

// imageReference is a name as container runtimes take it: host and path, a tag, a digest. An IPv6 host is in brackets.
var imageReference = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9.-]+|\[[a-fA-F0-9:.]+\])(?::[0-9]+)?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// imagesCheck checks the images that the operator d gives to edges.
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
	return lineOf(name, ps).asideIf(d.Status.AvailableReplicas > 0) // An operator that runs has both.
}

// notPulled says why the node does not have the image of a pod, in the kubelet's words. Empty: it has, or it still pulls.
func notPulled(pod *corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && (strings.Contains(w.Reason, "Image") || w.Reason == "RegistryUnavailable" || w.Reason == "SignatureValidationFailed") {
			return strings.TrimSpace(w.Reason + " " + w.Message)
		}
	}
	return ""
}

// pullsAgainFor is how long a pull that failed is waited for. The kubelet tries again after 10 seconds, and 20 seconds after that.
const pullsAgainFor = 45 * time.Second

// A pull is what was seen of the image of a pod so far.
type pull struct {
	// failure is why it was not pulled, in the kubelet's words. Empty: it was, or it is pulled for the first time.
	failure string
	// waitsSince is when the kubelet was first seen to wait before it tries again. Zero: it was not.
	waitsSince time.Time
	// gaveUp: it will not be pulled soon.
	gaveUp bool
}

// seen is p after pod was seen at now.
func (p pull) seen(pod *corev1.Pod, now time.Time) pull {
	why, waits := notPulled(pod), waitsFor(pod, "ImagePullBackOff")
	switch {
	case why == "":
		return pull{}
	case !waits, p.failure == "":
		p.failure = why // While the kubelet waits, it only says so.
	}
	if waits && p.waitsSince.IsZero() {
		p.waitsSince = now
	}
	p.gaveUp = waitsFor(pod, "InvalidImageName", "ErrImageNeverPull") || !p.waitsSince.IsZero() && now.Sub(p.waitsSince) >= pullsAgainFor
	return p
}

// waitsFor reports whether a container of pod waits for one of these reasons.
func waitsFor(pod *corev1.Pod, reasons ...string) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
	})
}

// imageOn names the line about the image on a node.
func imageOn(node string) string {
	if node == "" {
		return "image of edges"
	}
	return "image of edges on node " + node
}
