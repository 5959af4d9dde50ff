package inforce_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/test/apiserver"
	_ "github.com/cldmnky/oooi/test/patience"
)

// TestPlanOfAnAPIServer: the ConfigMap is followed with no more rights than an edge has, and is newer than the files.
func TestPlanOfAnAPIServer(t *testing.T) {
	g := NewWithT(t)
	const namespace = "clusters-blue"
	admin, config := apiserver.ForEdges(t, namespace)
	api, err := kube.New(config, namespace, "lo", slog.New(slog.NewTextHandler(t.Output(), nil)))
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "plan.json")
	g.Expect(os.WriteFile(file, plan("blue", 1, "vlan100").JSON(), 0o600)).To(Succeed())
	s, err := inforce.New(file, inforce.Selection{}, api, slog.New(slog.NewTextHandler(t.Output(), nil)))
	g.Expect(err).NotTo(HaveOccurred())
	copied := filepath.Join(t.TempDir(), "plan.json")
	s.Publish(copied)
	go func() { _ = s.Run(t.Context()) }()
	without, err := inforce.New(file, inforce.Selection{}, nil, slog.New(slog.NewTextHandler(t.Output(), nil)))
	g.Expect(err).NotTo(HaveOccurred())
	without.Follow(copied, func() bool { return false })
	go func() { _ = without.Run(t.Context()) }()
	newer := plan("blue", 1, "vlan100")
	newer.Networks[0].DHCP.MTU = 1400
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "oooi-plan"}, Data: map[string]string{"plan.json": string(newer.JSON())}}
	g.Expect(admin.Create(t.Context(), object)).To(Succeed())
	g.Eventually(func() int { return s.Current().Network.DHCP.MTU }, "1m").Should(Equal(1400), "the watch is faster than the kubelet's mount")
	g.Eventually(func() int { return without.Current().Network.DHCP.MTU }, "1m").Should(Equal(1400), "a server without a token follows the one with it")
	older := plan("blue", 1, "vlan100")
	older.Networks[0].DHCP.MTU = 1300
	g.Expect(os.WriteFile(file, older.JSON(), 0o600)).To(Succeed())
	g.Consistently(func() int { return s.Current().Network.DHCP.MTU }, "1500ms").Should(Equal(1400), "the mounted file lags behind")
	object.Data["plan.json"] = "{"
	g.Expect(admin.Update(t.Context(), object)).To(Succeed())
	g.Expect(admin.Delete(t.Context(), object)).To(Succeed())
	g.Consistently(func() int { return s.Current().Network.DHCP.MTU }, "500ms").Should(Equal(1400))
}
