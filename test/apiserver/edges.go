// This file gives tests an API server as edges see it: with their rights, and without the operator.

package apiserver

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/programs"
)

// ForEdges runs a server until the test ends. It has a control plane namespace with the rights that the operator gives edges,
// and these objects. Of all custom resources it knows VirtualMachineInstances. admin may do everything, and edges is the
// ServiceAccount of edges; neither has a limit of requests.
func ForEdges(t testing.TB, namespace string, objects ...client.Object) (admin client.Client, edges *rest.Config) {
	t.Helper()
	s, edges := ServerForEdges(t, namespace, objects...)
	return s.Admin, edges
}

// ServerForEdges is ForEdges, and returns the server.
func ServerForEdges(t testing.TB, namespace string, objects ...client.Object) (s *Server, edges *rest.Config) {
	t.Helper()
	definition := programs.WriteFile(t, t.TempDir(), "vmi.yaml", programs.VMIDefinition)
	env, _ := Run(t, func(env *envtest.Environment) { env.CRDDirectoryPaths = []string{definition} })
	s = serverOf(t, env)
	var role rbacv1.Role
	golden.Find(t, "lb-ip").Applied(t, "Role "+wire.ServiceAccount, namespace, &role)
	all := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, &role,
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: wire.ServiceAccount}},
		},
	}
	for _, o := range append(all, objects...) {
		must(t, s.Admin.Create(t.Context(), o))
	}
	edges = Impersonating(env.Config, namespace, wire.ServiceAccount)
	edges.Wrap(func(next http.RoundTripper) http.RoundTripper { return patient{next} })
	return s, edges
}
