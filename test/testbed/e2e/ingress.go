// This file starts stand-ins for the router of a hosted cluster on its workers, which OpenShift's ingress operator would run.

package e2e

import (
	"context"
	"path/filepath"
	"strconv"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// A GuestRouter is the router of a hosted cluster: its node ports, its serving certificate, and the CA of that.
type GuestRouter struct {
	ports         map[string]int32 // by their names: http and https
	cert, key, ca []byte
	domain        string // of the hosted cluster
}

// ReadGuestRouter returns the router behind a Service of the hosted cluster.
func ReadGuestRouter(ctx context.Context, hs *hypershift.HyperShift, h Hosted, service string) (r GuestRouter, err error) {
	config, err := hs.GuestRESTConfig(ctx, h.Name)
	if err != nil {
		return r, err
	}
	guest, err := kubernetes.NewForConfig(config)
	if err != nil {
		return r, err
	}
	const namespace = "openshift-ingress"
	svc, err := guest.CoreV1().Services(namespace).Get(ctx, service, meta.GetOptions{})
	if err != nil {
		return r, err
	}
	r.ports = map[string]int32{}
	for _, p := range svc.Spec.Ports {
		r.ports[p.Name] = p.NodePort
	}
	secret, err := guest.CoreV1().Secrets(namespace).Get(ctx, "default-ingress-cert", meta.GetOptions{})
	if err != nil {
		return r, err
	}
	r.cert, r.key = secret.Data["tls.crt"], secret.Data["tls.key"]
	var ca core.ConfigMap
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace(), Name: "root-ca"}, &ca); err != nil {
		return r, err
	}
	r.ca = []byte(ca.Data["ca.crt"])
	plan, err := h.Plan(ctx)
	r.domain = plan.Cluster.Domain
	return r, err
}

// Start starts the router on a worker. It answers each request with the worker's name.
func (r GuestRouter) Start(w *worker.Worker) error {
	var dir string
	for name, content := range map[string][]byte{"whoami": []byte(w.VM.Name), "tls.crt": r.cert, "tls.key": r.key} {
		path, err := w.Machine.WriteFile(filepath.Join("router", name), content, 0o600)
		if err != nil {
			return err
		}
		dir = filepath.Dir(path)
	}
	port := func(name string) string { return strconv.Itoa(int(r.ports[name])) }
	err := w.Machine.Start("router", nil, "sh", "-c", `cd "$1" && exec openssl s_server -accept "$2" -cert tls.crt -key tls.key -WWW`, "sh", dir, port("https"))
	if err != nil {
		return err
	}
	return w.Machine.Start("router-http", nil, "busybox", "httpd", "-f", "-p", port("http"), "-h", dir)
}

// Console returns the URL of a page of the hosted cluster's console. The content is the name of the worker that answers.
func (r GuestRouter) Console(scheme string) string {
	return scheme + "://console-openshift-console.apps." + r.domain + "/whoami"
}

// Ask requests the console's page from machine m.
func (r GuestRouter) Ask(ctx context.Context, m *machine.Machine, scheme string) (machine.Answer, error) {
	return m.Ask(ctx, r.Console(scheme), nil, r.ca)
}

// AskFrom requests the console's page from a host that is not on the network.
func (r GuestRouter) AskFrom(ctx context.Context, o Outsider, scheme string) (string, error) {
	return o.Get(ctx, r.Console(scheme), r.ca)
}
