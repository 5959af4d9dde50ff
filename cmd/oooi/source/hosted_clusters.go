// This file finds the hosted clusters that a command is about.

package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// A HostedCluster identifies a hosted cluster. Object is the HostedCluster object, or nil if the user may not read it.
type HostedCluster struct {
	Namespace, Name string
	Object          *unstructured.Unstructured
}

// Key returns the namespace and name.
func (hc HostedCluster) Key() client.ObjectKey {
	return client.ObjectKey{Namespace: hc.Namespace, Name: hc.Name}
}

// ErrNoneOptedIn is returned by Selected for an empty name if no hosted cluster opted in.
var ErrNoneOptedIn = errors.New("no HostedCluster has the annotation " + settings.Prefix + network.KeyNetwork)

// Find returns the key of the HostedCluster with this name in namespace home, else of the only one with this name. If there
// is none, or if the user may not list HostedClusters, it returns home and name. For files, home is empty, and Find returns
// an error if there is none.
func Find(ctx context.Context, api client.Reader, home, name string) (client.ObjectKey, error) {
	assumed := client.ObjectKey{Namespace: home, Name: name}
	list := hcp.NewHostedClusters()
	if err := api.List(ctx, list); err != nil && !apierrors.IsForbidden(err) {
		return assumed, fmt.Errorf("HostedClusters: %w", err)
	}
	var found []string
	for i := range list.Items {
		if list.Items[i].GetName() == name {
			found = append(found, list.Items[i].GetNamespace())
		}
	}
	switch {
	case slices.Contains(found, home):
		return assumed, nil
	case len(found) == 1:
		return client.ObjectKey{Namespace: found[0], Name: name}, nil
	case len(found) > 1:
		slices.Sort(found)
		return assumed, fmt.Errorf("HostedCluster %s exists in namespaces %s. Name one with --namespace", name, strings.Join(found, ", "))
	case home == "":
		return assumed, fmt.Errorf("HostedCluster %s not found", name)
	}
	return assumed, nil
}

// Selected returns the hosted cluster with this name. If name.Name is empty, it returns the hosted clusters that opted in:
// those in name.Namespace or, if that is empty too, in all namespaces.
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
	if err := api.List(ctx, list, client.InNamespace(name.Namespace)); err != nil {
		return nil, fmt.Errorf("HostedClusters: %w. Name one as NAMESPACE/NAME, or a namespace with --namespace", err)
	}
	var all []HostedCluster
	for i := range list.Items {
		u := &list.Items[i]
		// A caller that decodes the object again gets the same error.
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
