// This file decides the volumes of an edge's pod, and which container mounts them. Package edge/wire decides which
// files are there.

package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// Volumes in addition to those of wire.RunMounts, whose names begin with runPrefix.
const (
	planVolume    = "plan"
	podinfoVolume = "podinfo"
	tokenVolume   = "token"
	runPrefix     = "run-"
)

// mounts returns the volume mounts of a program's container. Envoy needs neither the plan nor the pod's annotations.
func mounts(n network.Network, program string) []*corev1ac.VolumeMountApplyConfiguration {
	var out []*corev1ac.VolumeMountApplyConfiguration
	for _, m := range wire.RunMounts(n, program) {
		out = append(out, mount(runPrefix+m.Name, wire.Dir(wire.RunDir, m.Name), m.ReadOnly))
	}
	if program == wire.Envoy {
		return out
	}
	out = append(out, mount(planVolume, wire.PlanDir, true), mount(podinfoVolume, wire.PodinfoDir, true))
	if wire.HoldsToken(n.Services, program) {
		out = append(out, mount(tokenVolume, wire.TokenDir, true))
	}
	return out
}

func mount(name, path string, readOnly bool) *corev1ac.VolumeMountApplyConfiguration {
	m := corev1ac.VolumeMount().WithName(name).WithMountPath(path)
	if readOnly {
		m.WithReadOnly(true)
	}
	return m
}

func volumesOf(containers []*corev1ac.ContainerApplyConfiguration) []*corev1ac.VolumeApplyConfiguration {
	var names []string
	for _, c := range containers {
		for _, m := range c.VolumeMounts {
			if !slices.Contains(names, *m.Name) {
				names = append(names, *m.Name)
			}
		}
	}
	slices.Sort(names)
	var out []*corev1ac.VolumeApplyConfiguration
	for _, name := range names {
		out = append(out, volume(name))
	}
	return out
}

func volume(name string) *corev1ac.VolumeApplyConfiguration {
	v := corev1ac.Volume().WithName(name)
	switch name {
	case planVolume:
		return v.WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(wire.PlanConfigMap))
	case podinfoVolume:
		return v.WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().WithItems(
			corev1ac.DownwardAPIVolumeFile().WithPath(wire.PodinfoAnnotations).WithFieldRef(fieldRef("metadata.annotations"))))
	case tokenVolume:
		return v.WithProjected(corev1ac.ProjectedVolumeSource().WithSources(
			corev1ac.VolumeProjection().WithServiceAccountToken(
				corev1ac.ServiceAccountTokenProjection().WithPath("token").WithExpirationSeconds(3607)),
			corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().WithName("kube-root-ca.crt").
				WithItems(corev1ac.KeyToPath().WithKey("ca.crt").WithPath("ca.crt"))),
			corev1ac.VolumeProjection().WithDownwardAPI(corev1ac.DownwardAPIProjection().WithItems(
				corev1ac.DownwardAPIVolumeFile().WithPath("namespace").WithFieldRef(fieldRef("metadata.namespace"))))))
	}
	return v.WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithMedium(corev1.StorageMediumMemory).
		WithSizeLimit(resource.MustParse(runSize(name))))
}

// runSize returns the size limit of the volume of a run directory. Its files count as memory of the container that
// writes them. The DHCP server needs twice the space of its leases while it replaces them: 65,000 leases have 10 MB.
// The proxy stores the endpoints of its backends, and the others have sockets and small files.
func runSize(volume string) string {
	switch volume {
	case runPrefix + string(network.ServiceDHCP):
		return "32Mi"
	case runPrefix + string(network.ServiceProxy), runPrefix + string(network.ServiceDNS):
		return "4Mi"
	}
	return "1Mi"
}

func fieldRef(path string) *corev1ac.ObjectFieldSelectorApplyConfiguration {
	return corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath(path)
}
