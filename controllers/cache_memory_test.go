package controllers

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/golden"
)

// TestBytesInCache holds how much memory the cache needs for one object of each kind, indexes included.
// The bounds are some 20 % above today's figures. With 500 hosted clusters, there are 20,000 Services,
// 20,000 EndpointSlices and 30,000 VMs of others.
func TestBytesInCache(t *testing.T) {
	for _, c := range []struct {
		what string
		most int64
		make func(i int) map[string]any
	}{
		{"Service of others", 1700, serviceOfOthers},
		{"EndpointSlice of others", 850, sliceOfOthers},
		{"VM of others, on the pod network", 580, func(i int) map[string]any { return vmOfOthers(i, "pod", map[string]any{}) }},
		{"VM of others, on a NAD", 1000, func(i int) map[string]any { return vmOfOthers(i, "multus", map[string]any{"networkName": "vlan100"}) }},
		{"Deployment of an edge", 9500, ofCluster(t, "Deployment")},
		{"NetworkPolicy of edges", 7500, ofCluster(t, "NetworkPolicy")},
		{"plan", 19000, ofCluster(t, "ConfigMap")},
		{"edge NAD", 4000, ofCluster(t, "NetworkAttachmentDefinition")},
		{"HostedCluster", 5500, requested(t, "HostedCluster")},
		{"NodePool", 4000, requested(t, "NodePool")},
		{"Route", 2700, requested(t, "Route")},
	} {
		t.Run(c.what, func(t *testing.T) {
			kept := bytesInCache(t, c.make)
			t.Logf("| %s | %d |", c.what, kept)
			NewWithT(t).Expect(kept).To(BeNumerically("<=", c.most))
		})
	}
}

// bytesInCache is how much memory the cache needs for one of the objects that make returns.
func bytesInCache(t *testing.T, make func(i int) map[string]any) int64 {
	t.Helper()
	const count = 1000
	scheme := apiruntime.NewScheme()
	if err := watch.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decode := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode
	text := [count][]byte{}
	for i := range text {
		var err error
		if text[i], err = json.Marshal(make(i)); err != nil {
			t.Fatal(err)
		}
	}
	first, gvk, err := decode(text[0], nil, nil) // Packages that decode remember types.
	if err != nil {
		t.Fatal(err)
	}
	transform := transformOf(t, scheme, *gvk)
	before := liveHeap()
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexersOf(first.(client.Object)))
	for i := range text {
		o, _, err := decode(text[i], nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := transform(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Add(kept); err != nil {
			t.Fatal(err)
		}
	}
	kept := (liveHeap() - before) / count
	NewWithT(t).Expect(store.ListKeys()).To(HaveLen(count))
	runtime.KeepAlive(text)
	return kept
}

// transformOf is what the cache does to objects of a kind before it keeps them.
func transformOf(t *testing.T, scheme *apiruntime.Scheme, gvk schema.GroupVersionKind) toolscache.TransformFunc {
	t.Helper()
	options := watch.CacheOptions(nil)
	for o, by := range options.ByObject {
		if of, err := apiutil.GVKForObject(o, scheme); err == nil && of == gvk && by.Transform != nil {
			return by.Transform
		}
	}
	return options.DefaultTransform
}

// indexersOf are the indexes of o's kind, as controller-runtime makes them.
func indexersOf(o client.Object) toolscache.Indexers {
	out := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	for _, x := range watch.IndexesOf(o) {
		out[x.Name] = func(o any) ([]string, error) {
			var found []string
			object, ok := o.(client.Object)
			if !ok {
				return nil, nil
			}
			for _, v := range x.Values(object) {
				found = append(found, object.GetNamespace()+"/"+v, "__all_namespaces/"+v)
			}
			return found, nil
		}
	}
	return out
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// ofCluster returns the first object of a kind that the operator writes for a hosted cluster, each time
// in another namespace.
func ofCluster(t *testing.T, kind string) func(i int) map[string]any {
	t.Helper()
	w, _ := served(t, "two-vlans")
	for _, u := range decide.About(w, testOptions.Release, testNow).Desired {
		if u.GetKind() == kind {
			return func(i int) map[string]any { return stored(own.WithHash(u).Object, i) }
		}
	}
	t.Fatalf("no %s", kind)
	return nil
}

// requested returns an object of a kind that HyperShift or its user writes.
func requested(t *testing.T, kind string) func(i int) map[string]any {
	t.Helper()
	for _, story := range golden.Stories(t) {
		for _, u := range storyObjects(t, story) {
			if u.GetKind() == kind {
				return func(i int) map[string]any { return stored(u.Object, i) }
			}
		}
	}
	t.Fatalf("no %s", kind)
	return nil
}

// stored is o in another namespace, with what API servers add.
func stored(o map[string]any, i int) map[string]any {
	u := (&unstructured.Unstructured{Object: o}).DeepCopy()
	u.SetNamespace(fmt.Sprintf("clusters-c%04d", i))
	out := written("", "", u.GetNamespace(), u.GetName(), u.Object)
	out["apiVersion"], out["kind"] = u.GetAPIVersion(), u.GetKind()
	return out
}

// written is an object with the metadata that API servers and clients add.
func written(apiVersion, kind, ns, name string, further map[string]any) map[string]any {
	var fields []any
	for _, manager := range []string{"kubectl-client-side-apply", "oooi", "virt-controller"} {
		fields = append(fields, map[string]any{"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{".": map[string]any{}, "f:app.kubernetes.io/name": map[string]any{}}}}})
	}
	out := map[string]any{"apiVersion": apiVersion, "kind": kind}
	maps.Copy(out, further)
	meta := map[string]any{"name": name, "namespace": ns, "uid": "0f7a9a4e-5a3f-4d51-9f0e-000000000001", "resourceVersion": "123456789", "generation": 1,
		"creationTimestamp": "2026-01-02T03:04:05Z", "managedFields": fields,
		"labels":      map[string]any{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": ns, "app.kubernetes.io/managed-by": "Helm"},
		"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 400), "example.com/note": strings.Repeat("y", 60)}}
	if further, ok := further["metadata"].(map[string]any); ok {
		maps.Copy(meta, further)
	}
	out["metadata"] = meta
	return out
}

func namespaceOfOthers(i int) string { return fmt.Sprintf("other-%04d", i/4) }

func serviceOfOthers(i int) map[string]any {
	name, ip := fmt.Sprintf("service-%d", i%4), fmt.Sprintf("10.96.%d.%d", i>>8&0xff, i&0xff)
	return written("v1", "Service", namespaceOfOthers(i), name, map[string]any{
		"spec": map[string]any{"clusterIP": ip, "clusterIPs": []any{ip}, "ipFamilies": []any{"IPv4"}, "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
			"sessionAffinity": "None", "type": "ClusterIP", "selector": map[string]any{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": namespaceOfOthers(i)},
			"ports": []any{map[string]any{"name": "https", "port": 8443, "protocol": "TCP", "targetPort": "https"}, map[string]any{"name": "metrics", "port": 9090, "protocol": "TCP", "targetPort": 9090}}},
		"status": map[string]any{"loadBalancer": map[string]any{}},
	})
}

func sliceOfOthers(i int) map[string]any {
	name := fmt.Sprintf("service-%d", i%4)
	var endpoints []any
	for j := range 2 {
		endpoints = append(endpoints, map[string]any{"addresses": []any{fmt.Sprintf("10.%d.%d.%d", 128+j, i>>8&0xff, i&0xff)}, "nodeName": fmt.Sprintf("node%d.example.com", j),
			"conditions": map[string]any{"ready": true, "serving": true, "terminating": false},
			"targetRef":  map[string]any{"kind": "Pod", "namespace": namespaceOfOthers(i), "name": fmt.Sprintf("%s-%d", name, j), "uid": "d3b07384-d9a0-4c9b-8f33-2f1f1b0f7a11"}})
	}
	return written("discovery.k8s.io/v1", "EndpointSlice", namespaceOfOthers(i), name+"-abcde", map[string]any{
		"metadata": map[string]any{"labels": map[string]any{discoveryv1.LabelServiceName: name}, "generateName": name + "-",
			"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "Service", "name": name, "uid": "d3b07384-d9a0-4c9b-8f33-2f1f1b0f7a11"}}},
		"addressType": "IPv4", "endpoints": endpoints, "ports": []any{map[string]any{"name": "https", "port": 8443, "protocol": "TCP"}},
	})
}

// vmOfOthers is a VM on one network, of a type with a value.
func vmOfOthers(i int, networkType string, value map[string]any) map[string]any {
	var conditions []any
	for j := range 12 {
		conditions = append(conditions, map[string]any{"type": fmt.Sprintf("Condition%d", j), "status": "True", "message": strings.Repeat("x", 200)})
	}
	ip := fmt.Sprintf("10.129.%d.%d", i>>8&0xff, i&0xff)
	return written("kubevirt.io/v1", "VirtualMachineInstance", namespaceOfOthers(i), fmt.Sprintf("vm-%d", i%4), map[string]any{
		"spec": map[string]any{"domain": map[string]any{"devices": map[string]any{"interfaces": []any{map[string]any{"name": "default", "bridge": map[string]any{}}}}},
			"networks": []any{map[string]any{"name": "default", networkType: value}}},
		"status": map[string]any{"phase": "Running", "conditions": conditions, "interfaces": []any{map[string]any{
			"name": "default", "mac": fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8&0xff, i&0xff), "ipAddress": ip, "ipAddresses": []any{ip}, "infoSource": "domain, guest-agent"}}},
	})
}

func storyObjects(t *testing.T, story golden.Story) []*unstructured.Unstructured {
	t.Helper()
	return apiserver.Objects(t, story.Read(t, "objects.yaml"))
}
