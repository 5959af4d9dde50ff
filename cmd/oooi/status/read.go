// This file reads the facts for `oooi status` with the user's rights. Objects that the user may not read are left out
// and named. After any other error, the cluster has no report.

package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/version"
)

// A Leased is a DHCP lease. Network is the value of its network's label (see wire.NetworkLabel).
type Leased struct {
	Network string
	network.Lease
}

// A Reader reads the facts about one hosted cluster into Facts.
type Reader struct {
	API client.Reader
	Facts
}

// Read returns the facts about a HostedCluster. What the user may not read is named in the facts, and is not an error.
func Read(ctx context.Context, api client.Reader, hc source.HostedCluster) (Facts, error) {
	r := Reader{API: api, Facts: Facts{LiveCluster: hcp.UnreadLiveCluster(hc.Namespace, hc.Name), Build: version.Number()}}
	if hc.Object != nil {
		running, err := hcp.ReadLiveCluster(hc.Object)
		if err != nil {
			return r.Facts, err
		}
		r.LiveCluster, r.Read = running, true
	} else {
		r.unread = append(r.unread, noRight("HostedCluster "+hc.Namespace+"/"+hc.Name))
	}
	for _, read := range []func(context.Context) error{r.readPlan, r.readStored, r.ReadEdges, r.readPods, r.ReadLeases, r.readEndpoints, r.readEvents} {
		if err := read(ctx); err != nil {
			return r.Facts, err
		}
	}
	if hc.Object == nil {
		return r.Facts, nil
	}
	return r.Facts, r.readSettings(ctx, hc.Object)
}

// misses records a missing right in r.unread, and returns nil. It returns any other error. Parameter what names the
// objects.
func (r *Reader) misses(what string, err error) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	r.unread = append(r.unread, noRight(what))
	return nil
}

func noRight(what string) string { return "You have no right to read " + what + "." }

func (r *Reader) readPlan(ctx context.Context) error {
	var stored corev1.ConfigMap
	err := r.API.Get(ctx, client.ObjectKey{Namespace: r.ControlPlane, Name: wire.PlanConfigMap}, &stored)
	if apierrors.IsNotFound(err) {
		r.NoPlan = fmt.Sprintf("ConfigMap %s/%s with the plan of the edges does not exist.", r.ControlPlane, wire.PlanConfigMap)
		return nil
	}
	if err != nil {
		return r.misses("ConfigMap "+r.ControlPlane+"/"+wire.PlanConfigMap, err)
	}
	plan, err := network.ReadPlan([]byte(stored.Data[wire.PlanKey]))
	switch of := plan.Cluster; {
	case err != nil:
		r.NoPlan = fmt.Sprintf("The plan in ConfigMap %s/%s is unreadable: %v.", r.ControlPlane, wire.PlanConfigMap, err)
	case of.Namespace != r.Namespace || of.Name != r.Name:
		r.NoPlan = fmt.Sprintf("The plan in namespace %s belongs to HostedCluster %s.", r.ControlPlane, of)
	default:
		r.Plan, r.PlanRead = plan, true
		if len(plan.Networks) > 0 {
			r.PlanHash = explain.PlanHash(stored.Data[wire.PlanKey])
		}
	}
	return nil
}

func (r *Reader) readStored(ctx context.Context) error {
	var o corev1.ConfigMap
	name := "ConfigMap " + r.ControlPlane + "/" + wire.StatusConfigMap
	err := r.API.Get(ctx, client.ObjectKey{Namespace: r.ControlPlane, Name: wire.StatusConfigMap}, &o)
	if apierrors.IsNotFound(err) {
		r.noReport = name + " with the operator's status does not exist. Read the condition. If it does not show why, check that the operator runs."
		return nil
	}
	if err != nil {
		r.noReport, r.noReportRight = "You need the right to read "+name+", which holds the operator's status.", true
		return r.misses(name, err)
	}
	s, err := explain.ReadReport([]byte(o.Data[wire.StatusKey]))
	switch {
	case err != nil:
		r.noReport = fmt.Sprintf("The operator's status in %s is unreadable: %v. Use the program of the operator's version.", name, err)
		r.unread = append(r.unread, r.noReport)
	case s.Cluster != r.Namespace+"/"+r.Name:
		r.noReport = fmt.Sprintf("The operator's status in %s is about HostedCluster %s. Rename one of the two HostedClusters.", name, s.Cluster)
	default:
		r.Stored = &s
	}
	return nil
}

// ReadEdges reads the Deployments of edges into r.Ready.
func (r *Reader) ReadEdges(ctx context.Context) error {
	var list appsv1.DeploymentList
	err := r.API.List(ctx, &list, client.InNamespace(r.ControlPlane), client.MatchingLabels(wire.NamedLabels(wire.NameEdge)))
	if err != nil {
		return r.misses("Deployments in namespace "+r.ControlPlane, err)
	}
	r.Ready = map[string]bool{}
	for _, d := range list.Items {
		r.Ready[d.Name] = gather.EdgeReady(d)
	}
	return nil
}

// readPods reads into r.Pods why pods of edges do not run. If all edges are ready, it reads nothing.
func (r *Reader) readPods(ctx context.Context) error {
	if !slices.ContainsFunc(r.Plan.Networks, func(n network.Network) bool {
		return slices.ContainsFunc(n.Edges, func(e network.Edge) bool { return r.ReadyEdge(n, e) == explain.No })
	}) {
		return nil
	}
	var list corev1.PodList
	err := r.API.List(ctx, &list, client.InNamespace(r.ControlPlane), client.MatchingLabels(wire.NamedLabels(wire.NameEdge)))
	if err != nil {
		return r.misses("Pods in namespace "+r.ControlPlane, err)
	}
	r.Pods = map[string]string{}
	for _, n := range r.Plan.Networks {
		for _, e := range n.Edges {
			selector := labels.SelectorFromSet(wire.EdgeLabels(n, e))
			r.Pods[wire.EdgeDeploymentName(n, e)] = "it has no pod"
			for i := range list.Items {
				if p := &list.Items[i]; p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
					r.Pods[wire.EdgeDeploymentName(n, e)] = notRunning(p)
				}
			}
		}
	}
	return nil
}

// notRunning says why p does not run. Empty: p runs, but may not be ready.
func notRunning(p *corev1.Pod) string {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return strings.TrimSpace("container " + c.Name + ": " + w.Reason + " " + w.Message)
		}
	}
	if p.Status.Phase != corev1.PodPending {
		return ""
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	var images []string
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		images = append(images, c.Image)
	}
	slices.Sort(images)
	return "the pod is Pending. Its images: " + strings.Join(slices.Compact(images), ", ")
}

// ReadLeases reads the Lease objects that contain DHCP leases and reports of edges.
func (r *Reader) ReadLeases(ctx context.Context) error {
	var list coordinationv1.LeaseList
	err := r.API.List(ctx, &list, client.InNamespace(r.ControlPlane), client.MatchingLabels(wire.OwnedLabels()))
	if err != nil {
		return r.misses("Leases in namespace "+r.ControlPlane, err)
	}
	r.LeasesRead, r.Reports, r.renewed = true, map[string]reported.EdgeReport{}, map[string]time.Time{}
	for i := range list.Items {
		o := &list.Items[i]
		switch o.Labels[wire.LabelName] {
		case wire.NameReport:
			if report, err := reported.Read([]byte(o.Annotations[wire.AnnotationReport])); err == nil {
				r.Reports[o.Name] = report
				if o.Spec.RenewTime != nil {
					r.renewed[o.Name] = o.Spec.RenewTime.Time
				}
			}
		case wire.NameDHCP:
			// Read returns an error for a Lease whose name is not that of an address.
			if l, err := leaseobject.Read(o); err == nil {
				r.Leases = append(r.Leases, Leased{o.Labels[wire.LabelNetwork], l})
			}
		}
	}
	slices.SortFunc(r.Leases, compareLeases)
	return nil
}

// readSettings reads the objects from which plans are derived, and sets the hashes r.Settings and r.Inputs. They show
// whether the operator's status is about the current objects.
func (r *Reader) readSettings(ctx context.Context, hc *unstructured.Unstructured) error {
	var dump files.Dump
	if !r.add(&dump, *hc) {
		return nil
	}
	pools, whole, err := r.into(ctx, &dump, source.Wanted{Kind: hcp.NodePoolKind(), Namespace: r.Namespace})
	if !whole {
		return err
	}
	if _, whole, err = r.into(ctx, &dump, source.Wanted{Kind: source.KindOf("", "v1", "Service"), Namespace: r.ControlPlane}); !whole {
		return err
	}
	r.Led = map[string]bool{}
	for _, s := range dump.Clusters()[0].Services {
		r.Led[s.Name] = services.LeadsToEdges(&s)
	}
	_, routes, err := r.into(ctx, &dump, source.Wanted{Kind: source.KindOf("route.openshift.io", "v1", "Route"), Namespace: r.ControlPlane})
	if err != nil {
		return err
	}
	for _, w := range source.DefinitionsOf(hc, pools) {
		if _, whole, err := r.into(ctx, &dump, w); !whole {
			return err
		}
	}
	o := dump.Clusters()[0]
	if r.Settings = report.Settings(o); routes {
		r.Inputs = report.Inputs(o)
	}
	return nil
}

// into reads the objects that w selects, adds them to dump and returns them. whole is true if all of them were added.
func (r *Reader) into(ctx context.Context, dump *files.Dump, w source.Wanted) (found []unstructured.Unstructured, whole bool, err error) {
	found, err = w.Read(ctx, r.API)
	if err != nil {
		return nil, false, r.misses(w.String(), err)
	}
	return found, r.add(dump, found...), nil
}

// add adds objects to dump. If one cannot be decoded, it records that in r.unread, and returns false.
func (r *Reader) add(dump *files.Dump, all ...unstructured.Unstructured) bool {
	for _, u := range all {
		if err := dump.AddUnstructured(u); err != nil {
			r.unread = append(r.unread, fmt.Sprintf("%s %s/%s cannot be read: %v.", u.GetKind(), u.GetNamespace(), u.GetName(), err))
			return false
		}
	}
	return true
}
