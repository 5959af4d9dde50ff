// netpold enforces NetworkPolicies on a node, for the pods in its network namespace. It is kube-router's policy controller
// without kube-router's routes, service proxy, BGP and metrics. It writes rules for iptables and ipset.
package main

import (
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config := options.NewKubeRouterConfig()
	config.EnableIPv4 = true
	config.IPTablesSyncPeriod = 10 * time.Second // It does not repeat a failed change earlier.
	kubeconfig := flag.String("kubeconfig", "", "of a user that reads pods, namespaces, nodes and NetworkPolicies")
	services := flag.String("services", "", "CIDR of Services")
	flag.StringVar(&config.HostnameOverride, "node", "", "name of this node, whose Node object has an address")
	flag.Parse()
	config.ClusterIPCIDRs = []string{*services}
	if err := os.Setenv("NODE_NAME", config.HostnameOverride); err != nil { // Otherwise a Node with the host's name comes first.
		log.Fatal(err)
	}
	stop := make(chan struct{})
	running, err := enforce(*kubeconfig, config, stop)
	if err != nil {
		log.Fatal(err)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	<-end
	close(stop)
	running.Wait()
}

// enforce starts the controller. It returns a group that is done after stop was closed and the controller has ended.
func enforce(kubeconfig string, config *options.KubeRouterConfig, stop chan struct{}) (*sync.WaitGroup, error) {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, namespaces := factory.Core().V1().Pods().Informer(), factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return nil, err
	}
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, new(sync.Mutex), tables, sets)
	if err != nil {
		return nil, err
	}
	follow := func(objects cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
		_, err := objects.AddEventHandler(handler)
		return err
	}
	err = errors.Join(follow(pods, controller.PodEventHandler), follow(namespaces, controller.NamespaceEventHandler),
		follow(policies, controller.NetworkPolicyEventHandler))
	if err != nil {
		return nil, err
	}
	beats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range beats { // The controller blocks until its heartbeats are read.
		}
	}()
	running := new(sync.WaitGroup)
	running.Add(1)
	go controller.Run(beats, stop, running)
	return running, nil
}
