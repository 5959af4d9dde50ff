// This file plays a management cluster whose etcd is restored from a backup.

package apiserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	_ "github.com/cldmnky/oooi/test/patience"
)

// Save returns the state of etcd, as a directory that exists as long as the server. etcd is away meanwhile, and the API server is not.
func (s *Server) Save(t testing.TB) (state string) {
	t.Helper()
	etcd := s.Env.ControlPlane.Etcd
	must(t, etcd.Stop())
	state, err := os.MkdirTemp(filepath.Dir(etcd.DataDir), "saved")
	must(t, err)
	must(t, os.CopyFS(state, os.DirFS(etcd.DataDir)))
	must(t, etcd.Start())
	gomega.NewWithT(t).Eventually(func() error {
		return s.Admin.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	}).Should(gomega.Succeed())
	return state
}

// Restore ends the API server and etcd, and starts both with an older state at the same addresses. The revision of etcd is
// that of the older state, so resource versions are assigned again.
func (s *Server) Restore(t testing.TB, state string) {
	t.Helper()
	api, etcd := s.Env.ControlPlane.GetAPIServer(), s.Env.ControlPlane.Etcd
	must(t, api.Stop())
	must(t, etcd.Stop())
	etcd.DataDir = state
	must(t, etcd.Start())
	must(t, api.Start())
}
