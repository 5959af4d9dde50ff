// This file decides the Deployment of one edge. It is pure. What the servers in
// the pod serve they read from the plan, so the pod is made anew only when its
// addresses, its network or its images change.

package controllers

import (
	"encoding/json"
	"net/netip"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

// untilServing is how many seconds a container may take to serve: a day. While
// the API server is away it serves what it remembers, and is not stopped for
// not being ready.
const untilServing = 24 * 60 * 60

// The inside of an edge's pod.
const (
	device     = "net1"
	runDir     = "/run/oooi"
	planDir    = "/etc/oooi"
	podinfoDir = "/etc/podinfo"
	tokenDir   = "/var/run/secrets/kubernetes.io/serviceaccount"

	networksAnnotation     = "k8s.v1.cni.cncf.io/networks"
	resourceNameAnnotation = "k8s.v1.cni.cncf.io/resourceName"
)

func edgeDeployment(w world, n network.Network, e network.Edge, o Options, ns string) *appsv1ac.DeploymentApplyConfiguration {
	labels := edgeLabels(n, e)
	return appsv1ac.Deployment(edgeName(n, e), ns).
		WithLabels(labels).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(1).
			WithRevisionHistoryLimit(1).
			// Two pods must never hold the same addresses.
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithAnnotations(map[string]string{
					networksAnnotation:                        podNetworks(n, e, ns),
					"openshift.io/required-scc":               "restricted-v2",
					"kubectl.kubernetes.io/default-container": string(n.Services[len(n.Services)-1]),
				}).
				WithSpec(edgePod(w, n, e, o))))
}

// podNetworks is what Multus reads: which definition, and all addresses.
func podNetworks(n network.Network, e network.Edge, ns string) string {
	type selection struct {
		Name      string   `json:"name"`
		Namespace string   `json:"namespace"`
		IPs       []string `json:"ips"`
		Interface string   `json:"interface"`
	}
	s := selection{Name: siblingName(n), Namespace: ns, Interface: device}
	if n.Attachment.SiblingConfig == "" {
		s.Name, s.Namespace = n.Attachment.Name, n.Attachment.Namespace
	}
	s.IPs = []string{netip.PrefixFrom(e.Address, n.CIDR.Bits()).String()}
	for _, a := range append([]netip.Addr{n.NextHop, n.ServiceAddress}, n.PublishedAddresses...) {
		s.IPs = append(s.IPs, netip.PrefixFrom(a, a.BitLen()).String())
	}
	b, err := json.Marshal([]selection{s})
	if err != nil {
		panic("controllers: strings are always JSON: " + err.Error())
	}
	return string(b)
}

func edgePod(w world, n network.Network, e network.Edge, o Options) *corev1ac.PodSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		WithServiceAccountName(EdgeRole).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(10).
		WithImagePullSecrets(corev1ac.LocalObjectReference().WithName("pull-secret")).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)).
			// Of the safe set: ports below 1024 without a capability.
			WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))).
		WithVolumes(volumes()...).
		WithTolerations(tolerations(w)...).
		WithAffinity(affinity(w, n)).
		WithContainers(containers(n, e, o)...)
	if w.priorityClass {
		pod.WithPriorityClassName(priorityClass)
	}
	return pod
}

func volumes() []*corev1ac.VolumeApplyConfiguration {
	return []*corev1ac.VolumeApplyConfiguration{
		corev1ac.Volume().WithName("run").WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(resource.MustParse("16Mi"))),
		corev1ac.Volume().WithName("plan").WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(PlanConfigMap)),
		corev1ac.Volume().WithName("podinfo").WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().WithItems(
			corev1ac.DownwardAPIVolumeFile().WithPath("annotations").WithFieldRef(fieldRef("metadata.annotations")))),
		corev1ac.Volume().WithName("token").WithProjected(corev1ac.ProjectedVolumeSource().WithSources(
			corev1ac.VolumeProjection().WithServiceAccountToken(corev1ac.ServiceAccountTokenProjection().WithPath("token").WithExpirationSeconds(3607)),
			corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().WithName("kube-root-ca.crt").
				WithItems(corev1ac.KeyToPath().WithKey("ca.crt").WithPath("ca.crt"))),
			corev1ac.VolumeProjection().WithDownwardAPI(corev1ac.DownwardAPIProjection().WithItems(
				corev1ac.DownwardAPIVolumeFile().WithPath("namespace").WithFieldRef(fieldRef("metadata.namespace")))))),
	}
}

func fieldRef(path string) *corev1ac.ObjectFieldSelectorApplyConfiguration {
	return corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath(path)
}

// containers are the network's servers, and Envoy beside the proxy. The first
// one asks for the definition's resource, of which a pod needs one.
func containers(n network.Network, e network.Edge, o Options) []*corev1ac.ContainerApplyConfiguration {
	var out []*corev1ac.ContainerApplyConfiguration
	for _, s := range n.Services {
		if s == network.ServiceProxy {
			out = append(out, server(s, n, e, o, "--no-envoy"), envoyContainer(n, e, o))
			continue
		}
		out = append(out, server(s, n, e, o))
	}
	withResource(out[0], n.Attachment.ResourceName)
	return out
}

// server is one of ours: `oooi dhcp`, `oooi dns`, `oooi proxy`.
func server(service network.Service, n network.Network, e network.Edge, o Options, more ...string) *corev1ac.ContainerApplyConfiguration {
	name := string(service)
	args := append([]string{
		name,
		"--plan", planDir + "/" + PlanKey, "--watch",
		"--network", n.Name, "--edge", strconv.Itoa(e.Number),
		"--interface", device, "--run-dir", runDir, "--podinfo", podinfoDir,
	}, more...)
	probe := corev1ac.Probe().
		WithExec(corev1ac.ExecAction().WithCommand("oooi", "probe", name, "--run-dir", runDir)).
		WithTimeoutSeconds(5)
	startup := *probe
	return contained(corev1ac.Container().WithName(name)).
		WithImage(o.Image).
		WithArgs(args...).
		// Asked often until it serves, then seldom: each probe is a process.
		WithStartupProbe(startup.WithPeriodSeconds(1).WithFailureThreshold(untilServing)).
		WithReadinessProbe(probe.WithPeriodSeconds(10).WithFailureThreshold(3)).
		WithResources(resources("10m", "64Mi", "256Mi")).
		WithVolumeMounts(
			mount("run", runDir, false), mount("plan", planDir, true),
			mount("podinfo", podinfoDir, true), mount("token", tokenDir, true))
}

// envoyContainer gets no token: what it must know it is told over a Unix socket.
func envoyContainer(n network.Network, e network.Edge, o Options) *corev1ac.ContainerApplyConfiguration {
	return contained(corev1ac.Container().WithName("envoy")).
		WithImage(o.EnvoyImage).
		WithArgs(envoy.Arguments(runDir, edgeName(n, e))...).
		WithResources(resources("50m", "64Mi", "512Mi")).
		WithVolumeMounts(mount("run", runDir, false))
}

// contained is what Pod Security restricted asks of a container, and a root
// file system that nothing can be written to.
func contained(c *corev1ac.ContainerApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
	return c.
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithRunAsNonRoot(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)))
}

func mount(name, path string, readOnly bool) *corev1ac.VolumeMountApplyConfiguration {
	m := corev1ac.VolumeMount().WithName(name).WithMountPath(path)
	if readOnly {
		m.WithReadOnly(true)
	}
	return m
}

func resources(cpu, memory, memoryLimit string) *corev1ac.ResourceRequirementsApplyConfiguration {
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}).
		WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memoryLimit)})
}

// withResource asks for the definition's device plugin resource, which only
// nodes on the VLAN have.
func withResource(c *corev1ac.ContainerApplyConfiguration, name string) {
	if name != "" {
		(*c.Resources.Requests)[corev1.ResourceName(name)] = resource.MustParse("1")
		(*c.Resources.Limits)[corev1.ResourceName(name)] = resource.MustParse("1")
	}
}
