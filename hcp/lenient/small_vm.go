// This file holds what is kept of a VM. A management cluster has tens of thousands, and most have nothing
// to do with oooi.

package lenient

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// A smallVM is what is read of a VM. Names are interned, as most VMs have the same.
type smallVM struct {
	networks   []smallNetwork
	interfaces []smallInterface
}

// A smallNetwork is one of spec.networks.
type smallNetwork struct {
	// nad is the name of the NAD, with or without its namespace.
	name, nad string
	multus    bool
}

// A smallInterface is one of status.interfaces.
type smallInterface struct {
	name, mac, ip string
	ips           []string
}

// smallVMOf leaves out the interfaces that only the guest agent of vm reports. They have no name.
func smallVMOf(vm *kubevirtv1.VirtualMachineInstance) *smallVM {
	out := &smallVM{networks: make([]smallNetwork, 0, len(vm.Spec.Networks))}
	for _, n := range vm.Spec.Networks {
		x := smallNetwork{name: interned(n.Name)}
		if n.Multus != nil {
			x.nad, x.multus = interned(n.Multus.NetworkName), true
		}
		out.networks = append(out.networks, x)
	}
	for _, i := range vm.Status.Interfaces {
		if i.Name == "" {
			continue
		}
		x := smallInterface{name: interned(i.Name), mac: i.MAC, ip: i.IP, ips: slices.Clip(slices.Clone(i.IPs))}
		if len(i.IPs) > 0 && i.IPs[0] == i.IP {
			x.ip = i.IPs[0]
		}
		out.interfaces = append(out.interfaces, x)
	}
	out.interfaces = slices.Clip(out.interfaces)
	return out
}

// expand implements smallForm.
func (s *smallVM) expand() metav1.Object {
	vm := &kubevirtv1.VirtualMachineInstance{}
	for _, n := range s.networks {
		x := kubevirtv1.Network{Name: n.name}
		if n.multus {
			x.Multus = &kubevirtv1.MultusNetwork{NetworkName: n.nad}
		}
		vm.Spec.Networks = append(vm.Spec.Networks, x)
	}
	for _, i := range s.interfaces {
		x := kubevirtv1.VirtualMachineInstanceNetworkInterface{Name: i.name, MAC: i.mac, IP: i.ip, IPs: i.ips}
		vm.Status.Interfaces = append(vm.Status.Interfaces, x)
	}
	return vm
}
