// This file installs the Debian packages that a testbed needs on the host.

package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// EnsurePackages installs missing Debian packages, and logs it. Without root or apt-get, it returns an error that names them. On
// systems without dpkg, it does nothing.
func EnsurePackages(ctx context.Context, log io.Writer, packages ...string) error {
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		return nil
	}
	var missing []string
	for _, p := range packages {
		out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${db:Status-Status}", p).Output()
		if err != nil || string(out) != "installed" {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("these packages are missing: apt-get install %s", strings.Join(missing, " "))
	}
	if log != nil {
		fmt.Fprintf(log, "apt-get install %s\n", strings.Join(missing, " "))
	}
	if err := apt(ctx, append([]string{"install", "-y", "--no-install-recommends"}, missing...)...); err == nil {
		return nil
	}
	if err := apt(ctx, "update"); err != nil { // The package lists may be old or missing.
		return err
	}
	return apt(ctx, append([]string{"install", "-y", "--no-install-recommends"}, missing...)...)
}

func apt(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1") // With RUNLEVEL=1, services are not started.
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
