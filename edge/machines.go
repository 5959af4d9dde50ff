// This file knows the cluster's machines by their MACs, from KubeVirt's
// VirtualMachineInstances. It never believes a guest about a MAC: interfaces that
// only the guest's own agent reports are left out. Where two machines are reported
// to have one address, it is the older one's. It reads the fields that it needs
// and no others, so that one object in an unknown shape hides no machine.

package edge

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Machines are the cluster's machines as KubeVirt knows them.
type Machines struct {
	namespace string
	cidr      netip.Prefix
	store     cache.Store
	seen      func() bool
	signal    signal
	// rebuilding keeps an older index from taking a newer one's place.
	rebuilding sync.Mutex
	index      atomic.Pointer[machineIndex]
}

// A machineIndex is complete when it was made from all machines that there were.
type machineIndex struct {
	complete bool
	byMAC    map[string]nic
	byAddr   map[netip.Addr]string
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
	return &machine{
		ObjectMeta: metav1.ObjectMeta{Name: u.GetName(), Namespace: u.GetNamespace(), ResourceVersion: u.GetResourceVersion(), UID: u.GetUID(), CreationTimestamp: u.GetCreationTimestamp()},
		nics:       nics(u, m.cidr),
	}, nil
}

// nics are the machine's own interfaces: those of its spec, with what its status
// says of each. What is not in its usual shape is left out.
func nics(vmi *unstructured.Unstructured, cidr netip.Prefix) []nic {
	own := map[string]bool{}
	var out []nic
	add := func(mac string, addresses ...string) {
		hw, err := net.ParseMAC(mac)
		if err != nil {
			return
		}
		n := nic{machine: vmi.GetName(), mac: hw.String()}
		for _, a := range addresses {
			if addr, err := netip.ParseAddr(a); err == nil && cidr.Contains(addr) {
				n.address = addr
				break
			}
		}
		out = append(out, n)
	}
	for _, i := range objects(vmi, "spec", "domain", "devices", "interfaces") {
		// A name that is missing is not the name of what the guest reports of itself.
		own[asString(i["name"])] = asString(i["name"]) != ""
		add(asString(i["macAddress"]))
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
		add(asString(i["mac"]), addresses...)
	}
	return out
}

// objects are those in the list at path, none where there is no list.
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

// asString is empty for what is not one.
func asString(x any) string {
	s, _ := x.(string)
	return s
}

func (m *Machines) rebuild() {
	m.rebuilding.Lock()
	defer m.rebuilding.Unlock()
	x := &machineIndex{complete: m.seen(), byMAC: map[string]nic{}, byAddr: map[netip.Addr]string{}}
	var all []*machine
	for _, o := range m.store.List() {
		if one, ok := o.(*machine); ok {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *machine) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, one := range all {
		for _, n := range one.nics {
			// A spec's entry comes first and has no address; the status's own follows.
			if was, ok := x.byMAC[n.mac]; !ok || was.machine == n.machine {
				x.byMAC[n.mac] = n
			}
			if _, taken := x.byAddr[n.address]; n.address.IsValid() && !taken {
				x.byAddr[n.address] = n.mac
			}
		}
	}
	m.index.Store(x)
	m.signal.notify()
}

// Ready is nil when all machines that there were are known.
func (m *Machines) Ready() error {
	if !m.index.Load().complete {
		if !m.seen() {
			return errors.New("virtual machine instances have not been read from the API server yet")
		}
		m.rebuild()
	}
	return nil
}

// VM is the name of the machine that has this MAC (lower case, colons), and
// the address it is reported to have, zero where none.
func (m *Machines) VM(mac string) (name string, address netip.Addr, ok bool) {
	n, ok := m.index.Load().byMAC[mac]
	return n.machine, n.address, ok
}

// Reporter is the MAC of the machine that is reported to have address. Empty:
// none is.
func (m *Machines) Reporter(address netip.Addr) string { return m.index.Load().byAddr[address] }

// Reported are the addresses that machines are reported to have, and the MAC of
// each. Don't change it.
func (m *Machines) Reported() map[netip.Addr]string { return m.index.Load().byAddr }

// Gone says that there surely is no machine of this name: never before all have
// been seen.
func (m *Machines) Gone(name string) bool {
	_, there, err := m.store.GetByKey(m.namespace + "/" + name)
	return m.seen() && !there && err == nil
}
