// Programs of the release that are upstream's with small differences, or that have nothing to do here. It decides what differs from
// upstream and execs the rest; it never changes what the control plane operator configured beyond that.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// kubelite is the one binary that holds etcd and Kubernetes' programs, chosen by argv[0].
const kubelite = "/usr/bin/kubelite"

func execAs(path string, argv ...string) error {
	fmt.Println("shim: exec", path, strings.Join(argv, " "))
	return syscall.Exec(path, argv, os.Environ())
}

// hyperkube is OpenShift's Kubernetes: its API server is configured by a file (--openshift-config), which upstream's has no flag for.
func hyperkube(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which program?")
	}
	if args[0] != "kube-apiserver" {
		return execAs(kubelite, upstreamFlags(args)...)
	}
	cfg, err := readAPIServerConfig(args[1:])
	if err != nil {
		return err
	}
	flags, dropped := apiServerFlags(cfg)
	fmt.Println("shim: not known upstream, left out:", strings.Join(dropped, " "))
	return execAs(kubelite, append([]string{"kube-apiserver"}, flags...)...)
}

// upstreamFlags is args without the flags that only OpenShift's build of the controller manager and scheduler has.
// Feature gates go too: OpenShift's release names gates that upstream's version has not, and an unknown one is fatal.
func upstreamFlags(args []string) []string {
	var out []string
	for _, a := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch name {
		case "openshift-config", "feature-gates", "unsupported-kube-api-over-localhost":
		default:
			out = append(out, a)
		}
	}
	return out
}

// etcd is upstream's, except for the metrics sidecar: upstream's gRPC proxy refuses certificates with a common name, and HyperShift's have one.
func etcd(args []string) error {
	if len(args) > 0 && args[0] == "grpc-proxy" {
		fmt.Println("shim: no metrics proxy here")
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
		<-stop
		return nil
	}
	return execAs(kubelite, append([]string{"etcd"}, args...)...)
}

// haproxy lowers the connection limit: HyperShift's router configuration asks for 20,000, twice that in file descriptors, more than an
// unprivileged container may be given here.
func haproxy(args []string) error {
	return execAs("/usr/sbin/haproxy", append([]string{"haproxy", "-n", "4000"}, args...)...)
}

// renderNothing is `authentication-operator render`. The file it leaves is no manifest: kas-bootstrap applies every .yaml it finds and
// fails on an empty one.
func renderNothing(args []string) error {
	dir := "/tmp/output"
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--asset-output-dir="); ok {
			dir = v
		} else if a == "--asset-output-dir" && i+1 < len(args) {
			dir = args[i+1]
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "nothing.txt"), nil, 0o644)
}

// nslookup succeeds when the name resolves. Init containers wait with it for cluster names, by way of resolv.conf's search list, which
// busybox's does not follow.
func nslookup(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which name?")
	}
	addrs, err := net.LookupHost(args[0])
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(addrs, " "))
	return nil
}
