package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// powerless are the arguments of setpriv with which a time client cannot set the clock, which is
// this machine's.
func powerless() []string {
	return []string{"setpriv", "--bounding-set", "-sys_time", "--inh-caps", "-sys_time"}
}

// chronyd asks in n until an answer comes or the time is over, in seconds, and prints what the clock's error would be.
func chronyd(t *testing.T, n *netns.Namespace, within string) (string, error) {
	t.Helper()
	args := append(powerless(), programs.RequireUnpacked(t, "chrony", "usr/sbin/chronyd"),
		"-u", "root", "-Q", "-t", within, "-f", "/dev/null", "server "+blueService+" iburst maxsamples 1")
	out, err := n.Command(t.Context(), args[0], args[1:]...).CombinedOutput()
	return string(out), err
}

// follows is what chronyd prints if it believes a server. The clock of the server is its own, but an answer may be late.
func follows() types.GomegaMatcher { return MatchRegexp(`System clock wrong by -?\d\.\d+ seconds`) }

// A timeClient is a program of another project that follows a time server for as long as it runs.
type timeClient struct {
	name string
	// answers is how many answers it has believed. Zero: it does not follow the server.
	answers func() int
}

// timeClients starts all in n.
func timeClients(t *testing.T, n *netns.Namespace) []timeClient {
	t.Helper()
	return []timeClient{followChronyd(t, n), followNTPD(t, n), followTimesyncd(t, n)}
}

// followProgram runs a client in n until the test ends, and returns what it prints.
func followProgram(t *testing.T, n *netns.Namespace, args ...string) *programs.Output {
	t.Helper()
	return programs.Start(t, n.Command(context.WithoutCancel(t.Context()), args[0], args[1:]...))
}

// linesOf counts the lines of a file that match.
func linesOf(file, pattern string) func() int {
	line := regexp.MustCompile(pattern)
	return func() int {
		b, _ := os.ReadFile(file)
		return len(line.FindAll(b, -1))
	}
}

// followChronyd asks every second. Its log has a line for each answer, with the results of all its tests.
func followChronyd(t *testing.T, n *netns.Namespace) timeClient {
	t.Helper()
	dir := t.TempDir()
	followProgram(t, n, append(powerless(), programs.RequireUnpacked(t, "chrony", "usr/sbin/chronyd"),
		"-u", "root", "-d", "-x", "-f", "/dev/null", "-n", "server "+blueService+" iburst minpoll 0 maxpoll 0",
		"cmdport 0", "bindcmdaddress /", "pidfile "+filepath.Join(dir, "pid"), "logdir "+dir, "log measurements")...)
	return timeClient{"chronyd", linesOf(filepath.Join(dir, "measurements.log"), `(?m)^\S+ \S+ 192\.168\.100\.3\s+N  8 111 111 11`)}
}

// followNTPD asks every 8 s. The status in its statistics is 6 for the source that it has chosen.
func followNTPD(t *testing.T, n *netns.Namespace) timeClient {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("server %s iburst minpoll 3 maxpoll 3\ndisable ntp\nstatsdir %s/\nfilegen peerstats file peerstats type none enable\n", blueService, dir)
	file := filepath.Join(dir, "ntp.conf")
	NewWithT(t).Expect(os.WriteFile(file, []byte(config), 0o600)).To(Succeed())
	followProgram(t, n, append(powerless(), programs.RequireUnpacked(t, "ntpsec", "usr/sbin/ntpd"), "-n", "-c", file, "-l", filepath.Join(dir, "log"))...)
	return timeClient{"ntpd", linesOf(filepath.Join(dir, "peerstats"), `(?m)^\S+ \S+ 192\.168\.100\.3 .6`)}
}

// followTimesyncd asks every 16 s. Its log has a line for each answer that it has believed.
func followTimesyncd(t *testing.T, n *netns.Namespace) timeClient {
	t.Helper()
	file := filepath.Join(t.TempDir(), "timesyncd.conf")
	config := "[Time]\nNTP=" + blueService + "\nFallbackNTP=\nPollIntervalMinSec=16\nPollIntervalMaxSec=16\n"
	NewWithT(t).Expect(os.WriteFile(file, []byte(config), 0o644)).To(Succeed())
	script := "mount --bind " + file + " /etc/systemd/timesyncd.conf && SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console exec " +
		"setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set -all --inh-caps -all " +
		programs.RequireUnpacked(t, "systemd-timesyncd", "usr/lib/systemd/systemd-timesyncd", "lib/systemd/systemd-timesyncd")
	out := followProgram(t, n, "unshare", "--mount", "sh", "-c", script)
	return timeClient{"systemd-timesyncd", func() int { return out.Count("interval/delta/delay/jitter/drift") }}
}
