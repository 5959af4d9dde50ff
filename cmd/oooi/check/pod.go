// This file builds the pod that acts as a VM, and chooses its address. It is pure.

package check

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// If parameter asked is set, addressToTry returns it, or an error if it cannot be used. Otherwise it returns the last
// free address of the DHCP pool, or an error if that would exhaust the pool. The DHCP server probes for an address
// before it offers it, so no VM gets this one meanwhile.
func addressToTry(n network.Network, asked netip.Addr, leased []netip.Addr) (netip.Addr, error) {
	args := problem.Args{"address": {asked.String()}, "cidr": {n.CIDR.String()}, "network": {n.Attachment.String()}}
	held := append(reported.ProbedAddresses(n), reported.ProbeAddress(n), n.DHCP.Router)
	switch {
	case asked.IsValid() && (!n.CIDR.Contains(asked) || slices.Contains(slices.Concat(leased, held), asked)):
		return asked, untried(problem.TrialAddressUnusable, args)
	case asked.IsValid():
		return asked, nil
	}
	known := slices.Concat(leased, held, n.DHCP.Named)
	for _, r := range n.DHCP.Reservations {
		known = append(known, r.Address)
	}
	excluded := func(a netip.Addr) bool {
		return slices.ContainsFunc(n.DHCP.Exclude, func(r network.Range) bool { return r.Contains(a) })
	}
	var free []netip.Addr
	for a := n.DHCP.Range.Last; n.DHCP.Range.Contains(a) && len(free) < 2; a = a.Prev() {
		if !slices.Contains(known, a) && !excluded(a) {
			free = append(free, a)
		}
	}
	switch len(free) {
	case 0:
		return netip.Addr{}, untried(problem.TrialAddressUnknown, args)
	case 1:
		return netip.Addr{}, untried(problem.TrialAddressLast, args)
	}
	return free[0], nil
}

// isFailover reports whether c is the failover agent, a container that each edge has and that runs the image of edges.
func isFailover(c corev1.Container) bool { return c.Name == wire.Failover }

// onNode returns the affinity of a pod that must run on node. Empty node: nil.
func onNode(node string) *corev1.Affinity {
	if node == "" {
		return nil
	}
	name := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{name}}},
	}}}
}

// tryObjects returns the objects that the pod that acts as a VM on n needs, and the pod as the last. ConfigMap plan
// owns them. edge is the pod spec of an edge. isFailover is true for one of its containers. Parameter more has further
// arguments of the pod.
func tryObjects(n network.Network, address netip.Addr, plan *corev1.ConfigMap, edge corev1.PodSpec, more ...string) (out []client.Object) {
	networks, own, ok := attachments.OfVM(n, address, plan.Namespace)
	if ok {
		definition := &unstructured.Unstructured{}
		definition.SetGroupVersionKind(hcp.NADKind())
		definition.SetName(own.Name)
		definition.Object["spec"] = map[string]any{"config": own.Config}
		if own.ResourceName != "" {
			definition.SetAnnotations(map[string]string{wire.AnnotationResourceName: own.ResourceName})
		}
		out = append(out, definition)
	}
	pod := tryPod(n, plan.Name, edge)
	pod.Spec.Containers[0].Args = append(pod.Spec.Containers[0].Args, more...)
	pod.Annotations = map[string]string{wire.AnnotationNetworks: networks}
	out = append(out, pod)
	for _, o := range out {
		o.SetNamespace(plan.Namespace)
		o.SetLabels(wire.Written(map[string]string{wire.LabelName: wire.NameTry}))
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: plan.Name, UID: plan.UID}})
	}
	return out
}

// tryPod returns a pod with the image, the placement, the resources and the security context of edge. It has neither a
// token nor an edge's addresses. plan is the name of the ConfigMap with the plan.
func tryPod(n network.Network, plan string, edge corev1.PodSpec) *corev1.Pod {
	const volume = "plan"
	image := edge.Containers[slices.IndexFunc(edge.Containers, isFailover)]
	deadline := int64(triedWithin.Seconds())
	hostIP := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: wire.TryPodName(n)},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:        &deadline,
			AutomountServiceAccountToken: new(false),
			ImagePullSecrets:             edge.ImagePullSecrets,
			SecurityContext:              edge.SecurityContext,
			NodeSelector:                 edge.NodeSelector,
			Tolerations:                  edge.Tolerations,
			Containers: []corev1.Container{{
				Name: wire.Try, Image: image.Image, ImagePullPolicy: image.ImagePullPolicy,
				Args:                     []string{wire.Try, "--plan", wire.PlanFile, "--network", n.Name, "--interface", wire.Device},
				Env:                      []corev1.EnvVar{{Name: wire.HostVariable, ValueFrom: hostIP}},
				Resources:                edge.Containers[0].Resources, // The first container requests the device of the network.
				SecurityContext:          image.SecurityContext,
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				VolumeMounts:             []corev1.VolumeMount{{Name: volume, MountPath: wire.PlanDir, ReadOnly: true}},
			}},
			Volumes: []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: plan}},
			}}},
		},
	}
}
