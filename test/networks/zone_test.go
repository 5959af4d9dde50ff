// This file runs OVN: for each node the daemons that OVN-Kubernetes runs there, with databases of their own. The data
// path is that of user space, so no kernel module is needed. What is in the databases is said elsewhere.

package networks

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// rootVariable is a directory with another Debian's OVN and its libraries, such as /srv/trixie for the programs below
// /srv/trixie/usr/bin. Empty: those that are installed.
const rootVariable = "OOOI_OVN_ROOT"

// ovnPrograms are those that a zone runs, below /usr.
func ovnPrograms() []string {
	return []string{
		"bin/ovsdb-tool", "sbin/ovsdb-server", "sbin/ovs-vswitchd", "bin/ovs-vsctl", "bin/ovn-northd", "bin/ovn-controller", "bin/ovn-nbctl", "bin/ovn-sbctl",
	}
}

// A zone is a node: its network namespace, and an OVN of its own there, as OVN-Kubernetes' interconnect has it.
type zone struct {
	*netns.Namespace
	t    *testing.T
	name string
	// address of the node, at which the other zones reach it.
	address string
	// dir is what OVN calls its run directory.
	dir string
}

// newZone starts a node with OVN on the segment.
func newZone(t *testing.T, segment *netns.Segment, name, address string) *zone {
	t.Helper()
	z := &zone{Namespace: netns.New(t), t: t, name: name, address: address, dir: shared(t)}
	segment.Attach(t, z.Namespace, uplink, "")
	z.Run(t, "ethtool", "-K", uplink, "tx", "off")
	schemas := map[string]string{"conf": "openvswitch/vswitch.ovsschema", "nb": "ovn/ovn-nb.ovsschema", "sb": "ovn/ovn-sb.ovsschema"}
	var databases []string
	for database, schema := range schemas {
		databases = append(databases, z.file(database+".db"))
		z.tool("bin/ovsdb-tool", "create", z.file(database+".db"), filepath.Join(ovnRoot(), "usr/share", schema))
	}
	z.daemon("sbin/ovsdb-server", append(databases, "--remote=punix:"+z.file("db.sock"))...)
	NewWithT(t).Eventually(func() error { // The file is there before the server listens.
		c, err := net.Dial("unix", z.file("db.sock"))
		if err == nil {
			_ = c.Close()
		}
		return err
	}, patience.Limit, "5ms").Should(Succeed())
	z.vsctl("--no-wait", "init", "--", "set", "open_vswitch", ".", "external_ids:system-id="+name, "external_ids:ovn-remote="+z.database(),
		"external_ids:ovn-encap-type=geneve", "external_ids:ovn-encap-ip="+address, "external_ids:ovn-bridge-datapath-type=netdev",
		"external_ids:ovn-bridge-mappings="+physicalNetwork+":br-ex", "external_ids:ovn-is-interconn=true")
	z.daemon("sbin/ovs-vswitchd", z.database(), "--disable-system")
	for _, bridge := range []string{"br-int", "br-ex"} {
		z.vsctl("add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev", "fail_mode="+map[string]string{"br-int": "secure", "br-ex": "standalone"}[bridge])
	}
	z.vsctl("add-port", "br-ex", uplink)
	z.Run(t, "ip", "address", "add", address+"/24", "dev", "br-ex")
	z.Run(t, "ip", "link", "set", "br-ex", "up")
	z.daemon("bin/ovn-northd", "--ovnnb-db="+z.database(), "--ovnsb-db="+z.database())
	z.supervised("bin/ovn-controller", z.database())
	NewWithT(t).Eventually(func() string { return z.sbctl("--bare", "--columns=name", "list", "chassis") }, patience.Limit, "20ms").Should(ContainSubstring(name))
	return z
}

// uplink is a node's device on the physical network, physicalNetwork OVN's name of that.
const uplink, physicalNetwork = "uplink", "physical"

func ovnRoot() string {
	if root := os.Getenv(rootVariable); root != "" {
		return root
	}
	return "/"
}

func (z *zone) file(name string) string { return filepath.Join(z.dir, name) }
func (z *zone) database() string        { return "unix:" + z.file("db.sock") }

// command runs a program of OVN on the node. One of another Debian runs with that one's C library.
func (z *zone) command(program string, args ...string) *exec.Cmd {
	all := []string{filepath.Join("/usr", program)}
	if root := ovnRoot(); root != "/" {
		libraries := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
		all = []string{filepath.Join(libraries, "ld-linux-x86-64.so.2"), "--library-path", libraries, filepath.Join(root, "usr", program)}
	}
	c := z.Command(context.WithoutCancel(z.t.Context()), all[0], append(all[1:], args...)...)
	c.Env = append(os.Environ(), "OVS_RUNDIR="+z.dir, "OVN_RUNDIR="+z.dir, "OVS_LOGDIR="+z.dir, "OVN_LOGDIR="+z.dir, "OVS_DBDIR="+z.dir)
	return c
}

// daemon starts a program that runs until the test ends.
func (z *zone) daemon(program string, args ...string) {
	z.t.Helper()
	c, log := z.command(program, args...), &programs.Output{}
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		z.t.Fatal(err)
	}
	z.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if z.t.Failed() {
			z.t.Logf("the last of %s on node %s:\n%s", program, z.name, last(log))
		}
	})
}

// last is the end of a log.
func last(log *programs.Output) string {
	lines := slices.Collect(strings.Lines(log.String()))
	return strings.Join(lines[max(0, len(lines)-15):], "")
}

// restarts is how often a program may end by itself in a test.
const restarts = 5

// supervised is like daemon for a program that may crash, which is then started again, as the kubelet does it.
// Seldom, ovn-controller 23.03 has a segmentation fault when it starts (in stopwatch2).
func (z *zone) supervised(program string, args ...string) {
	z.t.Helper()
	end, ended := make(chan struct{}), make(chan struct{})
	z.t.Cleanup(func() { close(end); <-ended })
	go func() {
		defer close(ended)
		for range 1 + restarts {
			c, log := z.command(program, args...), &programs.Output{}
			c.Stdout, c.Stderr = log, log
			if err := c.Start(); err != nil {
				z.t.Errorf("%s on node %s: %v", program, z.name, err)
				return
			}
			exited := make(chan error, 1)
			go func() { exited <- c.Wait() }()
			select {
			case err := <-exited:
				z.t.Logf("%s on node %s ended: %v\n%s", program, z.name, err, last(log))
			case <-end:
				_ = c.Process.Kill()
				<-exited
				if z.t.Failed() {
					z.t.Logf("the last of %s on node %s:\n%s", program, z.name, last(log))
				}
				return
			}
		}
		z.t.Errorf("%s on node %s ends again and again", program, z.name)
	}()
}

// tool runs a program to its end and returns what it printed.
func (z *zone) tool(program string, args ...string) string {
	z.t.Helper()
	out, err := z.command(program, args...).CombinedOutput()
	if err != nil {
		z.t.Fatalf("%s %s on node %s: %v\n%s", program, strings.Join(args, " "), z.name, err, out)
	}
	return strings.TrimSpace(string(out))
}

// The programs wait for ever without a timeout.
func (z *zone) vsctl(args ...string) string {
	z.t.Helper()
	return z.tool("bin/ovs-vsctl", append([]string{"--timeout=60", "--db=" + z.database()}, args...)...)
}

func (z *zone) nbctl(args ...string) string {
	z.t.Helper()
	return z.tool("bin/ovn-nbctl", append([]string{"--timeout=60", "--db=" + z.database()}, args...)...)
}

func (z *zone) sbctl(args ...string) string {
	z.t.Helper()
	return z.tool("bin/ovn-sbctl", append([]string{"--timeout=60", "--db=" + z.database()}, args...)...)
}

// plug connects a pod's new device to the node's OVN as logical port, and waits until OVN has the port.
func (z *zone) plug(pod *netns.Namespace, device, mac, port string) {
	z.t.Helper()
	host := "v" + fmt.Sprint(len(strings.Fields(z.vsctl("list-ports", "br-int")))) + "-" + device
	z.Run(z.t, "ip", "link", "add", host, "mtu", podMTU, "type", "veth", "peer", "name", device, "address", mac, "mtu", podMTU, "netns", pod.Name)
	pod.Run(z.t, "ethtool", "-K", device, "tx", "off")
	pod.Run(z.t, "ip", "link", "set", device, "up")
	z.Run(z.t, "ip", "link", "set", host, "up")
	z.vsctl("add-port", "br-int", host, "--", "set", "interface", host, "external_ids:iface-id="+port)
	z.vsctl("wait-until", "interface", host, "external_ids:ovn-installed=true")
}

// podMTU is OVN-Kubernetes' default.
const podMTU = "1400"

// shared returns a new directory that any user may enter. Its name is short: the path of a Unix socket has 107
// characters at most.
func shared(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oooi-networks-")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	NewWithT(t).Expect(os.Chmod(dir, 0o755)).To(Succeed())
	return dir
}
