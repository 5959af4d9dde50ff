// Package build builds the programs of a testbed from Go modules, into a cache. The key of a program is a hash of everything
// that decides its content, so a program in the cache is never built again. Envoy is not built but downloaded.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/cldmnky/oooi/test/testbed/compile"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// All returns the names of all programs. Those that a cluster needs come first.
func All() []string {
	names := Base()
	seen := map[string]bool{}
	for _, n := range names {
		seen[n] = true
	}
	for _, p := range programs() {
		if !seen[p.name] {
			names = append(names, p.name)
		}
	}
	return names
}

// Programs returns the paths of the programs with these names (see programs.go). It builds those that are not in the cache,
// and logs a line when the build of each starts and ends.
func Programs(ctx context.Context, log *progress.Log, names ...string) (map[string]string, error) {
	paths, missing, err := lookUp(ctx, names)
	if err != nil {
		return nil, err
	}
	root, err := host.ProjectDir()
	if err != nil {
		return nil, err
	}
	w := work{missing: missing, cores: runtime.NumCPU()}
	if len(missing) > 0 {
		log.Say("%d of %d programs are to be compiled, once: %s with an empty Go cache", len(missing), len(names), progress.About(w.forecast()))
	}
	began, last := time.Now(), w.start()
	for i, p := range missing {
		start := time.Now()
		err := p.build(ctx, filepath.Join(root, "test/testbed/modules", p.module), paths[p.name], func(now compile.Progress) {
			at := w.at(last, time.Since(began), i, now.Fraction())
			if at.elapsed-last.elapsed > time.Minute {
				last = at
			}
			left := w.remaining(at, now.Fraction(), time.Since(start))
			log.Status(fmt.Sprintf("[%d/%d] %s: %s; %s left for all", i+1, len(missing), p.name, now, progress.About(left)))
		})
		if err != nil {
			return nil, err
		}
		log.Say("[%d/%d] %s compiled in %.0f s", i+1, len(missing), p.name, time.Since(start).Seconds())
	}
	return paths, nil
}

// lookUp returns the paths that programs have or will have in the cache, and the programs that are not there yet.
func lookUp(ctx context.Context, names []string) (paths map[string]string, missing []program, err error) {
	root, err := host.ProjectDir()
	if err != nil {
		return nil, nil, err
	}
	version, err := host.Output(exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOARCH"))
	if err != nil {
		return nil, nil, err
	}
	paths = map[string]string{}
	for _, name := range names {
		p, ok := programNamed(name)
		if !ok {
			return nil, nil, fmt.Errorf("no program %q in the testbed's table", name)
		}
		key, err := p.key(filepath.Join(root, "test/testbed/modules", p.module), string(version))
		if err != nil {
			return nil, nil, err
		}
		paths[name] = filepath.Join(host.CacheDir(), name+"-"+key, name)
		if _, err := os.Stat(paths[name]); err != nil {
			missing = append(missing, p)
		}
	}
	return paths, missing, nil
}

// arguments returns the arguments of go for the build of p, without the output.
func (p program) arguments() []string {
	return []string{"build", "-trimpath", "-tags", p.tags, "-ldflags", strings.TrimSpace("-s -w " + p.ldflags), p.pkg}
}

func (p program) environment() []string {
	cgo := "CGO_ENABLED=0"
	if p.cgo {
		cgo = "CGO_ENABLED=1"
	}
	return []string{cgo, "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "GOWORK=off"}
}

// key returns a hash of everything that decides the content of the program.
func (p program) key(dir, version string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, version, p.arguments(), p.environment())
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(hash, "%s %x\n", strings.TrimPrefix(path, dir), sha256.Sum256(content))
		return err
	})
	return hex.EncodeToString(hash.Sum(nil))[:16], err
}

// build builds the program to path, and calls report with its progress. If two processes build it at the same time, one of
// them waits for the other.
func (p program) build(ctx context.Context, dir, path string, report func(compile.Progress)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	unlock, err := host.Lock(ctx, path+".lock", func() { report(compile.Progress{Waiting: true}) })
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if p.cgo {
		if err := host.EnsurePackages(ctx, os.Stderr, "gcc", "libc6-dev", "libseccomp-dev", "pkg-config"); err != nil {
			return err
		}
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(temp)
	args := p.arguments()
	env := append(p.environment(), "GOFIPS140=off") // make sets GOFIPS140 for the project's own programs.
	err = compile.Run(ctx, compile.Build{Dir: dir, Flags: args[1 : len(args)-1], Env: env, Package: p.pkg, Output: temp}, report)
	if err != nil {
		return fmt.Errorf("build of %s: %w", p.name, err)
	}
	return os.Rename(temp, path)
}

// ModuleSource returns the source directory of a Go module, in the version that the programs of modules/SET use. It downloads
// the module if needed.
func ModuleSource(ctx context.Context, set, module string) (string, error) {
	root, err := host.ProjectDir()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(root, "test/testbed/modules", set)
	out, err := host.Output(cmd)
	if err != nil {
		return "", err
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil || m.Dir == "" {
		return "", errors.Join(fmt.Errorf("go mod download %s names no directory", module), err)
	}
	return m.Dir, nil
}
