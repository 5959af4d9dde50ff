// This file reads what oooi reports about a hosted cluster, and the objects that it has created for it. It also sets annotations.

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	apps "k8s.io/api/apps/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
)

// The names that users rely on.
const (
	// Prefix is the prefix of all annotations.
	Prefix = "hostedcluster.densityops.com/"
	// Annotation is the annotation with which a HostedCluster opts in.
	Annotation = Prefix + "network"
	// Condition is the type of oooi's condition on the HostedCluster.
	Condition = "hostedcluster.densityops.com/NetworkReady"
)

// ourOwn selects objects of oooi whose label app.kubernetes.io/name has the value name.
func ourOwn(name string) client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/part-of": "oooi", "app.kubernetes.io/name": name}
}

// A Hosted is one hosted cluster, seen from the management cluster.
type Hosted struct {
	Cluster *cluster.Cluster
	Client  client.Client
	Name    string
}

// NewHosted returns the hosted cluster with this name. It need not exist.
func NewHosted(c *cluster.Cluster, name string) (Hosted, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return Hosted{}, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(core.AddToScheme(scheme), apps.AddToScheme(scheme), coordination.AddToScheme(scheme), discovery.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		return Hosted{}, err
	}
	cl, err := client.New(config, client.Options{Scheme: scheme})
	return Hosted{Cluster: c, Client: cl, Name: name}, err
}

// Namespace returns the control plane namespace.
func (h Hosted) Namespace() string { return hypershift.ControlPlaneNamespace(h.Name) }

// Condition returns oooi's condition on the HostedCluster. It is zero if there is none.
func (h Hosted) Condition(ctx context.Context) (meta.Condition, error) {
	var hc hyperv1.HostedCluster
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: hypershift.Namespace, Name: h.Name}, &hc); err != nil {
		return meta.Condition{}, err
	}
	for _, c := range hc.Status.Conditions {
		if c.Type == Condition {
			return c, nil
		}
	}
	return meta.Condition{}, nil
}

// Annotate sets the annotation that opts in; "" removes it.
func (h Hosted) Annotate(ctx context.Context, value string) error {
	return h.Set(ctx, map[string]string{"network": value})
}

// Set sets annotations of oooi on the HostedCluster, by their names without prefix. The value "" removes one.
func (h Hosted) Set(ctx context.Context, settings map[string]string) error {
	annotations := map[string]any{}
	for key, value := range settings {
		annotations[Prefix+key] = value
		if value == "" {
			annotations[Prefix+key] = nil
		}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	hc := &hyperv1.HostedCluster{ObjectMeta: meta.ObjectMeta{Namespace: hypershift.Namespace, Name: h.Name}}
	return h.Client.Patch(ctx, hc, client.RawPatch("application/merge-patch+json", body))
}

// Plan returns the plan in force.
func (h Hosted) Plan(ctx context.Context) (network.Plan, error) {
	var cm core.ConfigMap
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace(), Name: "oooi-plan"}, &cm); err != nil {
		return network.Plan{}, err
	}
	var plan network.Plan
	return plan, json.Unmarshal([]byte(cm.Data["plan.json"]), &plan)
}

// Edges returns the Deployments of edges.
func (h Hosted) Edges(ctx context.Context) ([]apps.Deployment, error) {
	var list apps.DeploymentList
	err := h.Client.List(ctx, &list, client.InNamespace(h.Namespace()), ourOwn("oooi-edge"))
	return list.Items, err
}

// Leases returns the Lease objects of the DHCP leases that edges gave to VMs.
func (h Hosted) Leases(ctx context.Context) ([]coordination.Lease, error) {
	var list coordination.LeaseList
	err := h.Client.List(ctx, &list, client.InNamespace(h.Namespace()), ourOwn("dhcp"))
	return list.Items, err
}

// kinds are kinds of which oooi might leave objects in a control plane namespace.
const kinds = "configmaps,secrets,services,pods,deployments,replicasets,serviceaccounts,roles,rolebindings,leases,networkpolicies,poddisruptionbudgets,network-attachment-definitions,endpointslices"

// Owned returns the names of all objects of oooi in the control plane namespace, as "kind/name".
func (h Hosted) Owned(ctx context.Context) ([]string, error) {
	out, err := h.Cluster.Kubectl(ctx, "-n", h.Namespace(), "get", kinds, "-l", "app.kubernetes.io/part-of=oooi", "-o", "name", "--ignore-not-found")
	return strings.Fields(string(out)), err
}

// WaitEdges waits until all edges of the plan exist and are available: they serve DHCP, DNS, and the endpoints that HyperShift has
// published so far.
func (h Hosted) WaitEdges(ctx context.Context) error {
	said := "there is no plan"
	err := Until(ctx, func(ctx context.Context) (bool, error) {
		plan, err := h.Plan(ctx)
		if err != nil {
			return false, err
		}
		want := 0
		for _, n := range plan.Networks {
			want += len(n.Edges)
		}
		edges, err := h.Edges(ctx)
		if err != nil {
			return false, err
		}
		available := 0
		for _, e := range edges {
			if Available(e) {
				available++
			}
		}
		said = fmt.Sprintf("%d of %d edges are available, the plan has %d", available, len(edges), want)
		return want > 0 && len(edges) == want && available == want, nil
	})
	if err != nil {
		return fmt.Errorf("%s has not its edges after %s, %s: %w", h.Name, await.Patience, said, err)
	}
	return nil
}

// Available reports whether the edge of a Deployment is available in its current version.
func Available(edge apps.Deployment) bool {
	s := edge.Status
	return s.ObservedGeneration >= edge.Generation && s.AvailableReplicas > 0 && s.UpdatedReplicas == s.Replicas && s.UnavailableReplicas == 0
}

// WaitReady waits until the condition is True: edges serve everything that nodes need.
func (h Hosted) WaitReady(ctx context.Context) error {
	var c meta.Condition
	err := Until(ctx, func(ctx context.Context) (_ bool, err error) {
		c, err = h.Condition(ctx)
		return c.Status == meta.ConditionTrue, err
	})
	if err != nil {
		return fmt.Errorf("%s is not True after %s, but %q %s: %s: %w", Condition, await.Patience, c.Status, c.Reason, c.Message, err)
	}
	return nil
}

// WaitReason waits until the condition has this status and reason.
func (h Hosted) WaitReason(ctx context.Context, status meta.ConditionStatus, reason string) error {
	var c meta.Condition
	err := Until(ctx, func(ctx context.Context) (_ bool, err error) {
		c, err = h.Condition(ctx)
		return c.Status == status && c.Reason == reason, err
	})
	if err != nil {
		return fmt.Errorf("%s of %s is not %s %s after %s, but %q %s: %s: %w", Condition, h.Name, status, reason, await.Patience, c.Status, c.Reason, c.Message, err)
	}
	return nil
}

// Until calls done until it returns true. After await.Patience, it returns the last error of done.
func Until(ctx context.Context, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, await.Patience)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done(ctx)
		if ok && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}
