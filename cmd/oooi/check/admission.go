// This file asks the API server whether it would accept the pods of edges. Each request is a dry run, so nothing is
// created.

package check

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// An admitter asks the API server whether it would accept pod, and a Deployment of pods like this one. It returns the API
// server's warnings. If the API server refuses, it also returns the error.
type admitter func(ctx context.Context, pod *corev1.Pod) (warnings []string, err error)

// newAdmitter returns an admitter that sends dry runs with the credentials in config.
func newAdmitter(config *rest.Config) (admitter, error) {
	collected := &apiWarnings{}
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = collected
	api, err := command.NewClient(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, pod *corev1.Pod) ([]string, error) {
		deployment := deploymentOf(pod)
		err := api.Create(ctx, pod, client.DryRunAll)
		if err == nil { // A user who may create pods, and not Deployments, gets an answer about pods only.
			if refused := api.Create(ctx, deployment, client.DryRunAll); !lacksRight(refused) {
				err = refused
			}
		}
		return collected.take(), err
	}, nil
}

func deploymentOf(pod *corev1.Pod) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: pod.GenerateName, Labels: pod.Labels}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: pod.Labels}
	d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: *pod.Spec.DeepCopy()}
	return d
}

type apiWarnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. API servers send all warnings with code 299.
func (w *apiWarnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 && text != "" && !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

func (w *apiWarnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.texts
	w.texts = nil
	return out
}

// A podAdmission is the API server's answer about the pod of an edge.
type podAdmission struct {
	// Field of is the name of the network. Empty: there is no plan yet.
	of        string
	namespace string
	// warnings are those of the API server. err says why the API server refuses the pod. Nil: it accepts the pod.
	warnings []string
	err      error
	// served is true if an edge of the network is ready. The API server has then accepted such a pod before.
	// allReady is true if all its edges are ready.
	served, allReady bool
	// imagesUnknown is true if the operator's images are unknown. The pod then has placeholders.
	imagesUnknown bool
}

// readAdmissions asks about the pod of the first edge of each network. Without networks, it asks about a pod of
// desired.AnyNetwork. r has the images of the pods, and ns is their namespace.
func readAdmissions(ctx context.Context, ask admitter, api client.Reader, networks []network.Network, r desired.Release, ns string) (out []podAdmission) {
	if len(networks) == 0 {
		networks = []network.Network{desired.AnyNetwork()}
	}
	for _, n := range networks {
		if len(n.Edges) == 0 {
			continue
		}
		a := podAdmission{namespace: ns}
		if n.Name != "" {
			a.of = n.Attachment.String()
		}
		pod := desired.EdgePod(n, n.Edges[0], r, ns)
		if !joinable(ctx, api, n, ns) {
			delete(pod.Annotations, wire.AnnotationNetworks)
		}
		account := client.ObjectKey{Namespace: ns, Name: pod.Spec.ServiceAccountName}
		if apierrors.IsNotFound(api.Get(ctx, account, &corev1.ServiceAccount{})) {
			pod.Spec.ServiceAccountName = "default" // The operator creates the edges' ServiceAccount with the first edge.
		}
		a.warnings, a.err = ask(ctx, pod)
		out = append(out, a)
	}
	return out
}

// joinable reports whether all NADs that a pod of n joins exist. The operator creates NADs of edges only with the first
// edge, and a webhook may refuse an annotation with a missing NAD. A NAD that cannot be read counts as missing.
func joinable(ctx context.Context, api client.Reader, n network.Network, ns string) bool {
	return n.Name != "" && !slices.ContainsFunc(attachments.NADs(n), func(nad attachments.NAD) bool {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(hcp.NADKind())
		return api.Get(ctx, client.ObjectKey{Namespace: ns, Name: nad.Name}, o) != nil
	})
}

// admissionCheck returns the line about a. ok is false if HyperShift has not created the namespace yet.
func admissionCheck(a podAdmission) (c checked, ok bool) {
	name := "pods of edges are admitted"
	if a.of != "" {
		name = "pods of edges of " + a.of + " are admitted"
	}
	if lacksNamespace(a.err) {
		return c, false
	}
	cause := a.refusal()
	args := problem.Args{"namespace": {a.namespace}, "warnings": {strings.TrimSuffix(strings.Join(a.warnings, "; "), ".")}}
	if a.err != nil {
		args["error"] = failed(a.err)["error"]
	}
	if a.err == nil && len(a.warnings) > 0 {
		cause = problem.EdgePodWarned
	}
	var ps problem.Problems
	if cause != "" {
		ps = found(cause, args)
	}
	if a.served {
		ps = ps.NotBlocking() // Running edges continue. An edge that ends would not start again.
	}
	return lineOf(name, ps).asideIf(a.served), true
}

// lacksNamespace reports whether err means that the namespace of a new object does not exist or is being deleted.
func lacksNamespace(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return apierrors.IsNotFound(err) && details != nil && details.Kind == "namespaces" || strings.Contains(err.Error(), "is being terminated")
}

// refusal returns the cause if the API server refuses the pod, else "". Webhooks have no status code of their own, so the
// text of the error decides.
func (a podAdmission) refusal() problem.Cause {
	var status apierrors.APIStatus
	err := a.err
	has := func(part string) bool { return strings.Contains(err.Error(), part) }
	notAboutImages := []string{"failed calling webhook", "violates PodSecurity", "security context constraint", "exceeded quota", "failed quota", "usage per "}
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &status), lacksRight(err), has("does not support dry run"), has("error looking up service account"),
		!has("failed calling webhook") && (apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
			apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsUnauthorized(err)):
		return problem.EdgePodUnjudged
	case has("exceeded quota") && a.allReady:
		return "" // An edge is deleted before its next pod is created, which frees the quota.
	case a.imagesUnknown && !slices.ContainsFunc(notAboutImages, has):
		return problem.EdgePodOtherImages
	}
	return problem.EdgePodDenied
}

// lacksRight reports whether the API server refuses a new object because the user has no right to create it.
func lacksRight(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsForbidden(err) {
		return false
	}
	details := status.Status().Details
	return (details == nil || details.Name == "") && strings.Contains(err.Error(), " cannot create resource ")
}
