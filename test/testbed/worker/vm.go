// This file reads the VMs in the management cluster, with the name, MAC, VLAN and user data of each, as virt-launcher would. It also
// writes the address of a VM to its status, as virt-handler would.

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	nad "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	kubevirt "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A VM contains what a worker needs from a VirtualMachineInstance.
type VM struct {
	Namespace, Name string
	MAC             net.HardwareAddr
	// Network is the name of the NetworkAttachmentDefinition, and VLAN its 802.1Q ID (0: untagged).
	Network string
	VLAN    int
	// UserData is the content of the config drive. It contains a secret token.
	UserData []byte
}

// errNotYet is wrapped by errors about a VM for which something has not been created yet.
var errNotYet = errors.New("not yet")

// Management returns a client for the management cluster that knows the types of KubeVirt.
func Management(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(core.AddToScheme(scheme), kubevirt.AddToScheme(scheme), nad.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// VMs returns the VMs of a control plane namespace that can be booted, sorted by name: each has a MAC and user data. waiting says what
// the others lack.
func VMs(ctx context.Context, c client.Client, namespace string) (vms []VM, waiting []string, err error) {
	var list kubevirt.VirtualMachineInstanceList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, nil, err
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp != nil {
			continue
		}
		vm, err := readVM(ctx, c, &list.Items[i])
		if errors.Is(err, errNotYet) || client.IgnoreNotFound(err) == nil && err != nil {
			waiting = append(waiting, fmt.Sprintf("%s: %v", list.Items[i].Name, err))
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("virtual machine %s: %w", list.Items[i].Name, err)
		}
		vms = append(vms, vm)
	}
	slices.SortFunc(vms, func(a, b VM) int { return strings.Compare(a.Name, b.Name) })
	return vms, waiting, nil
}

func readVM(ctx context.Context, c client.Client, vmi *kubevirt.VirtualMachineInstance) (VM, error) {
	vm := VM{Namespace: vmi.Namespace, Name: vmi.Name}
	if n := len(vmi.Spec.Networks); n != 1 || vmi.Spec.Networks[0].Multus == nil {
		return VM{}, fmt.Errorf("has %d networks, or the pod network: a worker sits on one VLAN and nowhere else", n)
	}
	if len(vmi.Status.Interfaces) == 0 || vmi.Status.Interfaces[0].MAC == "" {
		return VM{}, fmt.Errorf("no card in its status: %w", errNotYet)
	}
	var err error
	if vm.MAC, err = net.ParseMAC(vmi.Status.Interfaces[0].MAC); err != nil {
		return VM{}, err
	}
	vm.Network = vmi.Spec.Networks[0].Multus.NetworkName
	if vm.VLAN, err = readVLAN(ctx, c, vm.Network); err != nil {
		return VM{}, err
	}
	vm.UserData, err = readUserData(ctx, c, vmi)
	return vm, err
}

// readVLAN returns the VLAN ID in a NetworkAttachmentDefinition for the bridge plugin. name is "namespace/name".
func readVLAN(ctx context.Context, c client.Client, name string) (int, error) {
	var def nad.NetworkAttachmentDefinition
	namespace, short, found := strings.Cut(name, "/")
	if !found {
		return 0, fmt.Errorf("network %q names no namespace", name)
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: short}, &def); err != nil {
		return 0, err
	}
	var config struct {
		VLAN    int
		Plugins []struct{ VLAN int }
	}
	if err := json.Unmarshal([]byte(def.Spec.Config), &config); err != nil {
		return 0, fmt.Errorf("network %s: %w", name, err)
	}
	for _, p := range config.Plugins {
		config.VLAN = max(config.VLAN, p.VLAN)
	}
	return config.VLAN, nil
}

// readUserData returns the user data in the config drive of vmi.
func readUserData(ctx context.Context, c client.Client, vmi *kubevirt.VirtualMachineInstance) ([]byte, error) {
	for _, v := range vmi.Spec.Volumes {
		drive := v.CloudInitConfigDrive
		if drive == nil || drive.UserDataSecretRef == nil {
			continue
		}
		var secret core.Secret
		if err := c.Get(ctx, client.ObjectKey{Namespace: vmi.Namespace, Name: drive.UserDataSecretRef.Name}, &secret); err != nil {
			return nil, err
		}
		for _, key := range []string{"userdata", "userData"} { // KubeVirt reads both.
			if data := secret.Data[key]; len(data) > 0 {
				return data, nil
			}
		}
		return nil, fmt.Errorf("secret %s is empty: %w", secret.Name, errNotYet)
	}
	return nil, errors.New("has no config drive with user-data")
}

// ReportAddress writes the address of vm into the status of its VirtualMachineInstance, as virt-handler does after a report of the
// guest agent. Cluster API waits for it.
func ReportAddress(ctx context.Context, c client.Client, vm VM, address netip.Addr) error {
	var vmi kubevirt.VirtualMachineInstance
	if err := c.Get(ctx, client.ObjectKey{Namespace: vm.Namespace, Name: vm.Name}, &vmi); err != nil {
		return err
	}
	if len(vmi.Status.Interfaces) == 0 {
		return fmt.Errorf("virtual machine %s has no card in its status", vm.Name)
	}
	patch := client.MergeFrom(vmi.DeepCopy())
	vmi.Status.Interfaces[0].IP = address.String()
	vmi.Status.Interfaces[0].IPs = []string{address.String()}
	return c.Status().Patch(ctx, &vmi, patch)
}
