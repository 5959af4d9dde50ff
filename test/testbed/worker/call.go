// This file checks that a control plane reaches a node, with requests to the hosted API server that it can answer only through
// konnectivity.

package worker

import (
	"bytes"
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/test/testbed/await"
)

// AllowCalls gives the hosted API server the right to call kubelets. OpenShift's API server creates that right when it starts, but
// upstream's, which runs here, does not.
func AllowCalls(ctx context.Context, guest kubernetes.Interface) error {
	binding := &rbac.ClusterRoleBinding{
		ObjectMeta: meta.ObjectMeta{Name: "kube-apiserver-calls-kubelets"},
		RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "system:kubelet-api-admin"},
		Subjects:   []rbac.Subject{{APIGroup: rbac.GroupName, Kind: rbac.UserKind, Name: "system:kube-apiserver"}},
	}
	_, err := guest.RbacV1().ClusterRoleBindings().Create(ctx, binding, meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// A Call sends requests to a hosted API server, which forwards them to one of its nodes.
type Call struct {
	Guest kubernetes.Interface
	Node  string
}

// Healthz requests the health of the node's kubelet, through the API server's proxy, until the answer is ok.
func (c Call) Healthz(ctx context.Context) error {
	var last error
	err := await.Poll(ctx, await.Patience, func() (bool, error) {
		short, cancel := context.WithTimeout(ctx, 15*time.Second) // A request that hangs is sent again.
		defer cancel()
		body, err := c.Guest.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes", c.Node, "proxy/healthz").DoRaw(short)
		if err != nil {
			last = fmt.Errorf("%w: %s", err, body)
			return false, nil
		}
		return string(body) == "ok", nil
	})
	if err != nil {
		return fmt.Errorf("nodes/%s/proxy/healthz is not ok in %s: %w", c.Node, await.Patience, last)
	}
	return nil
}

// Logs reads the log of the node's konnectivity agent. It returns the name of the pod, and the number of lines.
func (c Call) Logs(ctx context.Context) (pod string, lines int, err error) {
	var last error
	err = await.Poll(ctx, await.Patience, func() (bool, error) {
		pods, err := c.Guest.CoreV1().Pods("kube-system").List(ctx, meta.ListOptions{
			LabelSelector: "app=konnectivity-agent", FieldSelector: "spec.nodeName=" + c.Node})
		if err != nil || len(pods.Items) == 0 {
			last = err
			return false, nil
		}
		pod = pods.Items[0].Name
		text, err := c.Guest.CoreV1().Pods("kube-system").GetLogs(pod, &core.PodLogOptions{}).DoRaw(ctx)
		lines, last = bytes.Count(text, []byte("\n")), err
		return lines > 0, nil
	})
	if err != nil {
		return pod, lines, fmt.Errorf("no logs of a konnectivity agent on %s in %s: %w", c.Node, await.Patience, last)
	}
	return pod, lines, nil
}
