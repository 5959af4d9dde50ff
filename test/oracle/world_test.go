// This file has worlds: the objects of one hosted cluster, and what HyperShift 0.1.80 writes to its status.

package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/golden"
)

// An object is one manifest as JSON has it.
type object = map[string]any

// A world is the objects of hosted cluster clusters/blue. Its nodes have one network, clusters/vlan100.
type world struct{ objects []object }

// bases are the ways in which HyperShift publishes, by story.
func bases() []string { return []string{"lb-ip", "lb-name", "route", "nodeport"} }

// release is the image of the release in all worlds: the control plane, which comes from it, reads all fields. Its registry has a name, and needs no others.
const release = "registry.example.com/ocp/release:4.23.1"

// released gives the hosted cluster another release from the same registry. hosted-cluster-config-operator comes from it (GetControlPlaneOperatorImage in
// support/util/util.go), so sources of branch release-4.x count.
func released(version string) func(*world) {
	image, _, _ := strings.Cut(release, ":")
	return func(w *world) {
		set(w.hosted(), image+":"+version, "spec", "release", "image")
		set(w.pool(), image+":"+version, "spec", "release", "image")
	}
}

// worldOf returns the world of a story, without VMs and with a release at a registry that has a name.
func worldOf(t testing.TB, story string) *world {
	t.Helper()
	w := &world{}
	for text := range bytes.SplitSeq(golden.Find(t, story).Read(t, "objects.yaml"), []byte("\n---\n")) {
		var o object
		if err := yaml.Unmarshal(text, &o); err != nil {
			t.Fatalf("story %s: %v", story, err)
		}
		if o != nil && o["kind"] != "VirtualMachineInstance" {
			w.objects = append(w.objects, o)
		}
	}
	set(w.hosted(), release, "spec", "release", "image")
	set(w.pool(), release, "spec", "release", "image")
	return w
}

// get returns the value at path of o, or nil.
func get(o any, path ...string) any {
	for _, key := range path {
		m, _ := o.(object)
		o = m[key]
	}
	return o
}

// text returns the string at path of o. Empty: there is none.
func text(o any, path ...string) string {
	s, _ := get(o, path...).(string)
	return s
}

// list returns the list at path of o.
func list(o any, path ...string) []any {
	l, _ := get(o, path...).([]any)
	return l
}

// number returns the number at path of o. 0: there is none.
func number(o any, path ...string) int {
	switch n := get(o, path...).(type) {
	case float64:
		return int(n)
	case int64:
		return int(n)
	case int:
		return n
	}
	return 0
}

// set sets the value at path of o.
func set(o object, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := o[key].(object)
		if !ok {
			next = object{}
			o[key] = next
		}
		o = next
	}
	o[path[len(path)-1]] = value
}

// annotate sets an annotation of o.
func annotate(o object, key, value string) { set(o, value, "metadata", "annotations", key) }

// oooi is the prefix of annotations of the product.
const oooi = "hostedcluster.densityops.com/"

// find returns the object of a kind with this name, or nil.
func (w *world) find(kind, name string) object {
	for _, o := range w.objects {
		if o["kind"] == kind && text(o, "metadata", "name") == name {
			return o
		}
	}
	return nil
}

func (w *world) hosted() object             { return w.find("HostedCluster", "blue") }
func (w *world) pool() object               { return w.find("NodePool", "blue") }
func (w *world) service(name string) object { return w.find("Service", name) }
func (w *world) nad() object                { return w.find("NetworkAttachmentDefinition", "vlan100") }

// remove removes an object.
func (w *world) remove(kind, name string) {
	w.objects = slices.DeleteFunc(w.objects, func(o object) bool { return o["kind"] == kind && text(o, "metadata", "name") == name })
}

// add adds an object that is written as YAML.
func (w *world) add(manifest string) {
	var o object
	if err := yaml.Unmarshal([]byte(manifest), &o); err != nil {
		panic(fmt.Sprintf("oracle: %v in %s", err, manifest))
	}
	w.objects = append(w.objects, o)
}

// addVM adds a VM with a MAC on a network.
func (w *world) addVM(name, nad, mac string) {
	w.add(fmt.Sprintf(`{apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance, metadata: {name: %s, namespace: clusters-blue, labels: {hypershift.openshift.io/nodepool-name: blue}},
spec: {networks: [{name: i, multus: {networkName: %s}}]}, status: {phase: Running, interfaces: [{name: i, mac: '%s'}]}}`, name, nad, mac))
}

// addNAD adds a network on VLAN 300 that VMs of the NodePool have, too.
func (w *world) addNAD(name, cidr string) {
	if w.find("NetworkAttachmentDefinition", name) != nil {
		return
	}
	w.add(fmt.Sprintf(`{apiVersion: k8s.cni.cncf.io/v1, kind: NetworkAttachmentDefinition, metadata: {name: %s, namespace: clusters, annotations: {%sallowed-namespaces: clusters-blue, %scidr: %s}},
spec: {config: '{"cniVersion":"0.3.1","name":"%s","type":"bridge","bridge":"br1","vlan":300,"ipam":{}}'}}`, name, oooi, oooi, cidr, name))
	networks := append(list(w.pool(), "spec", "platform", "kubevirt", "additionalNetworks"), object{"name": "clusters/" + name})
	set(w.pool(), networks, "spec", "platform", "kubevirt", "additionalNetworks")
}

// strategy returns how HyperShift is to publish a service. Nil: it is not.
func (w *world) strategy(service string) object {
	for _, s := range list(w.hosted(), "spec", "services") {
		if text(s, "service") == service {
			return get(s, "servicePublishingStrategy").(object)
		}
	}
	return nil
}

// published has HyperShift's services: the Service of the pods, its port, and the Route.
var published = map[string]struct {
	service string
	port    int
	route   string
}{
	"APIServer":    {"kube-apiserver", 6443, ""},
	"Konnectivity": {"konnectivity-server", 8091, "konnectivity-server"},
	"Ignition":     {"ignition-server-proxy", 443, "ignition-server"},
	"OAuthServer":  {"oauth-openshift", 6443, "oauth"},
}

// place returns where HyperShift publishes a service: ReconcileServiceStatus in kas/service.go and oauth/service.go,
// ReconcileKonnectivityServerServiceStatus, and the Ignition endpoint of hostedcluster_controller.go. An empty host: nowhere yet.
func (w *world) place(of string) (host string, port int) {
	s, p := w.strategy(of), published[of]
	service := w.service(p.service)
	switch text(s, "type") {
	case "LoadBalancer":
		ingress := list(service, "status", "loadBalancer", "ingress")
		if len(ingress) == 0 {
			return "", 0
		}
		for _, host := range []string{text(s, "loadBalancer", "hostname"), text(ingress[0], "hostname"), text(ingress[0], "ip")} {
			if host != "" {
				return host, p.port
			}
		}
	case "NodePort":
		if ports := list(service, "spec", "ports"); len(ports) > 0 && number(ports[0], "nodePort") != 0 {
			return text(s, "nodePort", "address"), number(ports[0], "nodePort")
		}
	case "Route":
		if host := text(s, "route", "hostname"); host != "" {
			return host, 443
		}
		return text(w.find("Route", p.route), "spec", "host"), 443
	}
	return "", 0
}

// publish writes the status that HyperShift writes. An empty place leaves the field as it is, as HyperShift does.
func (w *world) publish() {
	if host, port := w.place("APIServer"); host != "" {
		set(w.hosted(), host, "status", "controlPlaneEndpoint", "host")
		set(w.hosted(), port, "status", "controlPlaneEndpoint", "port")
	}
	host, port := w.place("Ignition")
	if host != "" && port != 443 {
		host = fmt.Sprintf("%s:%d", host, port)
	}
	if host != "" {
		set(w.hosted(), host, "status", "ignitionEndpoint")
	}
}

// manifests returns the objects as a stream of documents.
func (w *world) manifests() string {
	var out strings.Builder
	for _, o := range w.objects {
		b, err := json.Marshal(o)
		if err != nil {
			panic("oracle: an object is always JSON: " + err.Error())
		}
		out.WriteString("---\n" + string(b) + "\n")
	}
	return out.String()
}
