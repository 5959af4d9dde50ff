// This file decides the steps from power-on to a Ready node that its control plane can call, and what must be true after each step.

package worker

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// An Event is a step that is complete.
type Event struct {
	Machine string
	Step    string
	// Took is the duration of the step, and Since the time from power-on to its end.
	Took, Since time.Duration
	// Detail says in words what was observed.
	Detail string
}

// Options are the options for a worker.
type Options struct {
	Cluster    *cluster.Cluster
	Management client.Client
	// Guest is the administrator's configuration for the hosted cluster. It is used to approve CSRs, and to read whether the node is
	// Ready. The machine itself does not use it.
	Guest *rest.Config
	// Images are the paths of tar archives on the host: the sandbox image, and that of the release.
	Images []string
	// Report is called after each step. Nil: no function is called.
	Report func(Event)
	// Waiting is called each second with what the worker waits for. Nil: no function is called.
	Waiting func(what string)
}

// A Worker is a machine that has joined.
type Worker struct {
	VM      VM
	Machine *machine.Machine
	Lease   machine.Lease
	// Time is the answer of the first NTP server in the lease. It is zero if there is none.
	Time machine.Time
	// Token and NoToken are the answers of the Ignition server to requests with and without the token.
	Token, NoToken machine.Answer
	// Files are those of the Ignition configuration.
	Files machine.Payload
	// API is the URL of the API server in the kubelet's kubeconfig.
	API *url.URL
	// Ready is the time from power-on to the Ready condition.
	Ready time.Duration
}

// machineName returns the name of vm's machine on the host.
func machineName(c *cluster.Cluster, vm VM) string {
	return c.HostName("w." + vm.Namespace + "." + vm.Name)
}

// stateDir returns the state directory of vm's machine.
func stateDir(c *cluster.Cluster, vm VM) string {
	return filepath.Join(c.Dir, "w", vm.Namespace+"."+vm.Name)
}

// A boot is a worker that is booting.
type boot struct {
	Options
	*Worker
	data  machine.UserData
	ca    []byte // of the API server
	begin time.Time
	guest kubernetes.Interface
}

// Boot boots a worker for vm. It returns when the node is Ready and its control plane has called it. After an error, the machine keeps
// running, and its logs are in its state directory.
func Boot(ctx context.Context, o Options, vm VM) (*Worker, error) {
	guest, err := kubernetes.NewForConfig(o.Guest)
	if err != nil {
		return nil, err
	}
	b := &boot{Options: o, Worker: &Worker{VM: vm}, guest: guest}
	if b.data, err = machine.ParseUserData(vm.UserData); err != nil {
		return nil, err
	}
	b.begin = time.Now()
	for _, step := range []struct {
		name   string
		do     func(context.Context) (string, error)
		awaits func(context.Context) string
	}{
		{"power-on", b.powerOn, always("its network card")},
		{"dhcp", b.askDHCP, always("a lease: no DHCP server has answered")},
		{"dns", b.resolveIgnition, always("the DNS server")},
		{"time", b.askTime, always("the NTP server")},
		{"ignition", b.askIgnition, always("the Ignition server at " + b.data.Source.Host)},
		{"api", b.reachAPI, func(context.Context) string { return "the API server at " + b.API.Host }},
		{"runtime", b.startRuntime, always("containerd and its images")},
		{"kubelet", b.join, b.awaitedNode},
		{"konnectivity", b.beCalled, always("a call of its control plane through konnectivity")},
	} {
		start := time.Now()
		stop := telling(o.Waiting, func() string { return vm.Name + " waits for " + step.awaits(ctx) })
		detail, err := step.do(ctx)
		stop()
		if err != nil {
			return b.Worker, fmt.Errorf("worker %s, %s: %w", vm.Name, step.name, err)
		}
		if o.Report != nil {
			now := time.Now()
			o.Report(Event{Machine: vm.Name, Step: step.name, Took: now.Sub(start), Since: now.Sub(b.begin), Detail: detail})
		}
	}
	return b.Worker, nil
}

// always returns a function that returns what: a step that waits for the same thing all the time.
func always(what string) func(context.Context) string {
	return func(context.Context) string { return what }
}

// serverOf returns the API server's URL and CA in a kubeconfig.
func serverOf(kubeconfig []byte) (*url.URL, []byte, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("bootstrap kubeconfig: %w", err)
	}
	u, err := url.Parse(config.Host)
	return u, config.CAData, err
}

func (b *boot) powerOn(ctx context.Context) (string, error) {
	name := machineName(b.Cluster, b.VM)
	m, err := machine.SwitchOn(ctx, name, stateDir(b.Cluster, b.VM))
	if err != nil {
		return "", err
	}
	b.Machine = m
	if err := b.Cluster.LAN().PlugVLAN(ctx, b.Machine.NetNS(), machine.Interface, b.VM.VLAN, b.VM.MAC); err != nil {
		return "", err
	}
	if err := m.WaitCarrier(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s on VLAN %d (%s)", b.VM.MAC, b.VM.VLAN, b.VM.Network), nil
}

func (b *boot) askDHCP(ctx context.Context) (string, error) {
	lease, err := b.Machine.AskDHCP(ctx, await.Patience)
	if err != nil {
		return "", err
	}
	b.Lease = lease
	if lease.HostName != b.VM.Name {
		return "", fmt.Errorf("DHCP gave the host name %q: the node would not be called as its machine (%s)", lease.HostName, lease)
	}
	if len(lease.DNS) == 0 {
		return "", fmt.Errorf("DHCP gave no DNS server (%s)", lease)
	}
	return lease.String(), ReportAddress(ctx, b.Management, b.VM, lease.Address.Addr())
}

func (b *boot) resolveIgnition(ctx context.Context) (string, error) {
	return b.resolve(ctx, b.data.Source.Hostname())
}

// resolve resolves a name on the machine.
func (b *boot) resolve(ctx context.Context, host string) (string, error) {
	if _, err := netip.ParseAddr(host); err == nil {
		return host + " (a bare address)", nil
	}
	out, err := b.Machine.Output(ctx, "getent", "ahostsv4", host)
	if err != nil {
		return "", fmt.Errorf("%s has no address: %w", host, err)
	}
	address, _, _ := strings.Cut(string(out), " ")
	return host + " is " + address, nil
}

// askTime requests the time from the NTP server in the lease, if there is one.
func (b *boot) askTime(ctx context.Context) (string, error) {
	if len(b.Lease.NTP) == 0 {
		return "the lease names no time server", nil
	}
	var err error
	b.Time, err = b.Machine.AskTime(ctx, b.Lease.NTP[0], time.Minute)
	return b.Time.String(), err
}

func (b *boot) askIgnition(ctx context.Context) (string, error) {
	var err error
	if b.Token, b.NoToken, err = b.Machine.AskIgnition(ctx, b.data, await.Patience); err != nil {
		return "", err
	}
	if b.Token.Status != 200 || b.NoToken.Status != 401 {
		return "", fmt.Errorf("%s answered %d with the token and %d without, not 200 and 401", b.data.Source, b.Token.Status, b.NoToken.Status)
	}
	if b.Files, err = machine.ParsePayload([]byte(b.Token.Body)); err != nil {
		return "", err
	}
	if b.API, b.ca, err = serverOf(b.Files[machine.BootstrapKubeconfig]); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: 200 and %d files (%d kB) with the token, 401 without; TLS after %s",
		b.data.Source.Host, len(b.Files), len(b.Token.Body)/1000, b.Token.TLS.Round(time.Millisecond)), nil
}

// reachAPI requests the version of the API server twice: as kubelet will, at its published name or address, and as pods will, through
// the node's HAProxy. Pods send no TLS server name.
func (b *boot) reachAPI(ctx context.Context) (string, error) {
	if _, err := b.resolve(ctx, b.API.Hostname()); err != nil {
		return "", err
	}
	direct, err := b.askVersion(ctx, b.API.String())
	if err != nil {
		return "", err
	}
	if err := b.Machine.StartProxy(b.Files); err != nil {
		return "", err
	}
	through, err := b.askVersion(ctx, "https://"+machine.InternalAPI)
	if err != nil {
		return "", fmt.Errorf("through HAProxy: %w", err)
	}
	return fmt.Sprintf("%s: %d by %s, %d by HAProxy on %s without a server name", b.API.Host, direct.Status, direct.Server, through.Status, machine.InternalAPI), nil
}

// askVersion requests the version of the API server at a URL until it answers, because kubelets repeat requests as well.
func (b *boot) askVersion(ctx context.Context, at string) (answer machine.Answer, err error) {
	var last error
	err = await.Poll(ctx, await.Patience, func() (bool, error) {
		answer, last = b.Machine.Ask(ctx, at+"/version", nil, b.ca)
		return last == nil, nil
	})
	if err != nil {
		return answer, fmt.Errorf("%w: %w", err, last)
	}
	return answer, nil
}

func (b *boot) programs() machine.Programs {
	return machine.Programs{Dir: filepath.Dir(b.Cluster.Bin("containerd")), CNI: b.Cluster.CNIBin()}
}

func (b *boot) startRuntime(ctx context.Context) (string, error) {
	if err := b.Machine.StartRuntime(ctx, b.programs(), b.Images...); err != nil {
		return "", err
	}
	return fmt.Sprintf("containerd with %d images", len(b.Images)), nil
}

func (b *boot) join(ctx context.Context) (string, error) {
	if err := b.Machine.StartKubelet(b.programs(), b.Files, b.Lease.Address.Addr(), "kubevirt://"+b.VM.Name); err != nil {
		return "", err
	}
	seen, ready, err := Admit(ctx, b.guest, b.VM.Name, b.Lease.Address.Addr(), b.begin, await.Patience)
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, process.LogTail(b.Machine.Dir, "kubelet", 15))
	}
	b.Ready = ready.Sub(b.begin)
	return fmt.Sprintf("registered %.1fs, Ready %.1fs after power-on", seen.Sub(b.begin).Seconds(), b.Ready.Seconds()), nil
}

// beCalled waits until the control plane has reached the node through konnectivity.
func (b *boot) beCalled(ctx context.Context) (string, error) {
	if err := AllowCalls(ctx, b.guest); err != nil {
		return "", err
	}
	call := Call{Guest: b.guest, Node: b.VM.Name}
	start := time.Now()
	granting, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // The kubelet requests its serving certificate after the node exists.
		_ = await.Poll(granting, await.Patience, func() (bool, error) {
			_ = grantAll(granting, b.guest, b.VM.Name, b.Lease.Address.Addr()) // The loop tries again.
			return false, nil
		})
	}()
	if err := call.Healthz(ctx); err != nil {
		return "", err
	}
	healthz := time.Since(start)
	pod, lines, err := call.Logs(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("nodes/%s/proxy/healthz is ok after %.1fs, logs of %s: %d lines", b.VM.Name, healthz.Seconds(), pod, lines), nil
}

// Running returns the running machines of a control plane namespace; "" means all of the cluster.
func Running(c *cluster.Cluster, namespace string) ([]*machine.Machine, error) {
	entries, err := os.ReadDir(filepath.Join(c.Dir, "w"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var on []*machine.Machine
	for _, e := range entries {
		ns, name, _ := strings.Cut(e.Name(), ".")
		if namespace != "" && ns != namespace {
			continue
		}
		vm := VM{Namespace: ns, Name: name}
		if m, err := machine.Attach(machineName(c, vm), stateDir(c, vm)); err == nil {
			on = append(on, m)
		}
	}
	return on, nil
}

// Down switches off every machine of a control plane namespace; "" means all of the cluster. It also removes what remains of an
// interrupted boot.
func Down(ctx context.Context, c *cluster.Cluster, namespace string) error {
	found := map[string]bool{}
	entries, err := os.ReadDir(filepath.Join(c.Dir, "w"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, e := range entries {
		found[e.Name()] = true
	}
	prefix := c.HostName("w.")
	names, err := lan.NetNSNames()
	if err != nil {
		return err
	}
	for _, n := range names {
		if key, ours := strings.CutPrefix(n, prefix); ours {
			found[key] = true
		}
	}
	for key := range found {
		ns, name, _ := strings.Cut(key, ".")
		if namespace != "" && ns != namespace {
			continue
		}
		vm := VM{Namespace: ns, Name: name}
		if err := machine.SwitchOff(ctx, machineName(c, vm), stateDir(c, vm)); err != nil {
			return err
		}
	}
	return nil
}
