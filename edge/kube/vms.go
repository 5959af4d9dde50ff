// This file maps MACs to the cluster's VMs, from KubeVirt's VirtualMachineInstances. It ignores interfaces
// that only the guest agent reports. If two VMs report one address, the older VM has it. It decodes only the
// fields that it needs, so an unknown shape of another field does not hide a VM.

package kube

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/cldmnky/oooi/edge/signal"
)

// VMs are the cluster's VMs as KubeVirt reports them.
type VMs struct {
	namespace string
	cidr      netip.Prefix
	store     cache.Store
	seen      func() bool
	signal    signal.Signal
	// rebuilding prevents an older index from replacing a newer one.
	rebuilding sync.Mutex
	index      atomic.Pointer[vmIndex]
	deletions  deletions
}

// A vmIndex finds VMs by MAC and by address. It is complete if it was built after the first complete list.
type vmIndex struct {
	complete bool
	byMAC    map[string]nic
	byAddr   map[netip.Addr]string
}

// A nic is one interface of one VM. address is the address that KubeVirt reports inside the network, else another
// one that it reports, zero if none. nad is the "namespace/name" of its NetworkAttachmentDefinition.
type nic struct {
	vm, mac, nad string
	address      netip.Addr
}

// A vm is the stored part of a VirtualMachineInstance.
type vm struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	nics []nic
	runs bool
}

// DeepCopyObject implements runtime.Object. A vm is immutable, so it returns itself.
func (m *vm) DeepCopyObject() runtime.Object { return m }

// VMs watches the namespace's VirtualMachineInstances until ctx ends, for a network with this CIDR.
func (k *Kube) VMs(ctx context.Context, cidr netip.Prefix) *VMs {
	m := &VMs{namespace: k.namespace, cidr: cidr, deletions: deletions{now: time.Now}}
	m.index.Store(&vmIndex{})
	r := k.dynamic.Resource(k.vms).Namespace(k.namespace)
	l := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return r.List(ctx, o)
		},
		WatchFuncWithContext: r.Watch,
	}
	rebuilt := make(chan struct{}, 1)
	rebuild := func() {
		select {
		case rebuilt <- struct{}{}:
		default:
		}
	}
	seen := func(one *vm) { m.deletions.created(one.Name); rebuild() }
	deleted := func(one *vm) { m.deletions.deleted(one.Name); rebuild() }
	m.store, m.seen = follow(ctx, l, &unstructured.Unstructured{}, m.keep, on(seen, deleted), m.deletions.answered)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-rebuilt:
				m.rebuild()
			}
		}
	}()
	return m
}

// keep converts a VirtualMachineInstance to a vm. One that is finished has no interfaces.
func (m *VMs) keep(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	phase, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "phase")
	one := &vm{
		runs:       phase == "Running",
		ObjectMeta: metav1.ObjectMeta{Name: u.GetName(), Namespace: u.GetNamespace(), ResourceVersion: u.GetResourceVersion(), UID: u.GetUID(), CreationTimestamp: u.GetCreationTimestamp()},
	}
	if phase != "Failed" && phase != "Succeeded" {
		one.nics = nics(u, m.cidr)
	}
	return one, nil
}

// nics returns the interfaces in the spec, with their addresses in the status. It skips fields of an unknown
// shape.
func nics(vmi *unstructured.Unstructured, cidr netip.Prefix) []nic {
	own, nads := map[string]bool{}, nadsOf(vmi)
	var out []nic
	add := func(name, mac string, addresses ...string) {
		hw, err := net.ParseMAC(mac)
		if err != nil {
			return
		}
		n := nic{vm: vmi.GetName(), mac: hw.String(), nad: nads[name]}
		for _, a := range addresses {
			addr, _ := netip.ParseAddr(a)
			if cidr.Contains(addr) {
				n.address = addr
				break
			}
			if addr.Is4() && !addr.IsLinkLocalUnicast() && !n.address.IsValid() {
				n.address = addr
			}
		}
		out = append(out, n)
	}
	for _, i := range objects(vmi, "spec", "domain", "devices", "interfaces") {
		// An empty name must not match interfaces that only the guest agent reports.
		own[asString(i["name"])] = asString(i["name"]) != ""
		add(asString(i["name"]), asString(i["macAddress"]))
	}
	for _, i := range objects(vmi, "status", "interfaces") {
		if !own[asString(i["name"])] {
			continue
		}
		addresses := []string{asString(i["ipAddress"])}
		all, _ := i["ipAddresses"].([]any)
		for _, a := range all {
			addresses = append(addresses, asString(a))
		}
		add(asString(i["name"]), asString(i["mac"]), addresses...)
	}
	return out
}

// nadsOf returns "namespace/name" of the NetworkAttachmentDefinition of each interface, by the interface's
// name.
func nadsOf(vmi *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for _, n := range objects(vmi, "spec", "networks") {
		multus, _ := n["multus"].(map[string]any)
		if nad := asString(multus["networkName"]); nad != "" {
			if !strings.Contains(nad, "/") {
				nad = vmi.GetNamespace() + "/" + nad
			}
			out[asString(n["name"])] = nad
		}
	}
	return out
}

// objects returns the objects in the list at path, none if there is no list.
func objects(u *unstructured.Unstructured, path ...string) []map[string]any {
	var out []map[string]any
	field, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	list, _ := field.([]any)
	for _, x := range list {
		if o, ok := x.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

// asString returns x if it is a string, else the empty string.
func asString(x any) string {
	s, _ := x.(string)
	return s
}

func (m *VMs) rebuild() {
	m.rebuilding.Lock()
	defer m.rebuilding.Unlock()
	x := &vmIndex{complete: m.seen(), byMAC: map[string]nic{}, byAddr: map[netip.Addr]string{}}
	var all []*vm
	for _, o := range m.store.List() {
		if one, ok := o.(*vm); ok {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *vm) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, one := range all {
		for _, n := range one.nics {
			// The interface in the status replaces the one in the spec, which comes first and has no address.
			if was, ok := x.byMAC[n.mac]; !ok || was.vm == n.vm {
				x.byMAC[n.mac] = n
			}
			if _, taken := x.byAddr[n.address]; m.cidr.Contains(n.address) && !taken {
				x.byAddr[n.address] = n.mac
			}
		}
	}
	if x.complete {
		m.deletions.listed()
	}
	m.index.Store(x)
	m.signal.Notify()
}

// Ready returns nil once all existing VMs were read.
func (m *VMs) Ready() error {
	if !m.index.Load().complete {
		if !m.seen() {
			return errors.New("VirtualMachineInstances have not been read from the API server yet")
		}
		m.rebuild()
	}
	return nil
}

// Changed returns a channel that is closed at the next change.
func (m *VMs) Changed() <-chan struct{} { return m.signal.Changed() }

// VM returns the name of the VM that has this MAC (lower case, colons), and its reported address, zero if
// none. Without an address inside the network, it is one outside.
func (m *VMs) VM(mac string) (name string, address netip.Addr, ok bool) {
	n, ok := m.index.Load().byMAC[mac]
	return n.vm, n.address, ok
}

// Reporter returns the MAC of the VM that is reported to have address. Empty: none.
func (m *VMs) Reporter(address netip.Addr) string { return m.index.Load().byAddr[address] }

// All returns the MACs of all VMs, each with its reported address, as VM returns it.
func (m *VMs) All() iter.Seq2[string, netip.Addr] {
	return func(yield func(string, netip.Addr) bool) {
		for mac, n := range m.index.Load().byMAC {
			if !yield(mac, n.address) {
				return
			}
		}
	}
}

// Each calls f with each VM, and the MACs of its interfaces. runs reports whether the VM runs and has an
// interface of nad ("namespace/name"), but KubeVirt does not report an address of that interface yet.
func (m *VMs) Each(nad string, f func(name string, macs []string, runs bool)) {
	for _, o := range m.store.List() {
		if one, ok := o.(*vm); ok {
			var macs []string
			attached, addressed := false, false
			for _, n := range one.nics {
				macs, attached = append(macs, n.mac), attached || n.nad == nad
				addressed = addressed || n.nad == nad && m.cidr.Contains(n.address)
			}
			f(one.Name, macs, one.runs && attached && !addressed)
		}
	}
}

// Reported returns the MAC of the VM at each address that is reported inside the network. Do not change the map.
func (m *VMs) Reported() map[netip.Addr]string { return m.index.Load().byAddr }
