// This file knows the cluster's machines by their MACs, from KubeVirt's
// VirtualMachineInstances. It never believes a guest about a MAC: interfaces that
// only the guest's own agent reports are left out.

package edge

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// Machines are the cluster's machines as KubeVirt knows them.
type Machines struct {
	namespace string
	cidr      netip.Prefix
	store     cache.Store
	seen      func() bool
	index     atomic.Pointer[machineIndex]
}

type machineIndex struct {
	byMAC  map[string]nic
	byAddr map[netip.Addr]string
}

// A nic is one interface of one machine. Address is what it is reported to have
// inside the network, zero where none.
type nic struct {
	machine, mac string
	address      netip.Addr
}

// A machine is what is kept of a VirtualMachineInstance.
type machine struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	nics []nic
}

// DeepCopyObject lets a machine stand where an API object does; it is never
// changed, so it is its own copy.
func (m *machine) DeepCopyObject() runtime.Object { return m }

// Machines follows the namespace's VirtualMachineInstances until ctx ends, for a
// network with this CIDR.
func (k *Kube) Machines(ctx context.Context, cidr netip.Prefix) *Machines {
	m := &Machines{namespace: k.namespace, cidr: cidr}
	m.index.Store(&machineIndex{})
	r := k.dynamic.Resource(schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}).Namespace(k.namespace)
	l := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return r.Watch(ctx, o)
		},
	}
	rebuilt := make(chan struct{}, 1)
	rebuild := func(*machine) {
		select {
		case rebuilt <- struct{}{}:
		default:
		}
	}
	m.store, m.seen = follow(ctx, l, &unstructured.Unstructured{}, m.keep, on(rebuild, rebuild))
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

// keep makes a machine of a VirtualMachineInstance.
func (m *Machines) keep(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	var vmi kubevirtv1.VirtualMachineInstance
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &vmi); err != nil {
		return nil, fmt.Errorf("virtual machine instance %s: %w", u.GetName(), err)
	}
	return &machine{
		ObjectMeta: metav1.ObjectMeta{Name: vmi.Name, Namespace: vmi.Namespace, ResourceVersion: vmi.ResourceVersion, UID: vmi.UID},
		nics:       nics(&vmi, m.cidr),
	}, nil
}

// nics are the machine's own interfaces: those of its spec, with what its status
// says of each.
func nics(vmi *kubevirtv1.VirtualMachineInstance, cidr netip.Prefix) []nic {
	own := map[string]bool{}
	var out []nic
	add := func(mac string, addresses ...string) {
		hw, err := net.ParseMAC(mac)
		if err != nil {
			return
		}
		n := nic{machine: vmi.Name, mac: hw.String()}
		for _, a := range addresses {
			if addr, err := netip.ParseAddr(a); err == nil && cidr.Contains(addr) {
				n.address = addr
				break
			}
		}
		out = append(out, n)
	}
	for _, i := range vmi.Spec.Domain.Devices.Interfaces {
		own[i.Name] = true
		add(i.MacAddress)
	}
	for _, i := range vmi.Status.Interfaces {
		if own[i.Name] {
			add(i.MAC, append([]string{i.IP}, i.IPs...)...)
		}
	}
	return out
}

func (m *Machines) rebuild() {
	x := &machineIndex{byMAC: map[string]nic{}, byAddr: map[netip.Addr]string{}}
	for _, o := range m.store.List() {
		one, ok := o.(*machine)
		if !ok {
			continue
		}
		for _, n := range one.nics {
			// A spec's entry comes first and has no address; the status's own follows.
			x.byMAC[n.mac] = n
			if n.address.IsValid() {
				x.byAddr[n.address] = n.mac
			}
		}
	}
	m.index.Store(x)
}

// Machine is the name of the machine that has this MAC (lower case, colons), and
// the address it is reported to have, zero where none.
func (m *Machines) Machine(mac string) (name string, address netip.Addr, ok bool) {
	n, ok := m.index.Load().byMAC[mac]
	return n.machine, n.address, ok
}

// Reporter is the MAC of the machine that is reported to have address. Empty:
// none is.
func (m *Machines) Reporter(address netip.Addr) string { return m.index.Load().byAddr[address] }

// Gone says that there surely is no machine of this name: never before all have
// been seen.
func (m *Machines) Gone(name string) bool {
	_, there, err := m.store.GetByKey(m.namespace + "/" + name)
	return m.seen() && !there && err == nil
}
