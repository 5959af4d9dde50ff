// What tests need of this machine: a real Envoy, a real API server. This file
// decides when the lack of one is a skip and when it is a failure.

package testbed

import (
	"context"
	"os"
	"testing"
	"time"
)

// RequireEnvoy is a real Envoy; a test is skipped where there is none, or fails
// on CI.
func RequireEnvoy(t testing.TB) string {
	t.Helper()
	if os.Getenv("OOOI_UNIT") != "" {
		t.Skip("needs an Envoy")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	path, err := Envoy(ctx, t.Output())
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return path
}

// RequireEnvtestAssets is where etcd and kube-apiserver are: KUBEBUILDER_ASSETS,
// or what is built here.
func RequireEnvtestAssets(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir
	}
	if os.Getenv("OOOI_UNIT") != "" {
		t.Skip("needs a real API server; OOOI_UNIT is set")
	}
	dir, err := EnvtestAssets(t.Context(), os.Stderr)
	if err != nil {
		t.Fatalf("building an API server: %v", err)
	}
	return dir
}
