// Package hypershift installs a real HyperShift on a testbed, with its own command line. The parts of OpenShift and of a cloud that
// HyperShift needs are replaced by stand-ins, the world (see [PlayWorld] and modules/shim). Hosted control planes run HyperShift's own
// operators, Cluster API, etcd, Kubernetes and konnectivity. A component that exists in no Go module is replaced by a pod that does
// nothing.
//
// This file decides the order of the installation.
package hypershift

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/hcp/apirewrite"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/ocp"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// Namespace is the namespace of HostedClusters and NodePools.
const Namespace = "clusters"

// Options say how much of a hosted control plane runs.
type Options struct {
	Keep        []string     // components that run; all others become pods that do nothing; empty: DefaultKeep
	Mini        bool         // true: only MiniKeep runs, for all hosted clusters; for a single one, see [HostedClusterOptions]
	APIRules    string       // file with other names for KubeVirt's kinds (docs/clients.md); empty: its own names
	Twin        *HyperShift  // on another cluster, with the same registry: hosted clusters of both trust its certificate; nil: none
	VMAddresses netip.Prefix // addresses that VMs report although no guest runs; zero: the worker of a VM reports its address
	Log         io.Writer    // gets a line for each step; nil: no lines are written
}

// DefaultKeep returns the components that can run. They are enough for a worker to join, and for a hosted cluster to become available.
func DefaultKeep() []string {
	return append(MiniKeep(), "capi-provider", "cluster-api", "control-plane-pki-operator", "etcd", "hosted-cluster-config-operator", "ignition-server",
		"ignition-server-proxy", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "private-router", "router")
}

// MiniKeep returns the components that create a control plane's Services, Routes, Secrets and status. Nothing answers there. With
// strategies other than NodePort, such a cluster never becomes available, because HyperShift's operator checks the health of the API
// server.
func MiniKeep() []string { return []string{"control-plane-operator", "featuregate-generator"} }

// A HyperShift is an installed HyperShift.
type HyperShift struct {
	cluster *cluster.Cluster
	client  client.Client
	pki     pki
	rules   *apirewrite.Rules // other names for KubeVirt's kinds; nil: its own names
	dir     string            // its directory in the cluster's state directory
	say     func(format string, args ...any)
}

// Install builds and installs HyperShift, and returns when its operator is the leader. It does not change what is already installed.
func Install(ctx context.Context, c *cluster.Cluster, o Options) (*HyperShift, error) {
	if o.Twin != nil {
		if err := os.CopyFS(directory(c, "pki"), os.DirFS(o.Twin.path("pki"))); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	h, err := open(c, o.Log)
	if err != nil {
		return nil, err
	}
	if err := h.keepRules(o.APIRules); err != nil {
		return nil, err
	}
	if err := host.EnsurePackages(ctx, o.Log, ocp.Packages()...); err != nil {
		return nil, err
	}
	if err := c.Build(ctx, ocp.Programs()...); err != nil {
		return nil, err
	}
	sources, err := ocp.FindSources(ctx, c.Bin)
	if err != nil {
		return nil, err
	}
	images, err := ocp.Images(sources)
	if err != nil {
		return nil, err
	}
	if err := h.load(ctx, images[:1]); err != nil { // The next steps need the stand-ins.
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.load(gctx, images[1:]) })
	g.Go(func() error { return h.startRegistry(sources) })
	g.Go(func() error { return h.prepare(gctx, sources.APIs, o) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := h.startWorld(ctx, o.VMAddresses); err != nil {
		return nil, err
	}
	if err := h.installOperator(ctx); err != nil {
		return nil, err
	}
	return h, write(h.path("pull-secret.json"), fmt.Appendf(nil, `{"auths": {%q: {"auth": "YTpi"}}}`, ocp.RegistryAddress)) // the registry needs no credentials
}

// Attach returns the HyperShift that is installed on c.
func Attach(c *cluster.Cluster, log io.Writer) (*HyperShift, error) {
	h, err := open(c, log)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(h.path("pull-secret.json")); err != nil {
		return nil, fmt.Errorf("HyperShift is not installed on %s: %w", c.Name, err)
	}
	return h, nil
}

func open(c *cluster.Cluster, log io.Writer) (*HyperShift, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	cl, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	h := &HyperShift{cluster: c, client: cl, dir: directory(c), say: progress.New(log).Say}
	if h.rules, err = readRules(h.path(rulesFile)); err != nil {
		return nil, err
	}
	h.pki, err = loadPKI(h.path("pki"))
	return h, err
}

// directory returns the path of a file or directory of HyperShift in the state directory of c.
func directory(c *cluster.Cluster, elem ...string) string {
	return filepath.Join(append([]string{c.Dir, "hypershift"}, elem...)...)
}

func (h *HyperShift) path(elem ...string) string {
	return filepath.Join(append([]string{h.dir}, elem...)...)
}

// prepare applies what HyperShift needs on the cluster before it can be installed.
func (h *HyperShift) prepare(ctx context.Context, apis string, o Options) error {
	keep := o.Keep
	switch {
	case o.Mini:
		keep = MiniKeep()
	case len(keep) == 0:
		keep = DefaultKeep()
	}
	webhook, err := webhookManifest(h.pki, keep)
	if err != nil {
		return err
	}
	crds, err := h.managementCRDs(ctx, apis)
	if err != nil {
		return err
	}
	kubevirt, err := h.named(kubevirtManifest)
	if err != nil {
		return err
	}
	for _, m := range [][]byte{kubevirt, webhook, crds} {
		if err := h.cluster.Apply(ctx, m); err != nil {
			return err
		}
	}
	if _, err := h.cluster.Kubectl(ctx, "wait", "--for=condition=established", "--timeout="+await.Patience.String(), "crd", "--all"); err != nil {
		return err
	}
	h.say("CRDs of HyperShift, OpenShift and KubeVirt")
	if err := h.cluster.Apply(ctx, managementManifest); err != nil {
		return err
	}
	for _, d := range []string{"virt-api", "pod-webhook"} {
		if _, err := h.cluster.Kubectl(ctx, "-n", "kubevirt", "rollout", "status", "deployment/"+d, "--timeout="+await.Patience.String()); err != nil {
			return err
		}
	}
	h.say("KubeVirt's version, OpenShift's admission")
	return nil
}

// installOperator applies the output of `hypershift install render`, and waits until an operator is the leader.
func (h *HyperShift) installOperator(ctx context.Context) error {
	manifest, err := h.renderOperator(ctx, "resources")
	if err != nil {
		return err
	}
	own, err := operatorSecrets(h.pki)
	if err != nil {
		return err
	}
	if err := h.cluster.Apply(ctx, append(append(manifest, "\n---\n"...), own...)); err != nil {
		return err
	}
	err = poll(ctx, await.Patience, "HyperShift's operator to lead", func(ctx context.Context) (bool, error) {
		var l coordinationv1.LeaseList
		if err := h.client.List(ctx, &l, client.InNamespace("hypershift")); err != nil {
			return false, err
		}
		for _, lease := range l.Items {
			if lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
				return true, nil
			}
		}
		return false, nil
	})
	if err == nil {
		h.say("HyperShift's operator leads")
	}
	return err
}

// renderOperator returns an output of HyperShift's installer: "crds" or "resources". It leaves out the conversion webhook, which needs
// certificates of OpenShift's service CA. It also leaves out the CRDs of other platforms, which would triple the API server's work.
func (h *HyperShift) renderOperator(ctx context.Context, outputs string) ([]byte, error) {
	return h.run(h.cluster.Command(ctx, h.cluster.Bin("hypershift"), "install", "render", "--hypershift-image", ocp.OperatorImage,
		"--enable-conversion-webhook=false", "--limit-crd-install", "KubeVirt", "--outputs", outputs))
}

// poll calls done until it returns true without an error, for at most limit. what names the awaited state for the error.
func poll(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		ok, err := done(ctx)
		last = err
		return ok && err == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case last != nil && !apierrors.IsNotFound(last):
		return fmt.Errorf("waited %s for %s: %w", limit, what, last)
	default:
		return fmt.Errorf("waited %s for %s: %w", limit, what, err)
	}
}
