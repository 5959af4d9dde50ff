// This file reads the objects from which `oooi check` derives plans: those of each hosted cluster, and those that all
// hosted clusters share.

package check

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
)

// readAtOnce is the number of hosted clusters that are read at the same time.
const readAtOnce = 8

// A worldRead has all objects from which the operator would derive plans. unread says, for each hosted cluster, what could
// not be read.
type worldRead struct {
	dump   *files.Dump
	unread map[client.ObjectKey][]string
}

type readPart struct {
	objects []unstructured.Unstructured
	unread  []string
}

// read reads the objects that parameter what selects, adds them to p and returns them. A missing object is not an error.
func (p *readPart) read(ctx context.Context, api client.Reader, what source.Wanted) []unstructured.Unstructured {
	found, err := what.Read(ctx, api)
	if err != nil {
		p.unread = append(p.unread, what.String()+": "+err.Error())
		return nil
	}
	p.objects = append(p.objects, found...)
	return found
}

// readWorld reads the objects of all hosted clusters, because a network of one may conflict with a network of any other.
// It also reads the objects that they share.
func readWorld(ctx context.Context, api client.Reader, all []source.HostedCluster) worldRead {
	parts := make([]readPart, len(all)+1)
	var g errgroup.Group
	g.SetLimit(readAtOnce)
	var pooled sync.Map
	for i, hc := range all {
		g.Go(func() error { parts[i] = readOne(ctx, api, hc, &pooled); return nil })
	}
	g.Go(func() error {
		for _, what := range source.WantedOfAll() {
			if what.Matters() {
				parts[len(all)].read(ctx, api, what)
			}
		}
		return nil
	})
	_ = g.Wait() // The functions never return an error.
	w := worldRead{&files.Dump{}, map[client.ObjectKey][]string{}}
	for i, p := range parts {
		for _, o := range p.objects {
			if err := w.dump.AddUnstructured(o); err != nil {
				p.unread = append(p.unread, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()+": "+err.Error())
			}
		}
		for j, hc := range all {
			if i == j || i == len(all) {
				w.unread[hc.Key()] = append(w.unread[hc.Key()], p.unread...)
			}
		}
	}
	return w
}

// readOne reads the objects of hc. pooled has the namespaces whose NodePools another part has: hosted clusters in one
// namespace share them.
func readOne(ctx context.Context, api client.Reader, hc source.HostedCluster, pooled *sync.Map) (p readPart) {
	if hc.Object == nil {
		return p // status.Read reports that the HostedCluster cannot be read.
	}
	p.objects = append(p.objects, *hc.Object)
	running, err := hcp.ReadLiveCluster(hc.Object)
	if err != nil {
		return p
	}
	_ = source.EachOf(hc.Object, running, func(what source.Wanted) ([]unstructured.Unstructured, error) {
		if !what.Matters() {
			return nil, nil
		}
		before := len(p.objects)
		found := p.read(ctx, api, what)
		if what.Kind == hcp.NodePoolKind() && len(found) > 0 {
			if _, again := pooled.LoadOrStore(hc.Namespace, true); again {
				p.objects = slices.Delete(p.objects, before, len(p.objects))
			}
		}
		return found, nil
	})
	return p
}

// clusters returns the hosted clusters in w.dump. A cluster of which something could not be read is Partial.
func (w worldRead) clusters() []hcp.Objects {
	all := w.dump.Clusters()
	for i := range all {
		all[i].Partial = len(w.unread[client.ObjectKeyFromObject(all[i].HostedCluster)]) > 0
	}
	return all
}
