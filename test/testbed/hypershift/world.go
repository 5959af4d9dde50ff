// This file has stand-ins for systems around HyperShift that do not exist here: a cloud's load balancers, OpenShift's router, KubeVirt and
// a storage provisioner. They write to the API server what these systems would write. They never change objects of oooi.
package hypershift

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-logr/logr"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	virtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cldmnky/oooi/test/testbed/cluster"
)

// The addresses of load balancers. They are on the node's network, and kube-proxy forwards them.
const (
	firstLoadBalancer = "10.240.0.200"
	lastLoadBalancer  = "10.240.0.249"
)

const (
	storageClass  = "testbed"
	ingressDomain = "apps.mgmt.example.com"

	// servedByControlPlane labels Routes that a hosted control plane's own router admits.
	servedByControlPlane = "hypershift.openshift.io/hosted-control-plane"
)

// WorldOptions are the options of PlayWorld.
type WorldOptions struct {
	VolumeDir   string       // directory for persistent volumes
	VMAddresses netip.Prefix // VMs report an address of it although no guest runs; zero: the program that boots the guest reports the address
	Log         logr.Logger
}

// PlayWorld runs the stand-ins until ctx ends. The CRDs must exist.
func PlayWorld(ctx context.Context, config *rest.Config, o WorldOptions) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, routev1.Install, virtv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	log.SetLogger(o.Log)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Logger: o.Log, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		return err
	}
	w := world{Client: mgr.GetClient(), live: mgr.GetAPIReader(), WorldOptions: o}
	for _, c := range []error{
		play(mgr, "cloud", &corev1.Service{}, w.balance),
		play(mgr, "router", &routev1.Route{}, w.admit),
		play(mgr, "virt-controller", &virtv1.VirtualMachine{}, w.runVM),
		play(mgr, "provisioner", &corev1.PersistentVolumeClaim{}, w.provision),
		play(mgr, "reclaimer", &corev1.PersistentVolume{}, w.reclaim),
	} {
		if c != nil {
			return c
		}
	}
	return mgr.Start(ctx)
}

// volumeDir returns the directory of the persistent volumes of c.
func volumeDir(c *cluster.Cluster) string { return filepath.Join(c.Dir, "hypershift", "volumes") }

type world struct {
	client.Client
	live client.Reader // not from the cache
	WorldOptions
}

// play calls act for each object of the kind of kind when it changes. It ignores objects that are being deleted.
func play[T client.Object](mgr ctrl.Manager, name string, kind T, act func(context.Context, T) error) error {
	return ctrl.NewControllerManagedBy(mgr).Named(name).For(kind).Complete(reconcile[T]{mgr.GetClient(), kind, act})
}

type reconcile[T client.Object] struct {
	client.Reader
	kind T
	act  func(context.Context, T) error
}

func (r reconcile[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := r.kind.DeepCopyObject().(T)
	if err := r.Get(ctx, req.NamespacedName, o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !o.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.act(ctx, o)
}

// balance assigns an address to s if it has type LoadBalancer, as a cloud or MetalLB would.
func (w world) balance(ctx context.Context, s *corev1.Service) error {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Status.LoadBalancer.Ingress) > 0 {
		return nil
	}
	var all corev1.ServiceList
	if err := w.live.List(ctx, &all); err != nil { // The cache may lack the latest assignment.
		return err
	}
	var used []string
	for _, other := range all.Items {
		for _, i := range other.Status.LoadBalancer.Ingress {
			used = append(used, i.IP)
		}
	}
	free, err := firstFree(used)
	if err != nil {
		return err
	}
	mode := corev1.LoadBalancerIPModeVIP
	patch := client.MergeFrom(s.DeepCopy())
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: free, IPMode: &mode}}
	log.FromContext(ctx).Info("load balancer", "address", free)
	return w.Status().Patch(ctx, s, patch)
}

// firstFree returns the lowest load balancer address that is not in used.
func firstFree(used []string) (string, error) {
	last := netip.MustParseAddr(lastLoadBalancer)
	for a := netip.MustParseAddr(firstLoadBalancer); a.Compare(last) <= 0; a = a.Next() {
		if !slices.Contains(used, a.String()) {
			return a.String(), nil
		}
	}
	return "", fmt.Errorf("no load balancer address is free in %s-%s", firstLoadBalancer, lastLoadBalancer)
}

// admit writes into the status of r that the default router serves it, unless a hosted control plane's own router does.
func (w world) admit(ctx context.Context, r *routev1.Route) error {
	if _, other := r.Labels[servedByControlPlane]; other || len(r.Status.Ingress) > 0 || r.Spec.Host == "" {
		return nil
	}
	patch, at := client.MergeFrom(r.DeepCopy()), now()
	r.Status.Ingress = []routev1.RouteIngress{{
		Host: r.Spec.Host, RouterName: "default", RouterCanonicalHostname: "router-default." + ingressDomain, WildcardPolicy: r.Spec.WildcardPolicy,
		Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue, LastTransitionTime: &at}},
	}}
	return w.Status().Patch(ctx, r, patch)
}

// provision creates a directory, and binds it to claim as a volume.
func (w world) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != storageClass || claim.Status.Phase == corev1.ClaimBound {
		return nil
	}
	pv := volume(claim, w.VolumeDir)
	if err := os.MkdirAll(pv.Spec.HostPath.Path, 0o777); err != nil {
		return err
	}
	if err := os.Chmod(pv.Spec.HostPath.Path, 0o777); err != nil { // The pod may run as any user.
		return err
	}
	return client.IgnoreAlreadyExists(w.Create(ctx, pv))
}

func volume(claim *corev1.PersistentVolumeClaim, dir string) *corev1.PersistentVolume {
	name := claim.Namespace + "-" + claim.Name + "-" + string(claim.UID[:8])
	pv := &corev1.PersistentVolume{}
	pv.Name = name
	pv.Spec = corev1.PersistentVolumeSpec{
		Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: storageClass,
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(dir, name)}},
	}
	return pv
}

// reclaim removes pv if its claim no longer exists.
func (w world) reclaim(ctx context.Context, pv *corev1.PersistentVolume) error {
	if pv.Spec.StorageClassName != storageClass || pv.Status.Phase != corev1.VolumeReleased {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(w.VolumeDir, pv.Name)); err != nil {
		return err
	}
	return client.IgnoreNotFound(w.Delete(ctx, pv))
}
