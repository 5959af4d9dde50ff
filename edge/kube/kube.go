// Package kube connects to the API server from inside an edge. Each watched kind has its own
// file. No answer to a VM waits for a watch, and state that was not seen yet is distinct from
// empty state.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/edge/wire"
)

// A Kube is the connection of an edge to the API server. It uses the objects of the edge's
// namespace, and the management device (see Default).
type Kube struct {
	clients   clients
	leases    leaseObjects
	dynamic   dynamic.Interface
	vms       schema.GroupVersionResource
	namespace string
	device    string
	log       *slog.Logger
}

// InCluster connects with the pod's service account. podinfo is the directory with the downward
// API's annotations file; see Default.
func InCluster(podinfo string, log *slog.Logger) (*Kube, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("--watch is for a pod in a cluster: %w", err)
	}
	namespace, err := os.ReadFile(filepath.Join(wire.TokenDir, "namespace"))
	if err != nil {
		return nil, err
	}
	device, err := Default("/", podinfo)
	if err != nil {
		return nil, err
	}
	return New(config, strings.TrimSpace(string(namespace)), device, log)
}

// New connects to the API server of config through device, for the objects of namespace. If device
// is empty, any device is used.
func New(config *rest.Config, namespace, device string, log *slog.Logger) (*Kube, error) {
	c := rest.CopyConfig(config)
	c.Dial = socket.Dialer(device).DialContext
	// VMs wait while their leases are written, so a burst of power-ons must not wait for a rate
	// limit here. The API server itself limits clients fairly.
	c.QPS = -1
	c.UserAgent = wire.NameEdge
	c.Timeout = 0
	c.Wrap(wire.ListAfterFailure)
	dyn, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	all, err := newClients(c)
	if err != nil {
		return nil, err
	}
	vms := schema.ParseGroupResource(VMResource).WithVersion("v1")
	return &Kube{clients: all, leases: leaseClient{all.coordination, namespace}, dynamic: dyn, vms: vms, namespace: namespace, device: device, log: log}, nil
}

// VMResource is KubeVirt's name of VirtualMachineInstances: "plural.group".
const VMResource = "virtualmachineinstances." + wire.KubeVirtGroup

// NameVMs sets the resource of VMs, "plural.group", for an API server that serves them under
// another name than VMResource. The version and the fields must be KubeVirt's.
func (k *Kube) NameVMs(resource string) error {
	vms := schema.ParseGroupResource(resource)
	if vms.Resource == "" || vms.Group == "" {
		return fmt.Errorf("resource of VMs %q: want PLURAL.GROUP", resource)
	}
	k.vms = vms.WithVersion(k.vms.Version)
	return nil
}

// Namespace returns the control plane namespace that the edge runs in.
func (k *Kube) Namespace() string { return k.namespace }

// Device returns the management device. Empty: any device.
func (k *Kube) Device() string { return k.device }

// Default returns the device of the pod's default network: the one that network-status in
// <podinfo>/annotations marks as default. The annotation comes some time after the pod starts.
// Until then, it is the device of the default route in <root>/proc/net/route.
func Default(root, podinfo string) (string, error) {
	if podinfo != "" {
		b, err := os.ReadFile(filepath.Join(podinfo, wire.PodinfoAnnotations))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if device := markedDefault(string(b)); device != "" {
			return device, nil
		}
	}
	b, err := os.ReadFile(filepath.Join(root, "proc/net/route"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		// Iface Destination Gateway Flags RefCnt Use Metric Mask ...
		if f := strings.Fields(line); len(f) > 7 && f[1] == "00000000" && f[7] == "00000000" {
			return f[0], nil
		}
	}
	return "", errors.New("no default route: the device of the management network is unknown")
}

func markedDefault(annotations string) string {
	for line := range strings.Lines(annotations) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key != wire.AnnotationNetworkStatus {
			continue
		}
		text, err := strconv.Unquote(value)
		if err != nil {
			return ""
		}
		var status []struct {
			Interface string `json:"interface"`
			Default   bool   `json:"default"`
		}
		if json.Unmarshal([]byte(text), &status) != nil {
			return ""
		}
		for _, s := range status {
			if s.Default {
				return s.Interface
			}
		}
	}
	return ""
}

// lister lists and watches one resource of the namespace: the objects that function only selects.
// If only is nil, it lists all objects.
func (k *Kube) lister(c cache.Getter, resource string, only func(*metav1.ListOptions)) cache.ListerWatcher {
	if only == nil {
		only = func(*metav1.ListOptions) {}
	}
	return cache.NewFilteredListWatchFromClient(c, resource, k.namespace, only)
}

// follow watches objects until ctx ends, and retries while the API server is unavailable. It calls
// h for every object and every change. Function keep reduces each object before h and the store get
// it. Function seen reports whether the first list is complete. answered gets the result of each
// request, but only if keep is not nil. keep and answered may be nil.
func follow(ctx context.Context, l cache.ListerWatcher, kind runtime.Object, keep cache.TransformFunc, h cache.ResourceEventHandler, answered func(error)) (store cache.Store, seen func() bool) {
	if keep != nil {
		l = newPagedLister(l, keep, answered)
	}
	store, c := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: l, ObjectType: kind, Handler: h, Transform: keep})
	go c.RunWithContext(ctx)
	return store, c.HasSynced
}

// relisting is how long after an interruption of a watch the changes since then may not be known yet.
const relisting = 10 * time.Second

// An interruption says whether requests to list or to watch objects fail.
type interruption struct {
	// failed: the last request failed. ended is when a request succeeded after one that failed.
	failed bool
	ended  time.Time
}

// answered records the result of a request.
func (i *interruption) answered(err error, now time.Time) {
	if i.failed && err == nil {
		i.ended = now
	}
	i.failed = err != nil
}

// lasts reports whether changes may not be known.
func (i interruption) lasts(now time.Time) bool { return i.failed || now.Sub(i.ended) < relisting }

// on returns a handler that calls f for every added or changed object, and function gone for every
// deleted one.
func on[T any](f, gone func(T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { call(f, o) },
		UpdateFunc: func(_, o any) { call(f, o) },
		DeleteFunc: func(o any) {
			if d, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = d.Obj
			}
			call(gone, o)
		},
	}
}

func call[T any](f func(T), o any) {
	if t, ok := o.(T); ok && f != nil {
		f(t)
	}
}
