package edge_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/access"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/programs"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keySet is a set of count new keys.
func keySet(t *testing.T, count int) []byte {
	t.Helper()
	var set jose.JSONWebKeySet
	for range count {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Public(), Use: "sig"})
	}
	b, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTokenKeysRotate: keys are read once a minute while the plan asks for tokens. What is no key set, and an API server that is
// away, replace nothing, also for an access proxy that starts meanwhile.
func TestTokenKeysRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, dir := NewWithT(t), t.TempDir()
		file, said := filepath.Join(dir, wire.KeysFile), &programs.Output{}
		log := slog.New(slog.NewTextHandler(said, nil))
		ctx, cancel := context.WithCancel(t.Context())
		read := edge.NewTokenKeys(file, log)
		answer, fails, wanted, asked := keySet(t, 1), error(nil), false, 0
		changed := make(chan struct{})
		start := func() (stop func()) {
			ctx, cancel := context.WithCancel(ctx)
			go edge.KeepTokenKeys(ctx, file, func() bool { return wanted }, func() <-chan struct{} { return changed },
				func(context.Context) ([]byte, error) { asked++; return answer, fails }, log)
			return cancel
		}
		after := func(d time.Duration) int {
			<-time.After(d)
			synctest.Wait()
			return read.Current().Count()
		}
		stop := start()
		go read.Run(ctx)
		g.Expect(after(time.Hour)).To(BeZero())
		g.Expect(asked).To(BeZero(), "the plan asks for no token")
		g.Expect(file).NotTo(BeAnExistingFile())

		wanted = true
		before := changed
		changed = make(chan struct{})
		close(before)
		g.Expect(after(2 * time.Second)).To(Equal(1))
		answer = keySet(t, 2)
		g.Expect(after(time.Minute + 2*time.Second)).To(Equal(2))
		fails = errors.New("away")
		g.Expect(after(10 * time.Minute)).To(Equal(2))
		g.Expect(said.Count("keys of the API server not read")).To(Equal(1), "one error is logged once")
		fails, answer = nil, []byte("<html>")
		g.Expect(after(10 * time.Minute)).To(Equal(2))
		g.Expect(edge.NewTokenKeys(file, log).Current().Count()).To(Equal(2), "a start without the API server")

		stop() // The watcher starts again, and the API server is away.
		fails = errors.New("away")
		stop = start()
		g.Expect(after(time.Hour)).To(Equal(2))
		fails, answer = nil, keySet(t, 3)
		g.Expect(after(10 * time.Second)).To(Equal(3))
		g.Expect(os.WriteFile(file, []byte(`{"keys":[]}`), 0o600)).To(Succeed())
		g.Expect(after(10*time.Second)).To(Equal(3), "a broken file")
		stop()
		cancel()
		synctest.Wait()
	})
}

// TestTokenKeysOfAnAPIServer: the account of edges may read the keys, and they verify what that API server signs.
func TestTokenKeysOfAnAPIServer(t *testing.T) {
	g := NewWithT(t)
	s := apiserver.Start(t, nil)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	kube, err := edge.NewKube(apiserver.Impersonating(s.Env.Config, namespace, wire.ServiceAccount), namespace, "lo", log)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "backup"}})).To(Succeed())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "backup", Name: "tool"}}
	g.Expect(s.Admin.Create(t.Context(), account)).To(Succeed())
	file := filepath.Join(t.TempDir(), wire.KeysFile)
	go edge.KeepTokenKeys(t.Context(), file, func() bool { return true }, func() <-chan struct{} { return nil }, kube.TokenKeys, log)
	keys := edge.NewTokenKeys(file, log)
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
