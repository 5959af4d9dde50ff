// This file finds the hosted clusters that a command is about.

package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// A HostedCluster is one to report. Object is nil if the user may not read it.
type HostedCluster struct {
	Namespace, Name string
	Object          *unstructured.Unstructured
}

// Key names the HostedCluster.
func (hc HostedCluster) Key() client.ObjectKey {
	return client.ObjectKey{Namespace: hc.Namespace, Name: hc.Name}
}

// ErrNoneOptedIn is the error of a command without a name.
var ErrNoneOptedIn = errors.New("no HostedCluster has the annotation " + settings.Prefix + network.KeyNetwork)

// Selected returns the named hosted cluster, or without a name each that opted in.
func Selected(ctx context.Context, api client.Reader, name client.ObjectKey) ([]HostedCluster, error) {
	if name.Name != "" {
		u := hcp.NewHostedCluster()
		err := api.Get(ctx, name, u)
		switch {
		case apierrors.IsForbidden(err):
			return []HostedCluster{{name.Namespace, name.Name, nil}}, nil
		case err != nil:
			return nil, fmt.Errorf("HostedCluster %s/%s: %w", name.Namespace, name.Name, err)
		}
		return []HostedCluster{{name.Namespace, name.Name, u}}, nil
	}
	list := hcp.NewHostedClusters()
	if err := api.List(ctx, list); err != nil {
		return nil, fmt.Errorf("HostedClusters: %w. Name one: NAMESPACE/NAME", err)
	}
	var all []HostedCluster
	for i := range list.Items {
		u := &list.Items[i]
		// Its error is found again where it is read, and the others are still shown.
		one, _ := hcp.ReadLiveCluster(u)
		if one.OptedIn {
			all = append(all, HostedCluster{one.Namespace, one.Name, u})
		}
	}
	if len(all) == 0 {
		return nil, ErrNoneOptedIn
	}
	slices.SortFunc(all, func(a, b HostedCluster) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	return all, nil
}
