// This file checks whether the operator has a leader and its rights. An available pod proves neither.

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

type operatorFacts struct {
	// known is true if there is exactly one Deployment of the operator, and it has an available pod.
	known     bool
	namespace string
	// leader is the Lease of leader election. Nil: the Lease does not exist. If leaderErr is set, the Lease cannot be
	// read.
	leader    *coordinationv1.Lease
	leaderErr error
	lacks     []string
	rightsErr error
}

func neededRights() []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Verb: "list", Group: "hypershift.openshift.io", Resource: "hostedclusters"},
		{Verb: "list", Group: "hypershift.openshift.io", Resource: "nodepools"},
		{Verb: "patch", Group: "hypershift.openshift.io", Resource: "hostedclusters", Subresource: "status"},
		{Verb: "list", Group: "k8s.cni.cncf.io", Resource: "network-attachment-definitions"},
		{Verb: "list", Group: wire.KubeVirtGroup, Resource: "virtualmachineinstances"},
		{Verb: "list", Resource: "services"},
		{Verb: "list", Resource: "nodes"},
		{Verb: "list", Group: "apps", Resource: "deployments"},
		{Verb: "list", Group: "coordination.k8s.io", Resource: "leases"},
		{Verb: "list", Group: "discovery.k8s.io", Resource: "endpointslices"},
		source.BindRight(),
	}
}

// readOperator reads the facts about the operator in installed. The reviews of its rights are not stored.
func readOperator(ctx context.Context, api client.Reader, installed installation) (f operatorFacts) {
	d, none := installed.operator()
	if none != nil {
		return f
	}
	f.known, f.namespace = d.Status.AvailableReplicas > 0, d.Namespace
	lease := &coordinationv1.Lease{}
	switch err := api.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: command.LeaderElectionID}, lease); {
	case err == nil:
		f.leader = lease
	case !apierrors.IsNotFound(err):
		f.leaderErr = err
	}
	writer, ok := api.(client.Writer)
	if !ok {
		f.rightsErr = fmt.Errorf("the API server was not queried")
		return f
	}
	for _, right := range neededRights() {
		may, err := source.Allowed(ctx, writer, d.Namespace, d.Spec.Template.Spec.ServiceAccountName, right)
		if f.rightsErr = err; err != nil {
			return f
		}
		if !may {
			f.lacks = append(f.lacks, strings.TrimSuffix(right.Verb+" "+right.Resource+"/"+right.Subresource, "/"))
		}
	}
	slices.Sort(f.lacks)
	return f
}

func operatorChecks(f operatorFacts, now time.Time) []checked {
	if !f.known {
		return nil // installationChecks returns a failure for it.
	}
	var leads, rights problem.Problems
	switch {
	case f.leaderErr != nil:
		leads = found(problem.Unread, failed(f.leaderErr))
	case f.leader == nil || !held(*f.leader, now):
		leads = about(problem.OperatorNotLeading, "Lease", f.namespace, command.LeaderElectionID, nil)
	}
	switch {
	case len(f.lacks) > 0:
		rights = found(problem.OperatorRightsMissing, problem.Args{"rights": f.lacks})
	case f.rightsErr != nil:
		rights = found(problem.Unread, failed(f.rightsErr))
	}
	return []checked{lineOf("operator leader", leads), lineOf("operator's rights", rights)}
}

// leaderSlack is the tolerated difference between the clocks of this host and of the leader.
const leaderSlack = time.Minute

func held(l coordinationv1.Lease, now time.Time) bool {
	s := l.Spec
	return s.HolderIdentity != nil && *s.HolderIdentity != "" && s.RenewTime != nil && s.LeaseDurationSeconds != nil &&
		now.Sub(s.RenewTime.Time) <= time.Duration(*s.LeaseDurationSeconds)*time.Second+leaderSlack
}
