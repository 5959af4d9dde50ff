// This file has the fields of VMs that are read. A management cluster has tens of thousands of VMs, and most have
// nothing to do with oooi.

package lenient

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A VirtualMachineInstance has the fields of a VM that are read. If the VM has no network of Multus, it has only
// metadata.
type VirtualMachineInstance struct {
	// ObjectMeta has neither UID nor annotations.
	metav1.ObjectMeta `json:"metadata"`
	Spec              VMSpec   `json:"spec"`
	Status            VMStatus `json:"status"`
	// Unreadable are fields that should be read and cannot be decoded. They are empty.
	Unreadable []Unreadable `json:"-"`
}

// A VMSpec has the networks of a VM. Copies of a VM share it, so it must not be changed.
type VMSpec struct {
	Networks []VMNetwork `json:"networks"`
}

// A VMNetwork is a network that a VM attaches to.
type VMNetwork struct {
	Name string `json:"name"`
	// Multus is nil for the pod network.
	Multus *VMMultus `json:"multus,omitempty"`
}

// A VMMultus names a NAD, with or without its namespace.
type VMMultus struct {
	NetworkName string `json:"networkName"`
}

// A VMStatus has what KubeVirt reports about a VM. Copies of a VM share it, so it must not be changed.
type VMStatus struct {
	// Phase is empty unless the VM is finished or has not started.
	Phase      string        `json:"phase"`
	Interfaces []VMInterface `json:"interfaces"`
	// Conditions are those of type MigrationRequired, whatever their status, and why a VM has not started.
	Conditions []VMCondition `json:"conditions"`
}

// migrationRequired is a condition of a VM. KubeVirt adds it when it sees that the VM's spec names other networks than
// its pod has, and removes it when the VM runs in a pod with these networks (syncMigrationRequiredCondition).
const migrationRequired = "MigrationRequired"

// A VMCondition is a condition of a VM. Of MigrationRequired, it has only the type.
type VMCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// isNeeded reports whether c is needed, and shortens it. KubeVirt's virt-controller sets PodScheduled, and the component
// that fails sets Synchronized. It leaves out messages that change again and again: those of the scheduler have counts of
// nodes, and those of image pulls change with each attempt, as their reasons do.
func (c *VMCondition) isNeeded() bool {
	switch {
	case c.Type == migrationRequired:
		*c = VMCondition{Type: migrationRequired}
	case c.Status != "False" || c.Type != "PodScheduled" && c.Type != "Synchronized":
		return false
	case c.Reason == "ErrImagePull" || c.Reason == "ImagePullBackOff":
		c.Reason, c.Message = "ImagePullBackOff", ""
	case c.Reason == corev1.PodReasonUnschedulable:
		c.Message = ""
	default:
		c.Reason, c.Message = cut(c.Reason, maxFromKubeVirt), cut(c.Message, maxFromKubeVirt)
	}
	return true
}

// maxFromKubeVirt is the maximum length of each text of a VMCondition in bytes.
const maxFromKubeVirt = 128

// HasOtherNetworks reports whether v, a running VM, may be on other networks than its spec names.
func (v *VirtualMachineInstance) HasOtherNetworks() bool {
	return slices.ContainsFunc(v.Status.Conditions, func(c VMCondition) bool { return c.Type == migrationRequired })
}

// Starting reports whether KubeVirt has not started v yet.
func (v *VirtualMachineInstance) Starting() bool {
	return v.Status.Phase == "Pending" || v.PodStarting()
}

// PodStarting reports whether KubeVirt has created the pod of v, and has not started v yet.
func (v *VirtualMachineInstance) PodStarting() bool {
	return v.Status.Phase == "Scheduling" || v.Status.Phase == "Scheduled"
}

// Finished reports whether v has stopped for good: KubeVirt keeps the object of a VM that failed, with its last addresses.
func (v *VirtualMachineInstance) Finished() bool {
	return v.Status.Phase == "Failed" || v.Status.Phase == "Succeeded"
}

// A VMInterface is an interface of a VM, as KubeVirt reports it. Interfaces without a name are left out: only the guest
// agent reports them, and a node has one for each pod.
type VMInterface struct {
	Name string      `json:"name"`
	MAC  string      `json:"mac"`
	IP   string      `json:"ipAddress"`
	IPs  VMAddresses `json:"ipAddresses"`
}

// VMAddresses are the first 64 addresses of an interface.
type VMAddresses []string

const (
	maxAddresses = 64
	// fromGuest begins the paths of what a guest agent reports. A value is left out if it is longer, in bytes, than a
	// name, a MAC or an address can be: a guest must not stop its cluster with a large field.
	fromGuest    = "status.interfaces[]."
	maxFromGuest = 80
)

// cut keeps the first addresses, and returns their size in bytes.
func (a *VMAddresses) cut() (size int) {
	*a = slices.DeleteFunc(*a, func(text string) bool { return len(text) > maxFromGuest })
	*a = slices.Clone((*a)[:min(len(*a), maxAddresses)])
	for _, text := range *a {
		size += len(text)
	}
	return size
}

// UnmarshalJSON decodes all fields that can be decoded. It never fails.
func (v *VirtualMachineInstance) UnmarshalJSON(b []byte) error {
	*v = VirtualMachineInstance{}
	v.Unreadable = decode(kindOf[VirtualMachineInstance]().fields, b, v)
	v.Namespace, v.UID = interned(v.Namespace), ""
	if !slices.ContainsFunc(v.Spec.Networks, func(n VMNetwork) bool { return n.Multus != nil }) {
		v.Spec, v.Status = VMSpec{}, VMStatus{}
		return nil
	}
	v.Status.Phase = interned(v.Status.Phase)
	if !v.Starting() {
		v.Status.Conditions = slices.DeleteFunc(v.Status.Conditions, func(c VMCondition) bool { return c.Type != migrationRequired })
	}
	if !v.Starting() && !v.Finished() {
		v.Status.Phase = ""
	}
	for i := range v.Spec.Networks {
		n := &v.Spec.Networks[i]
		if n.Name = interned(n.Name); n.Multus != nil {
			n.Multus.NetworkName = interned(n.Multus.NetworkName)
		}
	}
	v.Status.Interfaces = slices.Clone(v.Status.Interfaces)
	v.Status.Conditions = slices.Clone(v.Status.Conditions)
	for i := range v.Status.Interfaces {
		x := &v.Status.Interfaces[i]
		if x.Name = interned(x.Name); len(x.IPs) > 0 && x.IPs[0] == x.IP {
			x.IP = x.IPs[0]
		}
	}
	return nil
}

// GetObjectKind implements runtime.Object. The kind is always the same.
func (v *VirtualMachineInstance) GetObjectKind() schema.ObjectKind {
	return kindOf[VirtualMachineInstance]()
}

// DeepCopyObject returns a copy of v.
func (v *VirtualMachineInstance) DeepCopyObject() runtime.Object {
	return &VirtualMachineInstance{ObjectMeta: *v.ObjectMeta.DeepCopy(), Spec: v.Spec, Status: v.Status, Unreadable: v.Unreadable}
}
