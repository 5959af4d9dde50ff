// This file is the stand-in for KubeVirt. It creates a VirtualMachineInstance for each VirtualMachine, which runs only according to its
// status. No guest runs: a program that boots a guest writes its address, as the guest agent would.
package hypershift

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const nodeName = "node1"

// runVM creates the instance of vm, and sets the status of both to running. It keeps what the instance's status already contains.
func (w world) runVM(ctx context.Context, vm *virtv1.VirtualMachine) error {
	if vm.Spec.Template == nil {
		return nil
	}
	vmi := instance(vm)
	switch err := w.live.Get(ctx, client.ObjectKeyFromObject(vmi), vmi); {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil:
		if err := w.Create(ctx, vmi); err != nil {
			return err
		}
	}
	if vmi.Status.Phase != virtv1.Running {
		patch := client.MergeFrom(vmi.DeepCopy())
		vmi.Status = w.running(vm)
		if err := w.Status().Patch(ctx, vmi, patch); err != nil {
			return err
		}
		log.FromContext(ctx).Info("runs", "interfaces", vmi.Status.Interfaces)
	}
	if vm.Status.Ready {
		return nil
	}
	patch := client.MergeFrom(vm.DeepCopy())
	vm.Status.Created, vm.Status.Ready, vm.Status.PrintableStatus = true, true, virtv1.VirtualMachineStatusRunning
	vm.Status.Conditions = []virtv1.VirtualMachineCondition{
		{Type: virtv1.VirtualMachineReady, Status: corev1.ConditionTrue, LastTransitionTime: now()},
		{Type: virtv1.VirtualMachineConditionType(virtv1.VirtualMachineInstanceIsMigratable), Status: corev1.ConditionTrue, LastTransitionTime: now()},
	}
	return w.Status().Patch(ctx, vm, patch)
}

// instance returns the VirtualMachineInstance that virt-controller would create for vm.
func instance(vm *virtv1.VirtualMachine) *virtv1.VirtualMachineInstance {
	vmi := &virtv1.VirtualMachineInstance{Spec: *vm.Spec.Template.Spec.DeepCopy()}
	vmi.Namespace, vmi.Name = vm.Namespace, vm.Name
	vmi.Labels, vmi.Annotations = vm.Spec.Template.ObjectMeta.Labels, vm.Spec.Template.ObjectMeta.Annotations
	yes := true
	vmi.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: virtv1.GroupVersion.String(), Kind: "VirtualMachine", Name: vm.Name, UID: vm.UID, Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	return vmi
}

// running returns the status of vm's instance after its start.
func (w world) running(vm *virtv1.VirtualMachine) virtv1.VirtualMachineInstanceStatus {
	s := virtv1.VirtualMachineInstanceStatus{Phase: virtv1.Running, NodeName: nodeName, Conditions: []virtv1.VirtualMachineInstanceCondition{
		{Type: virtv1.VirtualMachineInstanceReady, Status: corev1.ConditionTrue, LastTransitionTime: now()},
		{Type: virtv1.VirtualMachineInstanceIsMigratable, Status: corev1.ConditionTrue, LastTransitionTime: now()},
	}}
	for n, i := range vm.Spec.Template.Spec.Domain.Devices.Interfaces {
		mac := i.MacAddress
		if mac == "" {
			mac = macOf(vm.UID, n)
		}
		s.Interfaces = append(s.Interfaces, virtv1.VirtualMachineInstanceNetworkInterface{
			Name: i.Name, MAC: mac, InterfaceName: fmt.Sprintf("enp%ds0", n+1), InfoSource: "domain, guest-agent",
		})
		if w.VMAddresses.IsValid() {
			a := addressOf(vm.UID, w.VMAddresses).String()
			s.Interfaces[n].IP, s.Interfaces[n].IPs = a, []string{a}
		}
	}
	return s
}

// macOf returns a locally administered MAC address for interface n of a VM. It is always the same for this VM and interface.
func macOf(uid types.UID, n int) string {
	b := bits(uid)
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], n)
}

// addressOf returns an address in the middle half of p for a VM. Two VMs may get the same address, so it is only for VMs that never get packets.
func addressOf(uid types.UID, p netip.Prefix) netip.Addr {
	b, base := bits(uid), p.Masked().Addr().As4()
	hosts := uint32(1) << (32 - p.Bits())
	n := binary.BigEndian.Uint32(base[:]) + hosts/4 + binary.BigEndian.Uint32(b[:])%max(hosts/2, 1)
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}

// bits returns the first 32 bits of a UUID.
func bits(uid types.UID) [4]byte {
	var n uint32
	_, _ = fmt.Sscanf(string(uid), "%08x", &n)
	return [4]byte(binary.BigEndian.AppendUint32(nil, n))
}

func now() metav1.Time { return metav1.Now().Rfc3339Copy() }
