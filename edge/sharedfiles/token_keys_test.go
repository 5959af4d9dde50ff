package sharedfiles_test

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

	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/programs"
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
		read := sharedfiles.NewTokenKeys(file, log)
		answer, fails, wanted, asked := keySet(t, 1), error(nil), false, 0
		changed := make(chan struct{})
		start := func() (stop func()) {
			ctx, cancel := context.WithCancel(ctx)
			go sharedfiles.KeepTokenKeys(ctx, file, func() bool { return wanted }, func() <-chan struct{} { return changed },
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
		g.Expect(sharedfiles.NewTokenKeys(file, log).Current().Count()).To(Equal(2), "a start without the API server")

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
