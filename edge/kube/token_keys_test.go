package kube_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/apiserver"
)

// TestTokenKeysOfAnAPIServer: the account of edges may read the keys, and they verify what that API server signs.
func TestTokenKeysOfAnAPIServer(t *testing.T) {
	g := NewWithT(t)
	s := apiserver.Start(t, nil)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	api, err := kube.New(apiserver.Impersonating(s.Env.Config, namespace, wire.ServiceAccount), namespace, "lo", log)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "backup"}})).To(Succeed())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "backup", Name: "tool"}}
	g.Expect(s.Admin.Create(t.Context(), account)).To(Succeed())
	file := filepath.Join(t.TempDir(), wire.KeysFile)
	go sharedfiles.KeepTokenKeys(t.Context(), file, func() bool { return true }, func() <-chan struct{} { return nil }, api.TokenKeys, log)
	keys := sharedfiles.NewTokenKeys(file, log)
	go keys.Run(t.Context())
	g.Eventually(func() int { return keys.Current().Count() }, "1m").Should(BeNumerically(">", 0))

	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"oooi-access.clusters-blue"}}}
	g.Expect(s.Admin.SubResource("token").Create(t.Context(), account, request)).To(Succeed())
	who, err := access.Verify(request.Status.Token, keys.Current(), "oooi-access.clusters-blue", time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(who).To(Equal("backup/tool"))
	_, err = access.Verify(request.Status.Token, keys.Current(), "oooi-access.clusters-red", time.Now())
	g.Expect(err).To(HaveOccurred())
}
