// This file decides whether edges can join the network that a NodePool names. Its NAD must exist, VMs must be allowed to
// use it, and package nad must support it.

package networks

import (
	"cmp"
	"slices"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/hcp/spelling"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// attachment returns the network of r with the details of its NAD. It returns the zero Attachment if edges cannot join the network.
func attachment(o indexed, r network.NetworkRequest) (network.Attachment, problem.Problems) {
	a, pools := r.Attachment, problem.Values(r.NodePools)
	if part := nad.InvalidPart(a); part != "" {
		return network.Attachment{}, problem.Problems{nad.Problem(problem.NADNameInvalid, a, problem.Args{"part": {part},
			"nad": {strings.TrimPrefix(a.String(), "/")}, "nodePools": pools, "example": {objects.ControlPlaneNamespace(o.HostedCluster) + "/vlan100"}})}
	}
	found, ok := o.nad(a)
	problems, forbidden := isolated(o, r, found)
	if forbidden {
		return network.Attachment{}, problems
	}
	if object, planned := o.NADCreators.Of(a); !ok && planned {
		return notCreated(o, r, object, problems)
	}
	if p, mistake := misnamed(o, r); mistake {
		return network.Attachment{}, problem.Problems{p}
	}
	if !ok && o.Partial {
		return a, append(problems, nad.Problem(problem.NADNotGiven, a, nil))
	}
	if !ok {
		return network.Attachment{}, problem.Problems{nad.Problem(problem.NADNotFound, a, problem.Args{"nodePools": pools, "types": {nad.SupportedKinds}})}
	}
	object := nadObject(found)
	a, out := o.joined(r, object, found)
	if a.Name == "" {
		return a, problem.Problems{*out}
	}
	if out != nil {
		problems = append(problems, *out)
	}
	limits := nad.Limits(object)
	if o.attached[r.Attachment] { // The nodes have its plugins.
		limits = slices.DeleteFunc(limits, func(p problem.Problem) bool { return p.Cause == problem.NADPluginUnknown })
	}
	return a, append(problems, limits...)
}

// joined returns the network of r, whose NAD is object, and what VMs lack there. It returns the zero Attachment and an
// Error if edges cannot join the network, or no VM can. found is zero if the NAD does not exist yet.
func (x indexed) joined(r network.NetworkRequest, object nad.Object, found nadv1.NetworkAttachmentDefinition) (network.Attachment, *problem.Problem) {
	a, fault := nad.Attach(object, x.nodes)
	out := nad.RulesOut(object, x.nodes)
	if out != nil && out.Cause == problem.SRIOVBoundToVFIO && !r.Primary && len(r.NodePools) > 0 && len(x.bridged(r)) == 0 {
		out = nil // The user passes the functions to VMs.
	}
	out = cmp.Or(out, contradicted(x, found))
	if fault != nil && !r.Primary && out != nil && out.StopsVMs() {
		fault = out // VMs need the network, but no edges there.
	}
	if fault != nil {
		return network.Attachment{}, fault
	}
	if out == nil {
		out = cutsOff(x, r, object)
	}
	switch {
	case out != nil && out.Blocks() && !x.attached[r.Attachment]:
		return network.Attachment{}, out
	case out != nil:
		*out = out.Warning() // VMs already use the network, or can use it.
	}
	return a, out
}

// notCreated returns the network of r, whose NAD is not created yet, with the layer-2 network of object. It returns the
// zero Attachment if edges cannot join that network. problems are those of the network.
func notCreated(o indexed, r network.NetworkRequest, object nad.Object, problems problem.Problems) (network.Attachment, problem.Problems) {
	a := r.Attachment
	if object.Config != "" {
		o.nodes.Resources = nil // Nodes may not offer them yet, either.
		planned, out := o.joined(r, object, nadv1.NetworkAttachmentDefinition{})
		if planned.Name == "" {
			return planned, problem.Problems{*out}
		}
		a.Layer2 = planned.Layer2
		if out != nil {
			problems = append(problems, *out)
		}
	}
	owner := object.UserDefined.Kind + " " + object.UserDefined.Name
	return a, append(problems, nad.Problem(problem.NADNotCreated, a, problem.Args{"owner": {owner}}))
}

// contradicted returns the problem that OVN-Kubernetes refuses found, because an older NAD defines its network in another
// way. Otherwise it returns nil.
func contradicted(o indexed, found nadv1.NetworkAttachmentDefinition) *problem.Problem {
	ours, isOVN := nad.OVNNetworkOf(nadObject(found))
	if !isOVN {
		return nil
	}
	by := o.firstOfOVN()[ours.Name]
	theirs, _ := nad.OVNNetworkOf(nadObject(by))
	key := ours.Differs(theirs)
	if key == "" {
		return nil
	}
	p := nad.Problem(problem.OVNNetworkContradicted, network.Attachment{Namespace: found.Namespace, Name: found.Name},
		problem.Args{"otherNAD": {by.Namespace + "/" + by.Name}, "name": {ours.Name}, "setting": {key}})
	if !found.CreationTimestamp.IsZero() && objects.SameAge(&found, &by) { // OVN-Kubernetes may take either of them.
		p.Severity = problem.SeverityWarning
	}
	return &p
}

// maxGiven is the maximum number of NetworkAttachmentDefinitions that a problem names.
const maxGiven = 5

// misnamed returns the problem that the files of a command lack the NAD of r. The problem names the NAD that is
// probably meant. That NAD has a similar name in a namespace that Multus allows, or the same name in the namespace of
// the HostedCluster. mistake is false if the NAD is there, or if the files have no NAD of its namespace at all: the NAD
// may be in other files.
func misnamed(o indexed, r network.NetworkRequest) (p problem.Problem, mistake bool) {
	a := r.Attachment
	if _, ok := o.nad(a); ok || !o.Partial || len(r.NodePools) == 0 {
		return problem.Problem{}, false
	}
	on := problem.Subject{Kind: string(settings.OnNodePool), Name: r.NodePools[0]}
	args := problem.Args{"nodePools": r.NodePools, "nad": {a.String()}}
	for _, ns := range append([]string{a.Namespace}, nad.AllowedNamespaces(objects.ControlPlaneNamespace(o.HostedCluster))...) {
		if name, ok := spelling.Nearest(a.Name, namesIn(o.Objects, ns)); ok {
			args["meant"] = []string{network.Attachment{Namespace: ns, Name: name}.String()}
			return problem.New(problem.NADMisnamed, on, args, network.FieldAdditionalNetworks), true
		}
	}
	beside := network.Attachment{Namespace: o.HostedCluster.Namespace, Name: a.Name}
	if _, ok := o.nad(beside); ok {
		args["given"], args["namespace"] = []string{beside.String()}, []string{a.Namespace}
		return problem.New(problem.NADBesideCluster, on, args, network.FieldAdditionalNetworks), true
	}
	given := namesIn(o.Objects, a.Namespace)
	args["given"] = given[:min(len(given), maxGiven)]
	return problem.New(problem.NADNotAmongGiven, on, args, network.FieldAdditionalNetworks), len(given) > 0
}

func namesIn(o objects.Objects, ns string) []string {
	var out []string
	for _, n := range o.NetworkAttachmentDefinitions {
		if n.Namespace == ns {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

func nadObject(n nadv1.NetworkAttachmentDefinition) nad.Object {
	d := nad.Object{Namespace: n.Namespace, Name: n.Name, ResourceName: n.Annotations[wire.AnnotationResourceName], Config: n.Spec.Config}
	for _, owner := range n.OwnerReferences {
		if owner.Kind == "ClusterUserDefinedNetwork" || owner.Kind == "UserDefinedNetwork" {
			d.UserDefined = nad.Owner{Kind: owner.Kind, Name: owner.Name}
		}
	}
	return d
}

// isolated returns a problem if the NAD of r is in another namespace and VMs may be unable to use it. If a VM is
// attached to the network already, VMs can use it. They also can if annotation namespaces of the NAD permits it and
// Multus does not isolate namespaces. forbidden is true if edges must not join the network. Multus would not stop them,
// because the edge NAD is a copy in the control plane namespace. found is zero if the NAD is unknown.
func isolated(o indexed, r network.NetworkRequest, found nadv1.NetworkAttachmentDefinition) (ps problem.Problems, forbidden bool) {
	a, own := r.Attachment, objects.ControlPlaneNamespace(o.HostedCluster)
	allowed := nad.AllowedNamespaces(own)
	if slices.Contains(allowed, a.Namespace) || o.attached[a] {
		return nil, false
	}
	args := problem.Args{"namespace": {own}, "nodePools": r.NodePools}
	granted := settings.Grants(found.Annotations, own)
	switch {
	case o.isolates:
		args["allowed"] = allowed
		return problem.Problems{nad.Problem(problem.NADNamespaceIsolated, a, args)}, true
	case granted && (o.shown || !o.Partial):
		return nil, false
	case granted, found.Name == "":
		return problem.Problems{nad.Problem(problem.NADNamespaceDiffers, a, args)}, false
	}
	args["annotation"] = []string{settings.Prefix + network.KeyNamespaces}
	return problem.Problems{nad.Problem(problem.NADNamespaceNotGranted, a, args)}, true
}

// Allows reports whether VMs in one namespace, own, may use n, by its namespace or its annotation. Each pass of a
// hosted cluster on the same layer-2 network calls Allows, also for NADs of other tenants. So it does not parse n.
func Allows(n nadv1.NetworkAttachmentDefinition, own string) bool {
	return slices.Contains(nad.AllowedNamespaces(own), n.Namespace) || settings.Grants(n.Annotations, own)
}

// AttachedTo returns the networks on which vm certainly has an interface.
func AttachedTo(vm lenient.VirtualMachineInstance) (out []network.Attachment) {
	for _, n := range vm.Spec.Networks {
		has := slices.ContainsFunc(vm.Status.Interfaces, func(i lenient.VMInterface) bool { return i.Name == n.Name })
		if has && !vm.HasOtherNetworks() && n.Multus != nil {
			out = append(out, nad.ParseName(n.Multus.NetworkName, vm.Namespace))
		}
	}
	return out
}
