// This file creates and destroys hosted clusters with HyperShift's own command line, and waits for them.
package hypershift

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

// HostedClusterOptions are the arguments for `hypershift create cluster kubevirt`, and for the network of the VMs.
type HostedClusterOptions struct {
	Name           string            // of the HostedCluster and its NodePool, in Namespace
	Strategy       Strategy          // "" means LoadBalancerIP
	BaseDomain     string            // of its names; "": none, and *.apps is a subdomain of the management cluster's domain
	VLAN           int               // 1 to 4094: VMs are on NAD vlan<VLAN>, which is created in the control plane namespace; 0: no such NAD
	Networks       []string          // NADs of its VMs as namespace/name, which are not created; they follow that of VLAN
	DefaultNetwork bool              // true: its VMs are also on the pod network
	MachineCIDR    netip.Prefix      // CIDR of the VLAN; zero: not set
	Replicas       int               // number of VMs
	Annotations    map[string]string // of the HostedCluster
	Flags          []string          // further flags of the command line, which override others
	Mini           bool              // true: only the components in MiniKeep run
}

// networks returns the NADs of the cluster's VMs, as namespace/name.
func (o HostedClusterOptions) networks() []string {
	if o.VLAN == 0 {
		return o.Networks
	}
	return append([]string{networkName(ControlPlaneNamespace(o.Name), o.VLAN)}, o.Networks...)
}

// networkName returns the NAD of a VLAN, as namespace/name.
func networkName(namespace string, vlan int) string { return fmt.Sprintf("%s/vlan%d", namespace, vlan) }

// ControlPlaneNamespace returns the control plane namespace of the HostedCluster with this name in Namespace.
func ControlPlaneNamespace(name string) string {
	return Namespace + "-" + strings.ReplaceAll(name, ".", "-")
}

// Create creates the HostedCluster and the NodePool, and does not wait for HyperShift. It returns an error if the HostedCluster exists.
func (h *HyperShift) Create(ctx context.Context, o HostedClusterOptions) error {
	if o.Strategy == "" {
		o.Strategy = LoadBalancerIP
	}
	if err := o.Strategy.Validate(); err != nil {
		return err
	}
	if err := h.prepareNamespace(ctx, o); err != nil {
		return err
	}
	args := append(createArgs(o), "--pull-secret", h.path("pull-secret.json"), "--ssh-key", h.path("pki", "ssh.pub"))
	out, err := h.run(h.cluster.Command(ctx, h.cluster.Bin("hypershift"), args...))
	if err != nil {
		return err
	}
	if o.Strategy.rendered() {
		domain := o.Name + "." + o.BaseDomain
		manifest, err := rewrite(out, o.Strategy.services(domain))
		if err != nil {
			return err
		}
		if err := h.cluster.Apply(ctx, manifest); err != nil {
			return err
		}
	}
	h.say("HostedCluster %s/%s created (%s)", Namespace, o.Name, o.Strategy)
	return nil
}

// prepareNamespace creates the control plane namespace before HyperShift does, if it must contain objects. HyperShift's operator uses an existing
// namespace as it is.
func (h *HyperShift) prepareNamespace(ctx context.Context, o HostedClusterOptions) error {
	if o.VLAN == 0 && !o.Mini {
		return nil
	}
	labels := values{}
	if o.Mini { // The webhook reads this label.
		labels["testbed.oooi/mini"] = ""
	}
	name := ControlPlaneNamespace(o.Name)
	err := h.apply(ctx, values{"apiVersion": "v1", "kind": "Namespace", "metadata": values{"name": name, "labels": labels}})
	if err != nil || o.VLAN == 0 {
		return err
	}
	_, err = h.MakeNetwork(ctx, name, o.VLAN)
	return err
}

// MakeNetwork creates the NAD of a VLAN in an existing namespace, and returns its name as namespace/name.
func (h *HyperShift) MakeNetwork(ctx context.Context, namespace string, vlan int) (string, error) {
	return networkName(namespace, vlan), h.apply(ctx, attachment(namespace, vlan))
}

// CreateNodePool adds a NodePool to a hosted cluster. Its VMs are only on one network, the NAD network (namespace/name).
func (h *HyperShift) CreateNodePool(ctx context.Context, cluster, name, network string, replicas int) error {
	_, err := h.run(h.cluster.Command(ctx, h.cluster.Bin("hypershift"), "create", "nodepool", "kubevirt", "--cluster-name", cluster,
		"--namespace", Namespace, "--name", name, "--replicas", fmt.Sprint(replicas),
		"--attach-default-network=false", "--additional-network", "name:"+network))
	if err == nil {
		h.say("NodePool %s/%s created", Namespace, name)
	}
	return err
}

func (h *HyperShift) apply(ctx context.Context, objects ...any) error {
	manifest, err := documents(objects...)
	if err != nil {
		return err
	}
	return h.cluster.Apply(ctx, manifest)
}

// attachment returns the NAD of a VLAN as an administrator writes it for VMs: a tagged bridge port without IPAM.
func attachment(namespace string, vlan int) any {
	name := fmt.Sprintf("vlan%d", vlan)
	config := fmt.Sprintf(`{"cniVersion": "0.3.1", "name": %q, "type": "bridge", "bridge": %q, "vlan": %d}`, name, lan.Bridge, vlan)
	return values{
		"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
		"metadata": values{"name": name, "namespace": namespace}, "spec": values{"config": config},
	}
}

// WaitEndpoint waits until HyperShift has published the API server's address and port, and returns them. The API server starts much later.
func (h *HyperShift) WaitEndpoint(ctx context.Context, name string) (host string, port int32, err error) {
	err = h.wait(ctx, name, "its endpoint", func(hc *hyperv1.HostedCluster) bool {
		host, port = hc.Status.ControlPlaneEndpoint.Host, hc.Status.ControlPlaneEndpoint.Port
		return host != "" && port != 0
	})
	if err == nil {
		h.say("%s: endpoint %s:%d", name, host, port)
	}
	return host, port, err
}

// WaitAvailable waits until HyperShift reports that the hosted cluster is available.
func (h *HyperShift) WaitAvailable(ctx context.Context, name string) error {
	err := h.wait(ctx, name, "it to be available", func(hc *hyperv1.HostedCluster) bool {
		return meta.IsStatusConditionTrue(hc.Status.Conditions, string(hyperv1.HostedClusterAvailable))
	})
	if err == nil {
		h.say("%s: available", name)
	}
	return err
}

// wait waits until done returns true for the HostedCluster. what names that state for errors, which also contain the last conditions.
func (h *HyperShift) wait(ctx context.Context, name string, what string, done func(*hyperv1.HostedCluster) bool) error {
	var hc hyperv1.HostedCluster
	err := poll(ctx, await.Patience, fmt.Sprintf("HostedCluster %s, %s", name, what), func(ctx context.Context) (bool, error) {
		if err := h.client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, &hc); err != nil {
			return false, err
		}
		return done(&hc), nil
	})
	if err == nil {
		return nil
	}
	var said []string
	for _, c := range hc.Status.Conditions {
		if c.Message != "" && c.Reason != hyperv1.AsExpectedReason {
			said = append(said, fmt.Sprintf("%s=%s: %s", c.Type, c.Status, c.Message))
		}
	}
	return fmt.Errorf("%w\n%s", err, strings.Join(said, "\n"))
}

// Destroy destroys a hosted cluster with HyperShift's command line, and returns when its control plane namespace and its volumes no longer exist.
// It sets --destroy-cloud-resources=false, because there is no cloud. It does not wait until the API server has drained (70 s, and then a grace
// period of 135 s), but deletes its pod immediately.
func (h *HyperShift) Destroy(ctx context.Context, name string) error {
	done, stop := context.WithCancel(ctx)
	defer stop()
	go h.hurry(done, ControlPlaneNamespace(name))
	if err := h.waitControlPlane(ctx, name); err != nil {
		return err
	}
	// The command line's update of the HostedCluster fails if HyperShift's operator changes the object at the same time.
	var err error
	for range 3 {
		if _, err = h.run(h.cluster.Command(ctx, h.cluster.Bin("hypershift"), "destroy", "cluster", "kubevirt",
			"--name", name, "--namespace", Namespace, "--destroy-cloud-resources=false")); err == nil || ctx.Err() != nil {
			break
		}
		h.say("%s: destroyed again: %v", name, err)
	}
	if err != nil {
		return err
	}
	ns := ControlPlaneNamespace(name)
	var namespace corev1.Namespace
	err = poll(ctx, await.Patience, "namespace "+ns+" to go", func(ctx context.Context) (bool, error) {
		err := h.client.Get(ctx, client.ObjectKey{Name: ns}, &namespace)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, remains(namespace))
	}
	err = poll(ctx, await.Patience, "volumes of "+ns+" to go", func(ctx context.Context) (bool, error) {
		var l corev1.PersistentVolumeList
		if err := h.client.List(ctx, &l); err != nil {
			return false, err
		}
		for _, pv := range l.Items {
			if pv.Spec.ClaimRef != nil && pv.Spec.ClaimRef.Namespace == ns {
				return false, nil
			}
		}
		return true, nil
	})
	if err == nil {
		h.say("%s: destroyed", name)
	}
	return err
}

// waitControlPlane waits until HyperShift has created the HostedControlPlane, for at most a minute. If a HostedCluster is deleted while
// HyperShift creates its namespace, the namespace remains, because HyperShift's operator does not see it yet.
func (h *HyperShift) waitControlPlane(ctx context.Context, name string) error {
	var hc hyperv1.HostedCluster
	err := poll(ctx, time.Minute, "HostedControlPlane of "+name, func(ctx context.Context) (bool, error) {
		err := h.client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, &hc)
		if apierrors.IsNotFound(err) || err == nil && !hc.DeletionTimestamp.IsZero() {
			return true, nil
		}
		err = h.client.Get(ctx, client.ObjectKey{Namespace: ControlPlaneNamespace(name), Name: name}, &hyperv1.HostedControlPlane{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		h.say("%s: has no HostedControlPlane", name)
		return nil
	}
	return err
}

// remains says why n still exists.
func remains(n corev1.Namespace) string {
	if n.DeletionTimestamp.IsZero() {
		return fmt.Sprintf("it was created at %v, and nothing deletes it", n.CreationTimestamp)
	}
	said := []string{fmt.Sprintf("it is deleted since %v", n.DeletionTimestamp)}
	for _, c := range n.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			said = append(said, fmt.Sprintf("%s: %s", c.Type, c.Message))
		}
	}
	return strings.Join(said, "\n")
}

// hurry ends the grace period of pods of the API server in namespace that are being deleted. It continues until ctx ends.
func (h *HyperShift) hurry(ctx context.Context, namespace string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var pods corev1.PodList
		if h.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": "kube-apiserver"}) == nil {
			for i := range pods.Items {
				if !pods.Items[i].DeletionTimestamp.IsZero() {
					_ = h.client.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0))
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
