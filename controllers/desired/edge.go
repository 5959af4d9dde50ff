// Package desired makes the objects that oooi creates in a control plane namespace, one file for each. The package is pure:
// each object follows from the plan, the release, and few facts. Pods request no user, no host path and no capability.
//
// The servers in the pod of an edge read the plan. So the pod is recreated only if its addresses, its NAD or its images
// change.
package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// untilServing is the startup deadline of a container: a day, in seconds. While the API server is unavailable, a
// container may serve its last known good state without being ready, and must not be restarted.
const untilServing = 24 * 60 * 60

// GraceSeconds is the pod's termination grace period. The servers continue for serveOnSeconds of it, while the
// failover agent hands the VMs over (4 s at most).
const (
	GraceSeconds    = 15
	serveOnSeconds  = 5
	acdGraceSeconds = 5
)

// EdgeDeployment returns the Deployment of e. The hash of its pod template, in an annotation, shows whether applying it
// recreates the pod.
func EdgeDeployment(n network.Network, e network.Edge, r Release, ns string, away Away) *appsv1ac.DeploymentApplyConfiguration {
	name, labels := wire.EdgeDeploymentName(n, e), wire.EdgeLabels(n, e)
	return deploymentOf(name, ns, labels, away, func(away []string) *corev1ac.PodTemplateSpecApplyConfiguration {
		return edgeTemplate(n, e, r, ns, away)
	})
}

// edgeTemplate returns the pod template of e. The pod prefers nodes that are not in away.
func edgeTemplate(n network.Network, e network.Edge, r Release, ns string, away []string) *corev1ac.PodTemplateSpecApplyConfiguration {
	return corev1ac.PodTemplateSpec().
		WithLabels(wire.Written(wire.EdgeLabels(n, e))).
		WithAnnotations(podAnnotations(n, attachments.OfEdge(n, e, ns), string(n.Services[len(n.Services)-1]))).
		WithSpec(pod(n, away, containers(n, e, r)...).
			WithTerminationGracePeriodSeconds(GraceSeconds).
			WithTopologySpreadConstraints(spread(n)))
}

// A Release has what the edges of all hosted clusters have in common.
type Release struct {
	// Image is the image of edges, with wire.Program as its entrypoint. EnvoyImage has envoy as
	// its entrypoint. Both have a numeric user.
	Image, EnvoyImage string
	// VMResource is the name of VirtualMachineInstances in the API server that edges use: "plural.group". Empty:
	// KubeVirt's own name.
	VMResource string
}

// Hash returns the hash of a pod template that does not depend on a hosted cluster. It changes with the images, and
// with what this version of the operator puts into each edge.
func (r Release) Hash() string {
	n := AnyNetwork()
	return Hash(edgeTemplate(n, n.Edges[0], r, "", nil))
}

// An Away returns the nodes that a pod with this template's hash prefers to avoid.
type Away func(hash string) []string

// A templateOf returns the template of a pod that prefers nodes that are not in away.
type templateOf func(away []string) *corev1ac.PodTemplateSpecApplyConfiguration

// deploymentOf returns a Deployment with at most one pod, since two pods must never hold the same addresses. away is
// not in the hash, and stays the same until another field changes. So changes of nodes do not recreate pods.
func deploymentOf(name, ns string, labels map[string]string, away Away, template templateOf) *appsv1ac.DeploymentApplyConfiguration {
	hash := Hash(template(nil))
	return appsv1ac.Deployment(name, ns).
		WithLabels(labels).
		WithAnnotations(map[string]string{wire.AnnotationTemplate: hash}).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(1).
			WithRevisionHistoryLimit(1).
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(template(away(hash))))
}

// Hash returns 16 hexadecimal digits for v as JSON.
func Hash(v any) string {
	sum := sha256.Sum256(encoded(v))
	return hex.EncodeToString(sum[:8])
}

func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("desired: what we build is always JSON: " + err.Error())
	}
	return b
}

// podAnnotations returns the annotations of a pod on n. They change with n's NAD and client networks, because Multus
// reads the edge NAD only when it creates a pod.
func podAnnotations(n network.Network, networks, container string) map[string]string {
	out := map[string]string{
		wire.AnnotationNetworks:                   networks,
		"openshift.io/required-scc":               "restricted-v2",
		"kubectl.kubernetes.io/default-container": container,
	}
	if hash := n.Attachment.ConfigHash; hash != "" {
		out[wire.AnnotationNetworkConfig] = hash
	}
	if routes := n.ClientRoutes(); len(routes) > 0 {
		out[wire.AnnotationClientRoutes] = network.RouteList(routes)
	}
	return out
}

// pod returns the spec of a pod on n. A pod needs the NAD's resource once, so only the first container requests it.
func pod(n network.Network, away []string, containers ...*corev1ac.ContainerApplyConfiguration) *corev1ac.PodSpecApplyConfiguration {
	withResource(containers[0], n.Attachment.ResourceName)
	pod := corev1ac.PodSpec().
		WithServiceAccountName(wire.ServiceAccount).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithImagePullSecrets(corev1ac.LocalObjectReference().WithName("pull-secret")).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)).
			// A sysctl of the safe set. It allows ports below 1024 without a capability.
			WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))).
		WithVolumes(volumesOf(containers)...).
		WithTolerations(tolerations(n.Placement)...).
		WithAffinity(affinity(n.Placement, away)).
		WithContainers(containers...)
	if class := n.Placement.PriorityClass; class != "" {
		pod.WithPriorityClassName(class)
	}
	return pod
}

// containers returns the servers of n, Envoy and the failover agent. When the pod terminates, the agent stops
// immediately, and the others serve while it hands the VMs over.
func containers(n network.Network, e network.Edge, r Release) []*corev1ac.ContainerApplyConfiguration {
	var out []*corev1ac.ContainerApplyConfiguration
	for _, s := range n.Services {
		if s == network.ServiceProxy {
			memory := strconv.FormatUint(memoryOfEnvoy(), 10)
			out = append(out, server(string(s), n, e.Number, r, "--no-envoy", "--envoy-memory", memory), envoyContainer(n, e, r))
			continue
		}
		c := server(string(s), n, e.Number, r)
		if s == network.ServiceDNS {
			c.WithPorts(podDNSPorts()...)
		}
		out = append(out, c)
	}
	if n.Access.HasProxy() {
		out = append(out, accessContainer(n, e, r))
	}
	for _, c := range out {
		sleep := corev1ac.SleepAction().WithSeconds(serveOnSeconds)
		c.WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithSleep(sleep)))
	}
	return append(out, server(wire.Failover, n, e.Number, r).WithPorts(metricsPort()))
}

// server returns a container of the image of edges. name is a network.Service, wire.Failover or wire.ACD. edge is 0 if
// the pod is not an edge.
func server(name string, n network.Network, edge int, r Release, more ...string) *corev1ac.ContainerApplyConfiguration {
	probe := corev1ac.Probe().
		WithExec(corev1ac.ExecAction().WithCommand(wire.ProbeCommand(name)...)).
		WithTimeoutSeconds(5)
	startup := *probe
	return unprobed(name, n, edge, r, more...).
		// Each probe starts a process. So it is frequent only until the container serves.
		WithStartupProbe(startup.WithPeriodSeconds(1).WithFailureThreshold(untilServing)).
		WithReadinessProbe(probe.WithPeriodSeconds(10).WithFailureThreshold(3))
}

// unprobed returns the container of server without probes, so that it is always ready.
func unprobed(name string, n network.Network, edge int, r Release, more ...string) *corev1ac.ContainerApplyConfiguration {
	watch := wire.WatchArguments(n.Services, name)
	if r.VMResource != "" && wire.HoldsToken(n.Services, name) {
		watch = append(watch, "--vm-resource", r.VMResource)
	}
	args := slices.Concat([]string{name, "--plan", wire.PlanFile}, watch, []string{
		"--network", n.Name, "--edge", strconv.Itoa(edge),
		"--interface", wire.Device, "--run-dir", wire.RunDir, "--podinfo", wire.PodinfoDir,
	}, more)
	resources := resourcesOf(name)
	var env []*corev1ac.EnvVarApplyConfiguration
	if name == wire.Watcher(n.Services) {
		ofPod := corev1ac.ObjectFieldSelector().WithFieldPath("spec.nodeName")
		env = append(env, corev1ac.EnvVar().WithName(wire.NodeVariable).WithValueFrom(corev1ac.EnvVarSource().WithFieldRef(ofPod)))
	}
	return contained(corev1ac.Container().WithName(name)).
		WithImage(r.Image).
		WithArgs(args...).
		WithEnv(append(env, corev1ac.EnvVar().WithName("GOMEMLIMIT").WithValue(goMemoryLimit(resources)))...).
		WithResources(resources).
		WithVolumeMounts(mounts(n, name)...)
}

// goMemoryLimit returns nine tenths of the container's limit, in bytes. Socket buffers of the kernel and files in the run
// directory count as memory as well.
func goMemoryLimit(r *corev1ac.ResourceRequirementsApplyConfiguration) string {
	return strconv.FormatInt(r.Limits.Memory().Value()/10*9, 10)
}

// memoryOfEnvoy returns the memory limit of Envoy's container in bytes.
func memoryOfEnvoy() uint64 { return uint64(resourcesOf(wire.Envoy).Limits.Memory().Value()) }

// envoyContainer returns the container of Envoy. It gets no token, and reads its configuration from a Unix socket.
// `oooi-edge proxy` limits its open files.
func envoyContainer(n network.Network, e network.Edge, r Release) *corev1ac.ContainerApplyConfiguration {
	return contained(corev1ac.Container().WithName(wire.Envoy)).
		WithImage(r.EnvoyImage).
		WithArgs(resources.Arguments(resources.NewDirs(wire.EnvoyDirs(wire.RunDir)), wire.EdgeDeploymentName(n, e), resources.NewLimits(memoryOfEnvoy(), 0))...).
		WithResources(resourcesOf(wire.Envoy)).
		WithVolumeMounts(mounts(n, wire.Envoy)...)
}

// contained returns c with what Pod Security level restricted requires, and a read-only root file system.
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

// resourcesOf returns the resources of a program's container. Requests are above what an edge with little traffic uses,
// so that it is not evicted first. Limits are above what a full edge uses: 3,000 leases, 500 VMs and 20,000
// connections. See docs/performance.md.
func resourcesOf(program string) *corev1ac.ResourceRequirementsApplyConfiguration {
	cpu, memory, memoryLimit := "10m", "48Mi", "256Mi"
	switch program {
	case string(network.ServiceDHCP):
		memory = "64Mi" // For a full pool.
	case wire.Envoy:
		cpu, memory, memoryLimit = "50m", "128Mi", "2560Mi" // The request is for 3,500 connections.
	}
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}).
		WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memoryLimit)})
}

// withResource adds to c a request for the NAD's resource, which only nodes on the VLAN offer. name is empty if there is none.
func withResource(c *corev1ac.ContainerApplyConfiguration, name string) {
	if name != "" {
		(*c.Resources.Requests)[corev1.ResourceName(name)] = resource.MustParse("1")
		(*c.Resources.Limits)[corev1.ResourceName(name)] = resource.MustParse("1")
	}
}
