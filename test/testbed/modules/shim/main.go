// Command shim stands in, on the testbed, for programs of an OpenShift release that do not exist as Go modules: it decides by the name
// it is called under what to be. It never keeps state, and where upstream has the real program it only translates and execs that.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	argv := os.Args
	name := filepath.Base(argv[0])
	if name == "shim" && len(argv) > 1 {
		argv, name = argv[1:], argv[1]
	}
	if err := run(name, argv[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "shim %s: %v\n", name, err)
		os.Exit(1)
	}
}

// run plays the program name with args. It returns when the program is done, or never for servers and programs that exec.
func run(name string, args []string) error {
	programs := map[string]func([]string) error{
		"authentication-operator": renderNothing,
		"cluster-etcd-operator":   etcdReadyz,
		"etcd":                    etcd,
		"haproxy":                 haproxy,
		"hyperkube":               hyperkube,
		"nslookup":                nslookup,
		"pod-webhook":             webhook,
		"virt-api":                virtAPI,
	}
	p, ok := programs[name]
	if !ok {
		known := make([]string, 0, len(programs))
		for k := range programs {
			known = append(known, k)
		}
		slices.Sort(known)
		return fmt.Errorf("not a program that is played here (%s)", strings.Join(known, ", "))
	}
	return p(args)
}
