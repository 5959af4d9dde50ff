// This file makes the pod of an edge for programs that ask a cluster whether it would run the pod.

package desired

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// EdgePod returns the pod of e, as its Deployment would create it. If n has no servers, the pod has all that exist.
func EdgePod(n network.Network, e network.Edge, r Release, ns string) *corev1.Pod {
	if len(n.Services) == 0 {
		n.Services = network.AllServices()
	}
	pod := &corev1.Pod{}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(edgeTemplate(n, e, r, ns, nil))
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(m, pod)
	}
	if err != nil {
		panic(fmt.Sprintf("desired: what we build can always be converted: %v", err))
	}
	pod.Namespace, pod.GenerateName = ns, wire.EdgeDeploymentName(n, e)+"-"
	return pod
}

// AnyNetwork returns a network with all servers and two edges, without name and addresses.
func AnyNetwork() network.Network {
	return network.Network{Services: network.AllServices(), Edges: []network.Edge{{Number: 1}, {Number: 2}}}
}
