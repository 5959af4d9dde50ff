// Command run compiles a command of this module, shows the progress, and replaces itself by the command. It is used instead of
// `go run`, which prints nothing for minutes on a host with an empty cache.
//
//	go -C test/testbed run ./cmd/run ./demo up
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/cldmnky/oooi/test/testbed/compile"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: run PACKAGE [ARGUMENT...], in the directory of the module")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	path, err := build(ctx, os.Args[1])
	stop()
	if err == nil {
		err = syscall.Exec(path, append([]string{path}, os.Args[2:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, "run:", err)
	os.Exit(1)
}

// build compiles a package into bin/ of the project, and returns the path of the program. It prints nothing if the program is
// up to date.
func build(ctx context.Context, pkg string) (string, error) {
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", filepath.Base(pkg)))
	if err != nil {
		return "", err
	}
	log, told := progress.New(os.Stderr), false
	err = compile.Run(ctx, compile.Build{Package: pkg, Output: path}, func(p compile.Progress) {
		if !told && (p.Modules > 0 || p.Packages > 20) {
			log.Say("compiling %s, once: 1 to 3 minutes with an empty cache", pkg)
			told = true
		}
		if told {
			log.Status(p.String())
		}
	})
	if err != nil {
		return "", err
	}
	if told {
		log.Say("compiled %s", pkg)
	}
	return path, nil
}
