// Programs built from Go modules into a cache whose keys are all that goes into
// them. What is in the cache is never built again.

package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/cldmnky/oooi/test/testbed/compile"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// Build builds the programs of those names (see programs.go) unless the cache has
// them, one line when each starts and ends, and gives their paths.
func Build(ctx context.Context, log io.Writer, names ...string) (map[string]string, error) {
	return build(ctx, progress.New(log), names)
}

// All are the names of all programs, those first that [Up] needs.
func All() []string {
	names := base()
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

// Build is like the function and makes the programs known to [Cluster.Bin].
func (c *Cluster) Build(ctx context.Context, names ...string) error {
	paths, err := build(ctx, c.log, names)
	if err != nil {
		return err
	}
	for name, path := range paths {
		p, _ := programNamed(name)
		dir := filepath.Join(c.Dir, "bin")
		if p.plugin {
			dir = c.CNIBin()
		}
		for _, link := range append([]string{name}, p.links...) {
			if err := replaceLink(path, filepath.Join(dir, link)); err != nil {
				return err
			}
		}
	}
	return nil
}

// EnvtestAssets gives a directory with etcd, kube-apiserver and kubectl, as
// KUBEBUILDER_ASSETS wants it.
func EnvtestAssets(ctx context.Context, log io.Writer) (string, error) {
	paths, err := Build(ctx, log, "kubelite")
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(paths["kubelite"])
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := replaceLink("kubelite", filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// CNIPlugins gives a directory with the CNI plugins that edges use on any kind of network.
func CNIPlugins(ctx context.Context, log io.Writer) (string, error) {
	names := []string{"bridge.real", "macvlan", "dummy", "static", "tuning"}
	paths, err := Build(ctx, log, names...)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cacheDir(), "cni")
	for _, name := range names {
		if err := replaceLink(paths[name], filepath.Join(dir, strings.TrimSuffix(name, ".real"))); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// Konnectivity returns a directory with proxy-server and proxy-agent of apiserver-network-proxy. It builds what is missing.
func Konnectivity(ctx context.Context, log io.Writer) (string, error) {
	names := []string{"proxy-server", "proxy-agent"}
	paths, err := Build(ctx, log, names...)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cacheDir(), "konnectivity")
	for _, name := range names {
		if err := replaceLink(paths[name], filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func build(ctx context.Context, log *progress.Log, names []string) (map[string]string, error) {
	paths, missing, err := lookUp(ctx, names)
	if err != nil {
		return nil, err
	}
	root, err := ProjectDir()
	if err != nil {
		return nil, err
	}
	w := work{missing: missing, cores: runtime.NumCPU()}
	if len(missing) > 0 {
		log.Say("%d of %d programs are to be compiled, once: %s with an empty Go cache", len(missing), len(names), progress.About(w.forecast()))
	}
	began := time.Now()
	for i, p := range missing {
		start := time.Now()
		err := p.build(ctx, filepath.Join(root, "test/testbed/modules", p.module), paths[p.name], func(now compile.Progress) {
			left := w.remaining(i, now.Fraction(), time.Since(began), time.Since(start))
			log.Status(fmt.Sprintf("[%d/%d] %s: %s; %s left for all", i+1, len(missing), p.name, now, progress.About(left)))
		})
		if err != nil {
			return nil, err
		}
		log.Say("[%d/%d] %s compiled in %.0f s", i+1, len(missing), p.name, time.Since(start).Seconds())
	}
	return paths, nil
}

// lookUp returns where the programs are or will be in the cache, and those that are not there.
func lookUp(ctx context.Context, names []string) (paths map[string]string, missing []program, err error) {
	root, err := ProjectDir()
	if err != nil {
		return nil, nil, err
	}
	version, err := output(exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOARCH"))
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
		paths[name] = filepath.Join(cacheDir(), name+"-"+key, name)
		if _, err := os.Stat(paths[name]); err != nil {
			missing = append(missing, p)
		}
	}
	return paths, missing, nil
}

// arguments are those of `go build`, without the output.
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

// key is a hash of all that decides what the program is.
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

// build makes the program at path, and reports how far it is; two that do so at once build it once.
func (p program) build(ctx context.Context, dir, path string, report func(compile.Progress)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, path+".lock", func() { report(compile.Progress{Waiting: true}) })
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if p.cgo {
		if err := EnsurePackages(ctx, os.Stderr, "gcc", "libc6-dev", "libseccomp-dev", "pkg-config"); err != nil {
			return err
		}
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(temp)
	args := p.arguments()
	env := append(p.environment(), "GOFIPS140=off") // which make sets, for the project's own programs
	err = compile.Run(ctx, compile.Build{Dir: dir, Flags: args[1 : len(args)-1], Env: env, Package: p.pkg, Output: temp}, report)
	if err != nil {
		return fmt.Errorf("build of %s: %w", p.name, err)
	}
	return os.Rename(temp, path)
}

// cacheDir is where what is built once stays: $OOOI_CACHE/testbed, else under the
// user's cache directory.
func cacheDir() string {
	if d := os.Getenv("OOOI_CACHE"); d != "" {
		return filepath.Join(d, "testbed")
	}
	d, err := os.UserCacheDir()
	if err != nil {
		d = "/var/tmp"
	}
	return filepath.Join(d, "oooi", "testbed")
}

// ProjectDir is the root of this checkout, found upwards from the working directory. The testbed builds from its
// sources, and is an error outside of it.
func ProjectDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/cldmnky/oooi\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the testbed builds from source: run it inside the project's directory")
		}
	}
}

// ModuleSource is the source directory of a Go module that the programs of modules/SET are built with, downloaded where
// it is not there.
func ModuleSource(ctx context.Context, set, module string) (string, error) {
	root, err := ProjectDir()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(root, "test/testbed/modules", set)
	out, err := output(cmd)
	if err != nil {
		return "", err
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil || m.Dir == "" {
		return "", errors.Join(fmt.Errorf("go mod download %s names no directory", module), err)
	}
	return m.Dir, nil
}

// replaceLink makes path a symbolic link to target, whatever it was before.
func replaceLink(target, path string) error {
	if now, err := os.Readlink(path); err == nil && now == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Symlink(target, temp); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// lock waits until no other process holds the lock file, and calls waiting each second meanwhile, unless it is nil. The
// holder may remove the file.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && isStill(file, path) {
			return func() { file.Close() }, nil
		}
		file.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if waiting != nil && try%10 == 0 {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// isStill says whether the file is the one at path, and not one removed since.
func isStill(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}
