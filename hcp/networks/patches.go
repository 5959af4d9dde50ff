// This file reads HyperShift's annotation with a JSON patch of a NodePool's VMs (applyJsonPatches in its
// nodepool/kubevirt/kubevirt.go).

package networks

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// The fields of a VM that decide how it is connected.
const (
	patchedNetworks   = "/spec/template/spec/networks"
	patchedInterfaces = "/spec/template/spec/domain/devices/interfaces"
)

// A patch is a JSON patch.
type patch []struct {
	Op, Path, From string
	Value          json.RawMessage
}

// patchOf returns the patch in annotations. It is empty if there is none, or if it is invalid.
func patchOf(annotations map[string]string) patch {
	var p patch
	if json.Unmarshal([]byte(annotations[hyperv1.JSONPatchAnnotation]), &p) != nil {
		return nil
	}
	return p
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
	var left []string
	for _, name := range r.NodePools {
		if np := o.byName[name]; np == nil || !o.rebound(*np, r.Attachment) {
			left = append(left, name)
		}
	}
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
	patches := func(of map[string]string) bool { return patchOf(of).touches(patchedNetworks) }
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
	return problem.Problems{problem.New(problem.VMNetworksPatched, problem.Subject{}, args)}
}

// macsPatched returns a problem for each MAC address that patches give to several VMs.
func macsPatched(o objects.Objects) (ps problem.Problems) {
	vms, pools := map[string]int{}, map[string][]string{}
	count := func(np hyperv1.NodePool, macs []string) {
		for _, mac := range macs {
			if n := size(o.HostedCluster, np); n > 0 {
				vms[mac], pools[mac] = vms[mac]+n, append(pools[mac], np.Name)
			}
		}
	}
	ofAll := firstOf(patchOf(o.HostedCluster.Annotations).macs())
	for _, np := range o.NodePools {
		count(np, ofAll)
		count(np, network.Without(firstOf(patchOf(np.Annotations).macs()), func(mac string) bool { return slices.Contains(ofAll, mac) }))
	}
	for _, mac := range firstOf(slices.Sorted(maps.Keys(vms))) {
		if vms[mac] > 1 {
			args := problem.Args{"annotation": {hyperv1.JSONPatchAnnotation}, "mac": {mac}, "nodePools": firstOf(slices.Sorted(slices.Values(pools[mac])))}
			ps = append(ps, problem.New(problem.MACPatched, problem.Subject{}, args))
		}
	}
	return ps
}

// firstOf returns the first values of all: users choose how many there are.
func firstOf(all []string) []string { return all[:min(len(all), maxNamed)] }
