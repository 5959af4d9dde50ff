// What the stand-ins must keep of what HyperShift asked for: arguments of the API server, and pods and Routes as admitted.
package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestAPIServerKeepsWhatUpstreamKnows(t *testing.T) {
	var cfg apiServerConfig
	must(t, json.Unmarshal([]byte(`{
		"apiServerArguments": {
			"etcd-servers": ["https://etcd-client:2379"],
			"feature-gates": ["OnlyOpenShift=true"],
			"authorization-mode": ["Scope", "SystemMasters", "RBAC", "Node"],
			"enable-admission-plugins": ["NodeRestriction", "route.openshift.io/IngressAdmission"]
		},
		"serviceAccountPublicKeyFiles": ["/sa.pub"],
		"servicesSubnet": "172.31.0.0/16",
		"servingInfo": {"bindAddress": "0.0.0.0:6443", "certFile": "/c", "keyFile": "/k",
			"namedCertificates": [{"certFile": "/nc", "keyFile": "/nk"}, {"names": ["a", "b"], "certFile": "/mc", "keyFile": "/mk"}]}
	}`), &cfg))
	flags, dropped := apiServerFlags(cfg)
	want := []string{
		"--authorization-mode=Node", "--authorization-mode=RBAC", "--bind-address=0.0.0.0", "--enable-admission-plugins=NodeRestriction",
		"--etcd-servers=https://etcd-client:2379", "--secure-port=6443", "--service-account-key-file=/sa.pub",
		"--service-cluster-ip-range=172.31.0.0/16", "--tls-cert-file=/c", "--tls-private-key-file=/k", "--tls-sni-cert-key=/mc,/mk:a,b",
		"--tls-sni-cert-key=/nc,/nk",
	}
	if !slices.Equal(flags, want) {
		t.Errorf("flags\n got %s\nwant %s", strings.Join(flags, " "), strings.Join(want, " "))
	}
	if want := []string{"--feature-gates", "Scope", "SystemMasters", "route.openshift.io/IngressAdmission"}; !slices.Equal(dropped, want) {
		t.Errorf("dropped %v, want %v", dropped, want)
	}
}

func TestControllerManagerLosesOpenShiftsFlagsOnly(t *testing.T) {
	got := upstreamFlags([]string{"kube-controller-manager", "--openshift-config=/c", "--kubeconfig=/k", "--feature-gates=A=true"})
	if want := []string{"kube-controller-manager", "--kubeconfig=/k"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAdmittedPod(t *testing.T) {
	const in = `{"kind": "Pod", "metadata": {"labels": {"app": "etcd"}}, "spec": {"initContainers": [{"name": "i"}], "volumes": [{"name": "v"}],
		"containers": [{"name": "etcd", "readinessProbe": {"periodSeconds": 5, "failureThreshold": 4, "initialDelaySeconds": 10}}]}}`
	pod := func() object {
		var o object
		must(t, json.Unmarshal([]byte(in), &o))
		return o
	}

	kept := at(admitPod(pod(), []string{"etcd"}), "spec")
	c := kept["containers"].([]any)[0].(object)
	if c["name"] != "etcd" || len(kept["initContainers"].([]any)) != 1 {
		t.Errorf("a kept component was changed: %v", kept)
	}
	if sc := at(c, "securityContext"); sc["runAsNonRoot"] != true || sc["allowPrivilegeEscalation"] != false {
		t.Errorf("Pod Security restricted would refuse %v", sc)
	}
	if p := at(c, "readinessProbe"); p["periodSeconds"] != 1 || p["failureThreshold"] != 30.0 {
		t.Errorf("the probe gives up at another time than before: %v", p)
	}

	other := admitPod(pod(), []string{"kube-apiserver"})
	spec := at(other, "spec")
	if c := spec["containers"].([]any)[0].(object); c["name"] != "pause" || spec["initContainers"] != nil || spec["volumes"] != nil {
		t.Errorf("not a placeholder: %v", spec)
	}
	if at(at(other, "metadata"), "annotations")[placeholder] != "etcd" {
		t.Error("the placeholder does not say what it stands for")
	}
}

func TestRouteGetsItsHostAtOnce(t *testing.T) {
	got := admitRoute(object{"metadata": object{"name": "oauth"}, "spec": object{}}, "clusters-blue", "apps.example.com")
	if h := at(got, "spec")["host"]; h != "oauth-clusters-blue.apps.example.com" {
		t.Errorf("host %v", h)
	}
	got = admitRoute(object{"metadata": object{"name": "oauth"}, "spec": object{"host": "o.example.com"}}, "clusters-blue", "apps.example.com")
	if h := at(got, "spec")["host"]; h != "o.example.com" {
		t.Errorf("a named host was changed to %v", h)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
