package controllers

import (
	"log/slog"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cldmnky/oooi/test/apiserver"
)

// TestMain shows what the manager complains of, and stops the API servers that tests share.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	code := m.Run()
	for _, server := range []*apiserver.Shared{&intact, &altered} {
		if err := server.Stop(); err != nil {
			slog.Error("an API server did not stop", "err", err)
			code = 1
		}
	}
	os.Exit(code)
}
