package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
)

// A pagedReader has nodes, in pages of the size that is asked for, and counts lists of other kinds that run at once.
type pagedReader struct {
	client.Reader
	nodes int

	mu                 sync.Mutex
	pages, now, atOnce int
	together           chan struct{}
	once               sync.Once
}

func (r *pagedReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (r *pagedReader) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	u := list.(*unstructured.UnstructuredList)
	if u.GetKind() != "NodeList" {
		r.enter(u.GetKind())
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages++
	first, _ := strconv.Atoi(o.Continue)
	last := min(first+int(o.Limit), r.nodes)
	for i := first; i < last; i++ {
		u.Items = append(u.Items, unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": fmt.Sprintf("node-%d", i)},
			"status": map[string]any{"images": []any{"x"}, "nodeInfo": map[string]any{"operatingSystem": "linux"}},
		}})
	}
	if last < r.nodes {
		u.SetContinue(strconv.Itoa(last))
	}
	return nil
}

// enter holds each list of NodePools until as many run as are allowed to.
func (r *pagedReader) enter(kind string) {
	if kind != "NodePoolList" {
		return
	}
	r.mu.Lock()
	r.now++
	r.atOnce = max(r.atOnce, r.now)
	if r.now == readAtOnce {
		r.once.Do(func() { close(r.together) })
	}
	r.mu.Unlock()
	<-r.together
	r.mu.Lock()
	r.now--
	r.mu.Unlock()
}

// TestReadsOfLargeClusters: hosted clusters are read at the same time, lists are read in pages, and nodes without their images.
func TestReadsOfLargeClusters(t *testing.T) {
	g := NewWithT(t)
	api := &pagedReader{nodes: 2*source.PageSize + 1, together: make(chan struct{})}
	nodes, err := source.Wanted{Kind: source.KindOf("", "v1", "Node")}.Read(t.Context(), api)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(nodes).To(HaveLen(api.nodes))
	g.Expect(api.pages).To(Equal(3))
	g.Expect(nodes[0].Object["status"]).To(Equal(map[string]any{"nodeInfo": map[string]any{"operatingSystem": "linux"}}))

	var all []source.HostedCluster
	for i := range 3 * readAtOnce {
		name := fmt.Sprintf("c%d", i)
		all = append(all, source.HostedCluster{Namespace: "clusters", Name: name, Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster", "metadata": map[string]any{"namespace": "clusters", "name": name},
		}}})
	}
	w := readWorld(t.Context(), api, all)
	g.Expect(w.clusters()).To(HaveLen(len(all)))
	g.Expect(w.unread).To(HaveEach(BeEmpty()))
	g.Expect(api.atOnce).To(BeNumerically("<=", readAtOnce))

	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "https://192.0.2.1"}}]}`), 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	config, err := (&command.ClusterFlags{}).Config()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.QPS).To(BeNumerically("<", 0), "no limit of five requests a second")
}

// A sharedNamespace has one NodePool.
type sharedNamespace struct{ client.Reader }

func (sharedNamespace) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (sharedNamespace) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if u := list.(*unstructured.UnstructuredList); u.GetKind() == "NodePoolList" {
		u.Items = append(u.Items, unstructured.Unstructured{Object: map[string]any{"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
			"metadata": map[string]any{"namespace": "clusters", "name": "workers"}, "spec": map[string]any{"clusterName": "b", "replicas": int64(3)}}})
	}
	return nil
}

// TestNodePoolsOfOneNamespace: hosted clusters in one namespace do not multiply its NodePools.
func TestNodePoolsOfOneNamespace(t *testing.T) {
	g := NewWithT(t)
	var all []source.HostedCluster
	for _, name := range []string{"a", "b", "c"} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
			"metadata": map[string]any{"namespace": "clusters", "name": name}}}
		all = append(all, source.HostedCluster{Namespace: "clusters", Name: name, Object: u})
	}
	var pools []int
	for _, o := range readWorld(t.Context(), sharedNamespace{}, all).clusters() {
		pools = append(pools, len(o.NodePools))
	}
	g.Expect(pools).To(Equal([]int{0, 1, 0}))
}
