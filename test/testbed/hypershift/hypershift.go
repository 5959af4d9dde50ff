// Package hypershift puts HyperShift itself on a testbed: its operator, installed and used by its own command line, with the parts of OpenShift
// and of a cloud that it expects around it played (see [PlayWorld], modules/shim). Hosted control planes run HyperShift's own operators, Cluster
// API, etcd, Kubernetes and konnectivity; what exists in no Go module is a placeholder that runs nothing.
//
// This file decides in which order HyperShift is installed; it never reconciles anything itself.
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
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// Namespace is where HostedClusters and NodePools are made.
const Namespace = "clusters"

// Options say how much of a hosted control plane runs.
type Options struct {
	Keep        []string     // components that really run, each other one becomes a placeholder; empty means DefaultKeep
	Mini        bool         // only MiniKeep, for all hosted clusters (one alone: [HostedClusterOptions])
	APIRules    string       // file with the names that KubeVirt has here (docs/clients.md); empty means its own
	VMAddresses netip.Prefix // addresses that VMs claim without a guest; the zero value leaves them to the worker of the VM
	Log         io.Writer    // a line for each step; nil means nowhere
}

// DefaultKeep is what can run: all that a worker needs to join, and that HyperShift needs to call a cluster available.
func DefaultKeep() []string {
	return append(MiniKeep(), "capi-provider", "cluster-api", "control-plane-pki-operator", "etcd", "hosted-cluster-config-operator", "ignition-server",
		"ignition-server-proxy", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "private-router", "router")
}

// MiniKeep makes a control plane's Services, Routes, Secrets and status and nothing that answers. With any strategy but NodePort such a cluster
// is never available, since the operator asks the API server for its health.
func MiniKeep() []string { return []string{"control-plane-operator", "featuregate-generator"} }

// HyperShift is an installed one.
type HyperShift struct {
	cluster *cluster.Cluster
	client  client.Client
	pki     pki
	rules   *apirewrite.Rules // the names that KubeVirt has here; nil means its own
	dir     string            // of what belongs to it in the cluster's state directory
	say     func(format string, args ...any)
}

// Install builds, packs and installs HyperShift, and returns when its operator leads. What is there already stays as it is.
func Install(ctx context.Context, c *cluster.Cluster, o Options) (*HyperShift, error) {
	h, err := open(c, o.Log)
	if err != nil {
		return nil, err
	}
	if err := h.keepRules(o.APIRules); err != nil {
		return nil, err
	}
	if err := host.EnsurePackages(ctx, o.Log, packages()...); err != nil {
		return nil, err
	}
	if err := c.Build(ctx, programs()...); err != nil {
		return nil, err
	}
	apis, err := build.ModuleSource(ctx, "hypershift", "github.com/openshift/api")
	if err != nil {
		return nil, err
	}
	imgs, err := images(sources{bin: c.Bin, apis: apis})
	if err != nil {
		return nil, err
	}
	if err := h.load(ctx, imgs[:1]); err != nil { // the stand-ins: what follows waits for them
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.load(gctx, imgs[1:]) })
	g.Go(h.startRegistry)
	g.Go(func() error { return h.prepare(gctx, apis, o) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := h.startWorld(ctx, o.VMAddresses); err != nil {
		return nil, err
	}
	if err := h.installOperator(ctx); err != nil {
		return nil, err
	}
	return h, write(h.path("pull-secret.json"), fmt.Appendf(nil, `{"auths": {%q: {"auth": "YTpi"}}}`, registryAddress)) // the registry needs no credentials
}

// Attach is the HyperShift that Install put on c.
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
	h := &HyperShift{cluster: c, client: cl, dir: filepath.Join(c.Dir, "hypershift"), say: progress.New(log).Say}
	if h.rules, err = readRules(h.path(rulesFile)); err != nil {
		return nil, err
	}
	h.pki, err = loadPKI(h.path("pki"))
	return h, err
}

func (h *HyperShift) path(elem ...string) string {
	return filepath.Join(append([]string{h.dir}, elem...)...)
}

// prepare makes the cluster one that HyperShift can be installed on.
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

// installOperator applies what `hypershift install render` writes, and waits until an operator leads.
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

// renderOperator is the output of HyperShift's installer: "crds" or "resources". Its conversion webhook needs certificates of OpenShift's
// service CA, and CRDs of other platforms would triple the API server's work.
func (h *HyperShift) renderOperator(ctx context.Context, outputs string) ([]byte, error) {
	return h.run(h.cluster.Command(ctx, h.cluster.Bin("hypershift"), "install", "render", "--hypershift-image", operatorImage,
		"--enable-conversion-webhook=false", "--limit-crd-install", "KubeVirt", "--outputs", outputs))
}

// poll asks until done, a permanent error, or the time is over. Errors of the API are asked again.
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
