package controllers

import (
	"log/slog"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cldmnky/oooi/test/programs"
)

// TestMain shows what the manager complains of.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	programs.SideBySide(12) // Most of the time they wait for an operator.
	os.Exit(m.Run())
}
