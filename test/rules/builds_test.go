// This file holds that what is tested is what is released.

package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func file(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestProgramsAreBuiltAlike by make build, for a release and for the testbed, whose edges may play a clock.
func TestProgramsAreBuiltAlike(t *testing.T) {
	for path, settings := range map[string][]string{
		"Makefile":                          {"GOFIPS140 ?= v1.0.0\n", "go -C config/release run . build\n"},
		"config/release/program/program.go": {`Tags: "grpcnotrace", FIPS: true`, `module = "v1.0.0"`, `"-trimpath"`},
		"test/testbed/build/own.go":         {`released.Own(root, "./cmd/"+name)`, `own(root, program, PlaysClock()).Compile(`},
		"test/testbed/build/programs.go":    {`released.Opm("").Tags`},
	} {
		for _, s := range settings {
			if !strings.Contains(file(t, path), s) {
				t.Errorf("%s does not have %q: the programs are built in one way", path, s)
			}
		}
	}
}

// TestTestsRunTheEnvoyOfTheImage: the version in the tests is that of the image in config.
func TestTestsRunTheEnvoyOfTheImage(t *testing.T) {
	image := regexp.MustCompile(`envoyproxy/envoy:distroless-v([0-9.]+)@sha256:[0-9a-f]{64}\n`).FindStringSubmatch(file(t, "config/manager/deployment.yaml"))
	tested := regexp.MustCompile(`envoyVersion = "([0-9.]+)"`).FindStringSubmatch(file(t, "test/testbed/build/envoy.go"))
	if len(image) != 2 || len(tested) != 2 || image[1] != tested[1] {
		t.Errorf("the image has Envoy %q, and tests run %q", image, tested)
	}
}

// TestLongTestsExist: a test that is renamed leaves the list of those that `make test` skips, and so comes back to it.
func TestLongTestsExist(t *testing.T) {
	list := regexp.MustCompile(`(?m)^long_cluster := \^\(([A-Za-z|]+)\)\$\$$`).FindStringSubmatch(file(t, "Makefile"))
	if list == nil {
		t.Fatal("the Makefile has no list long_cluster")
	}
	var tests strings.Builder
	for _, s := range sources(t) {
		if strings.HasPrefix(s.path, "test/testbed/") && strings.HasSuffix(s.path, "_test.go") {
			tests.WriteString(file(t, s.path))
		}
	}
	for _, name := range strings.Split(list[1], "|") {
		if !strings.Contains(tests.String(), "func "+name+"(t *testing.T)") {
			t.Errorf("test/testbed has no test %s, which the Makefile leaves to make test-long", name)
		}
	}
}
