// This file finds the hosted clusters that a command is about.

package main

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
)

// A hostedCluster is one to report. Object is nil if the user may not read it.
type hostedCluster struct {
	namespace, name string
	object          *unstructured.Unstructured
}

// key names the HostedCluster.
func (hc hostedCluster) key() client.ObjectKey {
	return client.ObjectKey{Namespace: hc.namespace, Name: hc.name}
}

// errNoneOptedIn is the error of a command without a name.
var errNoneOptedIn = errors.New("no HostedCluster has the annotation " + settings.Prefix + settings.KeyNetwork)

// selected returns the named hosted cluster, or without a name each that opted in.
func selected(ctx context.Context, api client.Reader, name client.ObjectKey) ([]hostedCluster, error) {
	if name.Name != "" {
		u := hcp.NewHostedCluster()
		err := api.Get(ctx, name, u)
		switch {
		case apierrors.IsForbidden(err):
			return []hostedCluster{{name.Namespace, name.Name, nil}}, nil
		case err != nil:
			return nil, fmt.Errorf("HostedCluster %s/%s: %w", name.Namespace, name.Name, err)
		}
		return []hostedCluster{{name.Namespace, name.Name, u}}, nil
	}
	list := hcp.NewHostedClusters()
	if err := api.List(ctx, list); err != nil {
		return nil, fmt.Errorf("HostedClusters: %w. Name one: NAMESPACE/NAME", err)
	}
	var all []hostedCluster
	for i := range list.Items {
		u := &list.Items[i]
		// readStatus returns its error, too, and the others are still shown.
		one, _ := hcp.ReadRunning(u)
		if one.OptedIn {
			all = append(all, hostedCluster{one.Namespace, one.Name, u})
		}
	}
	if len(all) == 0 {
		return nil, errNoneOptedIn
	}
	slices.SortFunc(all, func(a, b hostedCluster) int {
		return slices.Compare([]string{a.namespace, a.name}, []string{b.namespace, b.name})
	})
	return all, nil
}
