package fakes

import (
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
)

// Envoy answers as Envoy's admin socket does, until it is shut. It answers nothing while answers is held.
func Envoy(t *testing.T, dir, listeners string, answers *sync.Mutex) *http.Server {
	t.Helper()
	l, err := net.Listen("unix", resources.NewDirs(wire.EnvoyDirs(dir)).Admin())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("LIVE\n")) })
	mux.HandleFunc("/listeners", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"listener_statuses":[` + listeners + `]}`))
	})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers.Lock()
		defer answers.Unlock()
		mux.ServeHTTP(w, r)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// SlowEnvoy is an Envoy that does not answer while the result is held.
func SlowEnvoy(t *testing.T, dir, listeners string) *sync.Mutex {
	t.Helper()
	answers := new(sync.Mutex)
	Envoy(t, dir, listeners, answers)
	return answers
}
