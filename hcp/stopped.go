// This file finds why HyperShift creates no control plane or no nodes: refusals of its controllers, and what users
// paused. It also finds VMs that KubeVirt does not create or start.

package hcp

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A stop is the reason why HyperShift creates no new nodes of a NodePool, or does not update it. Besides cause, either
// field or error is set. If error is the text of a condition, condition is its type. If field has labels, label is one of
// them.
type stop struct {
	cause                          problem.Cause
	field, label, condition, error string
}

// stopped returns a problem for each reason why HyperShift creates no control plane of o, or no nodes. If nodes exist
// already, the causes differ, because VMs still boot, and Cluster API still replaces them.
func stopped(o objects.Objects) (ps problem.Problems) {
	hc, exist := o.HostedCluster, len(o.VMs) > 0 || hasNodes(o)
	cause, paused := problem.ControlPlaneRefused, isTrue(hc.Spec.PausedUntil)
	if exist || hc.Status.ControlPlaneEndpoint.Host != "" {
		cause = problem.ControlPlaneNotUpdated
	}
	for _, c := range hc.Status.Conditions {
		former := isFormer(c.ObservedGeneration, hc.Generation)
		if !former && (lenient.RefusesCluster(c) || cause == problem.ControlPlaneRefused && failsEarly(hc, c)) {
			ps = append(ps, problem.New(cause, problem.Subject{}, problem.Args{"condition": {c.Type}, "error": {quoted(c.Reason, c.Message)}}))
		}
		paused = paused || !former && isFalse(c, hyperv1.ReconciliationActive)
	}
	if paused {
		ps = append(ps, problem.New(problem.HyperShiftPaused, problem.Subject{}, nil, "spec.pausedUntil"))
	}
	turnedOff := func(c problem.Cause, annotation string) bool {
		_, off := hc.Annotations[annotation]
		if off {
			ps = append(ps, problem.New(c, problem.Subject{}, problem.Args{"annotation": {annotation}}))
		}
		return off
	}
	turnedOff(problem.IgnitionServerDisabled, hyperv1.DisableIgnitionServerAnnotation)
	if cause == problem.ControlPlaneRefused {
		turnedOff(problem.CertificatesDisabled, hyperv1.DisablePKIReconciliationAnnotation)
	}
	if namespace := objects.ControlPlaneNamespace(hc); len(namespace) > maxName {
		ps = append(ps, problem.New(problem.ControlPlaneNameTooLong, problem.Subject{}, problem.Args{"namespace": {namespace}}, "metadata.name"))
	}
	// HyperShift's ValidateAuthenticationSpec refuses this.
	if c := hc.Spec.Configuration; cause == problem.ControlPlaneRefused && c != nil && c.Authentication != nil && c.Authentication.Type == "" {
		ps = append(ps, problem.New(problem.AuthenticationWithoutType, problem.Subject{}, nil, "spec.configuration.authentication"))
	}
	noMachines := turnedOff(problem.MachineManagementDisabled, hyperv1.DisableMachineManagement)
	if len(hc.Spec.InfraID) > maxName { // setMachineDeploymentMetadata and reconcileMachineSet in nodepool/capi.go
		noMachines, ps = true, append(ps, problem.New(problem.InfraIDTooLong, problem.Subject{}, nil, "spec.infraID"))
	}

	var dotted []string
	byStop, sizes, patchErrors, wanted := map[stop][]string{}, networks.NodePoolSizes(o), networks.PatchErrors(o), 0
	for _, np := range o.NodePools {
		if sizes[np.Name] == 0 || np.DeletionTimestamp != nil {
			continue
		}
		wanted++
		// KubeVirt's SanitizeHostname drops the name from the first dot. afterburn makes the rest the host name of the node.
		if !exist && strings.Contains(np.Name, ".") {
			dotted = append(dotted, np.Name)
		}
		if s := stopOf(hc, np, patchErrors[np.Name]); s.cause != "" {
			byStop[s] = append(byStop[s], np.Name)
			if s.cause != problem.NodePoolLabelStopsUpdates {
				wanted--
			}
		}
	}
	if len(dotted) > 0 {
		slices.Sort(dotted)
		ps = append(ps, problem.New(problem.NodePoolNameHasDot, problem.Subject{}, problem.Args{"nodePools": dotted[:min(len(dotted), maxNamed)]}, "metadata.name"))
	}
	switch none := wanted == 0 && len(byStop) > 0; {
	case !exist && (paused || noMachines || none):
		ps = append(ps, problem.New(problem.NoNodePoolCreatesNodes, problem.Subject{}, nil))
	case none:
		ps = append(ps, problem.New(problem.NoNewNodes, problem.Subject{}, nil))
	}
	for _, s := range slices.SortedFunc(maps.Keys(byStop), func(a, b stop) int {
		return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.condition, b.condition), cmp.Compare(a.error, b.error), cmp.Compare(a.label, b.label))
	}) {
		ps = append(ps, s.problemOf(slices.Sorted(slices.Values(byStop[s]))))
	}
	return ps
}

// problemOf returns the problem that s stops pools.
func (s stop) problemOf(pools []string) problem.Problem {
	args := problem.Args{"nodePools": pools[:min(len(pools), maxNamed)]}
	if s.field == "" {
		args["error"] = problem.Values{s.error}
		if s.condition != "" {
			args["condition"] = problem.Values{s.condition}
		}
		return problem.New(s.cause, problem.Subject{}, args)
	}
	if s.label != "" {
		args["label"] = problem.Values{s.label}
	}
	return problem.New(s.cause, problem.Subject{}, args, s.field)
}

// maxName is the maximum length of a namespace and of the value of a label.
const maxName = 63

// maxNamed is the maximum number of NodePools, or of values of one field, that a problem names.
const maxNamed = 10

// stopOf returns why HyperShift creates no new nodes of np or does not update it, or the zero stop if it does both. A time in
// spec.pausedUntil stops np only while a condition reports the pause. Conditions are ignored until Ignition is
// published: until the control plane has its configuration, HyperShift reports ValidMachineConfig False
// (MissingCoreConfigError).
func stopOf(hc *hyperv1.HostedCluster, np hyperv1.NodePool, patchError string) stop {
	kv, updates := np.Spec.Platform.Kubevirt, stop{}
	if label := invalidLabel(np.Spec.NodeLabels); label != "" {
		updates = stop{cause: problem.NodePoolLabelStopsUpdates, field: "spec.nodeLabels", label: label}
	}
	switch {
	case isTrue(np.Spec.PausedUntil):
		return stop{cause: problem.NodePoolPaused, field: "spec.pausedUntil"}
	case len(np.Name) > maxName:
		return stop{cause: problem.NodePoolNameTooLong, field: "metadata.name"}
	case kv != nil && kv.RootVolume != nil && kv.RootVolume.Persistent == nil: // PlatformValidation in nodepool/kubevirt/kubevirt.go
		return stop{cause: problem.NodePoolWithoutVolume, field: "spec.platform.kubevirt.rootVolume"}
	case networks.WithoutNetworks(np): // PlatformValidation, too
		return stop{cause: problem.NodePoolWithoutNetwork, field: network.FieldAdditionalNetworks}
	case isNewer(hc, np):
		return stop{cause: problem.NodePoolReleaseNewer, field: "spec.release.image"}
	case patchError != "":
		return stop{cause: problem.NodePoolPatchRefused, error: patchError}
	case updates.label != "" && np.Spec.Management.UpgradeType == hyperv1.UpgradeTypeInPlace:
		return stop{cause: problem.NodePoolLabelInvalid, field: updates.field, label: updates.label}
	}
	if hc.Status.IgnitionEndpoint == "" {
		return updates
	}
	for _, c := range np.Status.Conditions {
		if c.Type == hyperv1.NodePoolValidArchPlatform && !slices.Contains([]string{"", hyperv1.ArchitectureAMD64, hyperv1.ArchitectureS390X}, np.Spec.Arch) {
			continue // For an architecture that KubeVirt does not have, HyperShift uses the image of amd64.
		}
		if lenient.RefusesNodePool(c) && !isFormer(c.ObservedGeneration, np.Generation) {
			return stop{cause: problem.NodePoolRefused, condition: c.Type, error: quoted(c.Reason, c.Message)}
		}
	}
	return updates
}

// isNewer reports whether np has a newer minor release than hc, which HyperShift refuses (IsValidReleaseVersion in
// support/supportedversion/version.go).
func isNewer(hc *hyperv1.HostedCluster, np hyperv1.NodePool) bool {
	_, now := objects.Releases(hc)
	_, skips := hc.Annotations[hyperv1.SkipReleaseImageValidation]
	return !skips && objects.ReleaseOf(np.Spec.Release.Image).NewerThan(now)
}

// managedLabel is what HyperShift puts before the keys of nodeLabels when it sets them on Machines. In a MachineSet, they
// are in its template (reconcileMachineSet in nodepool/capi.go). For a MachineDeployment, HyperShift sets them on Machines
// that exist, and on an error, it changes neither the replicas nor the template (propagateLabelsAndTaintsToMachines).
const managedLabel = "managed.hypershift.openshift.io."

// invalidLabel returns the first of nodeLabels that Kubernetes refuses on Machines, or "" if there is none.
func invalidLabel(nodeLabels map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(nodeLabels)) {
		if value := nodeLabels[key]; len(validation.IsQualifiedName(managedLabel+key))+len(validation.IsValidLabelValue(value)) > 0 {
			return strconv.Quote(key + "=" + value)
		}
	}
	return ""
}

// isTrue reports whether until, the value of spec.pausedUntil, is true instead of a time.
func isTrue(until *string) bool {
	if until == nil {
		return false
	}
	paused, err := strconv.ParseBool(*until)
	return err == nil && paused
}

// isFalse reports whether c is a condition of the given type with status False.
func isFalse(c metav1.Condition, of hyperv1.ConditionType) bool {
	return c.Type == string(of) && c.Status == metav1.ConditionFalse
}

// failsEarly reports whether c says that HyperShift fails before it validates hc. HyperShift before 0.1.80 looks up the
// pull secret and the release image before it writes other conditions. An error after validation may concern one
// attempt only.
func failsEarly(hc *hyperv1.HostedCluster, c metav1.Condition) bool {
	return isFalse(c, hyperv1.ReconciliationSucceeded) && !slices.ContainsFunc(hc.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == string(hyperv1.ValidHostedClusterConfiguration)
	})
}

// isFormer reports whether a condition describes another generation of its object. Parameter observed is the
// condition's observedGeneration. If it is 0, the generation is unknown, and isFormer returns false.
func isFormer(observed, generation int64) bool { return observed != 0 && observed != generation }

// dialer matches the source address and port of a connection in an error of package net.
var dialer = regexp.MustCompile(`\S+->`)

// quoted returns the reason and the message of a condition on one line. It removes what dialer matches, because source
// ports differ each time.
func quoted(reason, message string) string {
	message = dialer.ReplaceAllString(message, "")
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(reason+": "+message, ""))
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ":")
}

const (
	// startsWithin is how long a VM may take to start, for example until an autoscaler has added a node.
	startsWithin = 10 * time.Minute
	// maxNotStarted is the maximum number of VMs that a problem names.
	maxNotStarted = 5
)

// NotStarted returns a problem for each reason why VMs of o that boot from a network have not started at the time now, or
// do not exist. Of VMs with one reason, KubeVirt's message is that of the first. Files may be old, so a VM in files needs
// a reason.
func NotStarted(o Objects, now time.Time) (ps problem.Problems) {
	waiting := network.Without(o.VMs, func(m lenient.VirtualMachineInstance) bool {
		return !m.Starting() || m.DeletionTimestamp != nil || now.Sub(m.CreationTimestamp.Time) <= startsWithin
	})
	slices.SortFunc(waiting, func(a, b lenient.VirtualMachineInstance) int { return strings.Compare(a.Name, b.Name) })
	late := map[string]problem.Args{}
	for _, m := range waiting {
		reason, text := notStarted(m, o.Partial)
		from, boots := networks.BootsFrom(m)
		if text == "" || !boots {
			continue
		}
		args := late[reason]
		if args == nil {
			args = problem.Args{"namespace": {m.Namespace}, "error": {text}}
			late[reason] = args
		}
		if len(args["newVMs"]) < maxNotStarted {
			args["newVMs"] = append(args["newVMs"], m.Name)
		}
		if !slices.Contains(args["network"], from.String()) {
			args["network"] = append(args["network"], from.String())
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(late)) {
		ps = append(ps, problem.New(problem.VMsNotStarted, problem.Subject{}, late[reason]))
	}
	return append(ps, notCreated(o, now)...)
}

// notCreated returns a problem for NodePools of o whose Machines have had no VMs for long, for each set of reasons.
func notCreated(o Objects, now time.Time) (ps problem.Problems) {
	late := map[string][]string{}
	for _, np := range o.NodePools {
		if np.DeletionTimestamp != nil || len(objects.Attachments(o.HostedCluster, np)) == 0 {
			continue
		}
		for _, c := range np.Status.Conditions {
			reasons := strings.Join(lenient.WithoutVMs(c), ", ")
			if reasons != "" && now.Sub(c.LastTransitionTime.Time) > startsWithin && !isFormer(c.ObservedGeneration, np.Generation) {
				late[reasons] = append(late[reasons], np.Name)
			}
		}
	}
	for _, reasons := range slices.Sorted(maps.Keys(late)) {
		pools := slices.Sorted(slices.Values(late[reasons]))
		args := problem.Args{"nodePools": pools[:min(len(pools), maxNamed)], "namespace": {objects.ControlPlaneNamespace(o.HostedCluster)}, "error": {reasons}}
		ps = append(ps, problem.New(problem.VMsNotCreated, problem.Subject{}, args))
	}
	return ps
}

// notStarted returns why m has not started: a reason, and a text with the reason. Both are empty if KubeVirt gives none,
// unless m has had a pod for long.
func notStarted(m lenient.VirtualMachineInstance, files bool) (reason, text string) {
	for _, c := range m.Status.Conditions {
		if c.Reason+c.Message != "" {
			return c.Reason, strings.TrimSuffix(quoted(c.Reason, c.Message), ".")
		}
	}
	if m.PodStarting() && !files {
		return m.Status.Phase, "phase " + m.Status.Phase
	}
	return "", ""
}
