// This file reads HyperShift's annotation with a JSON patch of a NodePool's VMs (applyJsonPatches in its
// nodepool/kubevirt/kubevirt.go).

package networks

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// The fields of a VM that decide how it is connected, and the field that contains its memory.
const (
	patchedNetworks   = "/spec/template/spec/networks"
	patchedDomain     = "/spec/template/spec/domain"
	patchedInterfaces = patchedDomain + "/devices/interfaces"
)

// The fields of a VM that decide on which nodes it runs.
const (
	patchedSelector    = "/spec/template/spec/nodeSelector"
	patchedTolerations = "/spec/template/spec/tolerations"
	patchedAffinity    = "/spec/template/spec/affinity"
)

// A patch is a JSON patch.
type patch []operation

type operation struct {
	Op, Path, From string
	Value          json.RawMessage
}

// patchOf returns the patch in annotations. It is empty if there is none, or if it is invalid.
func patchOf(annotations map[string]string) patch {
	p, _ := parsed(annotations)
	return p
}

// parsed returns the patch in annotations, or why it is invalid.
func parsed(annotations map[string]string) (p patch, invalid string) {
	text, patches := annotations[hyperv1.JSONPatchAnnotation]
	if !patches {
		return nil, ""
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, err.Error()
	}
	return p, ""
}

// touches reports whether p changes field, a part of it, or an object that contains it.
func (p patch) touches(field string) bool {
	for _, op := range p {
		for _, at := range []string{op.Path, op.From} {
			of := strings.TrimSuffix(at, "/") + "/"
			if op.Op != "test" && (at != "" || op.Path == "") && (strings.HasPrefix(of, field+"/") || strings.HasPrefix(field+"/", of)) {
				return true
			}
		}
	}
	return false
}

// NodeSelectors returns the labels of the nodes that VMs of each NodePool may run on, by its name: its nodeSelector, after
// HyperShift patched it, at most maxLabels of them.
func NodeSelectors(o objects.Objects) map[string]map[string]string {
	out, ofAll := map[string]map[string]string{}, patchOf(o.HostedCluster.Annotations)
	for _, np := range o.NodePools {
		if k := np.Spec.Platform.Kubevirt; k != nil {
			out[np.Name] = few(patchOf(np.Annotations).selected(ofAll.selected(few(k.NodeSelector))))
		}
	}
	return out
}

// Tolerations returns the taints that VMs of each NodePool tolerate, by its name: those of patches, as HyperShift sets none.
func Tolerations(o objects.Objects) map[string][]corev1.Toleration {
	out, ofAll := map[string][]corev1.Toleration{}, patchOf(o.HostedCluster.Annotations)
	for _, np := range o.NodePools {
		for _, op := range slices.Concat(ofAll, patchOf(np.Annotations)) {
			if (op.Op != "add" && op.Op != "replace") || !strings.HasPrefix(op.Path+"/", patchedTolerations+"/") {
				continue
			}
			all, one := []corev1.Toleration{}, corev1.Toleration{}
			if json.Unmarshal(op.Value, &all) != nil && json.Unmarshal(op.Value, &one) == nil {
				all = []corev1.Toleration{one}
			}
			out[np.Name] = append(out[np.Name], all...)
		}
	}
	return out
}

// maxLabels is the maximum number of labels of a NodePool's node selector that edges follow.
const maxLabels = 64

// few returns a copy of labels. Of more than maxLabels labels, it has the first ones by name.
func few(labels map[string]string) map[string]string {
	out := map[string]string{}
	if len(labels) <= maxLabels {
		maps.Copy(out, labels)
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(labels))[:maxLabels] {
		out[key] = labels[key]
	}
	return out
}

// selected returns labels, a nodeSelector that the caller gives up, after p changed it.
func (p patch) selected(labels map[string]string) map[string]string {
	for _, op := range p {
		key, ofKey := strings.CutPrefix(op.Path, patchedSelector+"/")
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		sets := op.Op == "add" || op.Op == "replace"
		switch {
		case op.Path == patchedSelector && (sets || op.Op == "remove"):
			var set map[string]string
			_ = json.Unmarshal(op.Value, &set) // HyperShift refuses another value.
			labels = map[string]string{}
			maps.Copy(labels, set)
		case ofKey && sets:
			var value string
			_ = json.Unmarshal(op.Value, &value)
			labels[key] = value
		case ofKey && op.Op == "remove":
			delete(labels, key)
		}
	}
	return labels
}

// placementPatched returns a hint about NodePools for which HyperShift patches the node affinity of VMs. oooi does not read
// it, so edges run on other nodes unless edges, the user's selector, is set.
func placementPatched(o objects.Objects, edges map[string]string) problem.Problems {
	patches := func(of map[string]string) bool {
		return slices.ContainsFunc(patchOf(of), func(op operation) bool {
			return op.Op != "test" && op.Op != "remove" && strings.HasPrefix(op.Path+"/", patchedAffinity+"/") && strings.Contains(op.Path+string(op.Value), "nodeAffinity")
		})
	}
	if edges != nil {
		return nil
	}
	return poolsPatched(o, problem.VMPlacementPatched, patches, network.KeyEdgeNodeSelector)
}

// PatchErrors returns why HyperShift cannot apply the patches to VMs of each NodePool, by its name. It leaves out
// NodePools for which no reason is known. The patch of the HostedCluster comes first.
func PatchErrors(o objects.Objects) map[string]string {
	out := map[string]string{}
	checked := func(p patch) patch { return p[:min(len(p), maxChecked)] }
	ofAll, invalid := parsed(o.HostedCluster.Annotations)
	for _, np := range o.NodePools {
		own, ofOwn := parsed(np.Annotations)
		if reason := cmp.Or(invalid, ofOwn, slices.Concat(checked(ofAll), checked(own)).fault()); reason != "" {
			out[np.Name] = reason
		}
	}
	return out
}

// fault returns why an operation of p fails, or "".
func (p patch) fault() string {
	for i, op := range p {
		if fault := op.fault(p[:i]); fault != "" {
			return fault
		}
	}
	return ""
}

// fault returns why op fails after the operations before it, or "". It knows only two objects of HyperShift's template: the
// CPU and the interfaces. Their other fields are missing, unless an operation before adds them.
func (op operation) fault(before patch) string {
	quoted := strconv.Quote(op.Path[:min(len(op.Path), maxQuoted)])
	switch op.Op {
	case "add", "test", "move", "copy":
		return ""
	case "remove", "replace":
	default:
		return "unknown op " + strconv.Quote(op.Op[:min(len(op.Op), maxQuoted)])
	}
	ofCPU, isCPU := strings.CutPrefix(op.Path, "/spec/template/spec/domain/cpu/")
	rest, isInterface := strings.CutPrefix(op.Path, patchedInterfaces+"/")
	_, ofInterface, isField := strings.Cut(rest, "/")
	missing := isCPU && ofCPU != "cores" || isInterface && isField && ofInterface != "name" && ofInterface != "bridge"
	if missing && !before.touches(op.Path) {
		return op.Op + " " + quoted + ": the field is missing"
	}
	return ""
}

// maxQuoted is the maximum length in bytes of what an error quotes of a patch, and maxChecked the maximum number of
// operations that are checked.
const maxQuoted, maxChecked = 100, 32

// rebinds reports whether p may change how the interface with index i is connected: its network, or its binding. A patch
// of another field of the interface does not count, such as its model or MAC address, nor does one of a later interface.
func (p patch) rebinds(i int) bool {
	for _, op := range p {
		for _, at := range []string{op.Path, op.From} {
			if op.Op == "test" || at == "" && op.Path != "" {
				continue
			}
			ofInterface, isInterface := strings.CutPrefix(at, patchedInterfaces+"/")
			ofNetwork, isNetwork := strings.CutPrefix(at, patchedNetworks+"/")
			if !isInterface && !isNetwork {
				if one := (patch{{Op: op.Op, Path: at}}); one.touches(patchedInterfaces) || one.touches(patchedNetworks) {
					return true
				}
				continue
			}
			index, field, within := strings.Cut(ofNetwork, "/")
			if isInterface {
				index, field, within = strings.Cut(ofInterface, "/")
			}
			n, err := strconv.Atoi(index)
			switch field, _, _ = strings.Cut(field, "/"); {
			case err != nil: // "-" appends another one.
			case within && isInterface:
				if n == i && !slices.Contains([]string{"name", "model", "macAddress", "ports", "bootOrder", "pciAddress", "dhcpOptions", "tag", "acpiIndex", "state"}, field) {
					return true
				}
			case n == i, !within && op.Op != "replace" && n < i: // It changes the index of later ones.
				return true
			}
		}
	}
	return false
}

// cutsOff returns the problem that VMs receive few or no frames on the network of r, whose NAD is object, or nil. It does
// not count NodePools whose VMs the user connects in another way than HyperShift does. If only some are connected so, the
// problem is no Error, because edges serve these.
func cutsOff(o indexed, r network.NetworkRequest, object nad.Object) *problem.Problem {
	out := nad.CutsOff(object, o.nodes)
	if out == nil {
		return nil
	}
	left := o.bridged(r)
	switch {
	case len(left) == 0 && len(r.NodePools) > 0:
		return nil
	case !r.Primary:
		out.Severity = problem.SeverityInfo // Nodes boot without it.
	case len(left) < len(r.NodePools):
		*out = out.Warning()
	}
	return out
}

// bridged returns the NodePools of r whose VMs HyperShift connects, through a bridge.
func (x indexed) bridged(r network.NetworkRequest) (names []string) {
	for _, name := range r.NodePools {
		if np := x.byName[name]; np == nil || !x.rebound(*np, r.Attachment) {
			names = append(names, name)
		}
	}
	return names
}

// rebound reports whether the user patches how VMs of np are connected to a.
func (x indexed) rebound(np hyperv1.NodePool, a network.Attachment) bool {
	i := slices.Index(objects.Attachments(x.HostedCluster, np), a)
	if attachesDefault(np) {
		i++
	}
	return x.ofCluster().rebinds(i) || patchOf(np.Annotations).rebinds(i)
}

// macs returns the MAC addresses that p sets, without duplicates.
func (p patch) macs() []string {
	found := map[string]bool{}
	for _, op := range p {
		if op.Op != "add" && op.Op != "replace" || !strings.HasPrefix(op.Path+"/", patchedInterfaces+"/") {
			continue
		}
		var value any
		if json.Unmarshal(op.Value, &value) != nil {
			continue
		}
		if strings.HasSuffix(op.Path, "/macAddress") {
			value = map[string]any{"macAddress": value}
		}
		all, isList := value.([]any)
		if !isList {
			all = []any{value}
		}
		for _, v := range all {
			of, _ := v.(map[string]any)
			if mac, _ := of["macAddress"].(string); mac != "" {
				found[strings.ToLower(mac)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// networksPatched returns a hint about NodePools for which HyperShift patches the networks of VMs.
func networksPatched(o objects.Objects) problem.Problems {
	return poolsPatched(o, problem.VMNetworksPatched, func(of map[string]string) bool { return patchOf(of).touches(patchedNetworks) })
}

// poolsPatched returns a problem that names the NodePools whose annotations, or those of the HostedCluster, patches accepts.
func poolsPatched(o objects.Objects, cause problem.Cause, patches func(annotations map[string]string) bool, keys ...string) problem.Problems {
	var pools []string
	all := patches(o.HostedCluster.Annotations)
	for _, np := range o.NodePools {
		if all || patches(np.Annotations) {
			pools = append(pools, np.Name)
		}
	}
	if len(pools) == 0 {
		return nil
	}
	slices.Sort(pools)
	args := problem.Args{"annotation": {hyperv1.JSONPatchAnnotation}, "nodePools": firstOf(pools)}
	return problem.Problems{problem.New(cause, problem.Subject{}, args, keys...)}
}

// macsPatched returns a problem for each MAC address that patches give to several VMs. The old and the new VM of an update
// are two.
func macsPatched(o objects.Objects) (ps problem.Problems) {
	vms, most, pools := map[string]int{}, map[string]int{}, map[string][]string{}
	count := func(np hyperv1.NodePool, macs []string) {
		for _, mac := range macs {
			if n := size(o.HostedCluster, np); n > 0 {
				vms[mac], most[mac], pools[mac] = vms[mac]+n, most[mac]+maxVMs(o.HostedCluster, np), append(pools[mac], np.Name)
			}
		}
	}
	ofAll := firstOf(patchOf(o.HostedCluster.Annotations).macs())
	for _, np := range o.NodePools {
		count(np, ofAll)
		count(np, network.Without(firstOf(patchOf(np.Annotations).macs()), func(mac string) bool { return slices.Contains(ofAll, mac) }))
	}
	for _, mac := range firstOf(slices.Sorted(maps.Keys(vms))) {
		cause := problem.MACPatched
		if vms[mac] == 1 {
			cause = problem.MACPatchedForUpdates
		}
		if most[mac] > 1 {
			args := problem.Args{"annotation": {hyperv1.JSONPatchAnnotation}, "mac": {mac}, "nodePools": firstOf(slices.Sorted(slices.Values(pools[mac])))}
			ps = append(ps, problem.New(cause, problem.Subject{}, args))
		}
	}
	return ps
}

// firstOf returns the first values of all: users choose how many there are.
func firstOf(all []string) []string { return all[:min(len(all), maxNamed)] }
