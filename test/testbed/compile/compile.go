// Package compile runs `go build` and reports its progress: how many modules are downloaded, and how many of the packages that
// are not in the build cache are compiled. It uses only the standard library, so that it needs no downloads to compile.
package compile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A Build is one `go build` of a main package.
type Build struct {
	Dir     string   // where go runs: a directory of the module
	Flags   []string // of `go build`, without -o
	Env     []string // in addition to this process's environment
	Package string   // of the program
	Output  string   // path of the program
}

// A Progress is the progress of a build. The zero value is its start.
type Progress struct {
	Modules  int // downloaded so far
	Compiled int // packages, so far
	Packages int // packages to compile: those that are not in the build cache; 0: not known yet
	// Waiting is true while another process compiles the same program.
	Waiting bool
}

// String returns p in a few words.
func (p Progress) String() string {
	modules := ""
	if p.Modules > 0 {
		modules = fmt.Sprintf("%d modules downloaded", p.Modules)
	}
	switch {
	case p.Waiting:
		return "another process compiles it"
	case p.Packages == 0 && p.Modules == 0:
		return "looking at the cache"
	case p.Packages == 0:
		return modules
	case p.Compiled >= p.Packages:
		return fmt.Sprintf("%d packages compiled, linking", p.Packages)
	case p.Modules == 0:
		return fmt.Sprintf("%d of %d packages compiled", p.Compiled, p.Packages)
	}
	return fmt.Sprintf("%d of %d packages compiled, %s", p.Compiled, p.Packages, modules)
}

// Fraction returns the progress from 0 to 1. Linking counts as the last twentieth.
func (p Progress) Fraction() float64 {
	if p.Packages == 0 {
		return 0
	}
	return 0.95 * min(1, float64(p.Compiled)/float64(p.Packages))
}

// read returns p after a line of go's standard error. It returns false if the line does not report progress.
func (p Progress) read(line string, pending map[string]bool) (Progress, bool) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		p.Modules++
		return p, true
	case pending[line]: // `go build -v` writes the import path of a package when it compiles the package.
		p.Compiled++
		return p, true
	}
	return p, false
}

// Run runs the build b. Until it returns, it calls report at each change and each second, from one goroutine. An error contains
// the standard error of go.
func Run(ctx context.Context, b Build, report func(Progress)) error {
	var now Progress
	pending := map[string]bool{}
	arguments := append(append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, b.Flags...), b.Package)
	list, err := b.watch(ctx, arguments, func(line string) (kept bool) {
		now, kept = now.read(line, pending)
		return !kept
	}, func() { report(now) })
	if err != nil {
		return err
	}
	for path := range strings.FieldsSeq(list) {
		pending[path] = true
	}
	now.Packages = len(pending)
	report(now)
	_, err = b.watch(ctx, append(append([]string{"build", "-v", "-o", b.Output}, b.Flags...), b.Package), func(line string) (kept bool) {
		now, kept = now.read(line, pending)
		return !kept
	}, func() { report(now) })
	return err
}

// watch runs go with arguments, and returns its standard output. It calls read with each line of standard error. read reports
// whether the line belongs to the text of an error. tick is called after each line, and each second.
func (b Build) watch(ctx context.Context, arguments []string, read func(line string) bool, tick func()) (string, error) {
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir, cmd.Env = b.Dir, append(os.Environ(), b.Env...)
	var out strings.Builder
	cmd.Stdout = &out
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	lines := make(chan string)
	go scan(pipe, lines)
	var said []string
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for open := true; open; {
		select {
		case line, more := <-lines:
			if open = more; more && read(line) {
				said = append(said, line)
			}
		case <-second.C:
		}
		tick()
	}
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("go %s %s: %w\n%s", arguments[0], b.Package, err, strings.Join(said, "\n"))
	}
	return out.String(), nil
}

// scan sends the lines of r to lines, and closes lines at the end.
func scan(r io.Reader, lines chan<- string) {
	defer close(lines)
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		lines <- s.Text()
	}
	_, _ = io.Copy(io.Discard, r) // After a line that is too long, read on, so that go does not block.
}
