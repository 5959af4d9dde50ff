// This file decides the steps of the demo, their order, and what is printed when one fails.

package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/e2e"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/process"
	"github.com/cldmnky/oooi/test/testbed/progress"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// vlan returns the VLAN of the demo's workers. Each publishing strategy has its own.
func (d *demo) vlan() int { return 100 + slices.Index(hypershift.Strategies(), d.strategy) }

// workersCIDR is the CIDR of the VLAN.
var workersCIDR = netip.MustParsePrefix("192.168.100.0/24")

// A demo is the state that the steps share.
type demo struct {
	name     string // of the testbed
	hosted   string // of the HostedCluster
	strategy hypershift.Strategy
	out      io.Writer
	begin    time.Time
	// installer brings the operator onto the cluster.
	installer installer

	cluster    *cluster.Cluster
	hypershift *hypershift.HyperShift
	state      e2e.Hosted
	workers    []*worker.Worker
	router     e2e.GuestRouter // on the workers
	console    machine.Answer  // of it, to the first worker
	outside    outside
	annotated  time.Time // when the annotated HostedCluster was created
}

func newDemo(name string, strategy hypershift.Strategy, out io.Writer) *demo {
	// Each strategy has its own hosted cluster, so that they can be shown one after the other.
	return &demo{name: name, hosted: strings.ReplaceAll(string(strategy), "-", ""), strategy: strategy, out: out, begin: time.Now()}
}

// A step is one step of the demo, and what to print when it fails.
type step struct {
	name string
	do   func(context.Context, *demo) (string, error)
	logs func(context.Context, *demo)
}

func steps() []step {
	return []step{
		{"install missing Debian packages", installPackages, nil},
		{"compile", compile, nil},
		{"bring up Kubernetes", bringUp, nil},
		{"install HyperShift", installHyperShift, showPods("hypershift")},
		{"install the operator", installOperator, showPods(e2e.Namespace)},
		{"create the hosted cluster", create, showHosted},
		{"serve its network", serve, showEdge},
		{"start its control plane", startControlPlane, showHosted},
		{"boot a worker", bootWorker, showEdge},
		{"publish the ingress of the hosted cluster", publishIngress, showEdge},
		{"answer users beyond the network", answerOutside, showEdge},
	}
}

// up runs all steps and reports each.
func up(ctx context.Context, d *demo) error {
	if err := d.forecast(ctx); err != nil {
		return err
	}
	d.say("oooi demo: a hosted cluster published by %s; its workers are on VLAN %d (%s) only", d.strategy, d.vlan(), workersCIDR)
	all := steps()
	for i, s := range all {
		d.say("[%d/%d] %s ...", i+1, len(all), s.name)
		start := time.Now()
		told, err := s.do(ctx, d)
		if err != nil {
			if s.logs != nil && ctx.Err() == nil {
				s.logs(ctx, d)
			}
			return fmt.Errorf("step %d, %s, failed after %.1fs: %w", i+1, s.name, time.Since(start).Seconds(), err)
		}
		d.say("[%d/%d] %s: %.1fs. %s", i+1, len(all), s.name, time.Since(start).Seconds(), told)
	}
	return d.summary(ctx)
}

// warm is how long the demo takes if everything is compiled.
const warm = 2 * time.Minute

// forecast prints how long the demo will take and how much disk space it needs. It returns an error if there is too little
// space.
func (d *demo) forecast(ctx context.Context) error {
	f, err := build.Foresee(ctx, cluster.StateRoot(), d.programs()...)
	if err != nil {
		return err
	}
	d.say("it takes %s", takes(f, runtime.NumCPU()))
	if f.Missing > 0 {
		d.say("%d of %d programs are compiled first; later runs take %s", f.Missing, f.All, progress.About(warm))
	}
	for _, s := range f.Disk {
		d.say("it needs %s", s)
		if s.Short() {
			return fmt.Errorf("too little disk: want %s", s)
		}
	}
	return nil
}

// takes says how long the demo takes on so many cores: on an idle host and, if that differs much, under the current load.
func takes(f build.Forecast, cores int) string {
	idle := f.Time + warm
	text := progress.About(idle) + " on an idle machine"
	if slower := f.Slower(cores); slower > 2 { // Before, make compiled on each processor.
		return text + fmt.Sprintf(", and %s next to the other work here (load %.0f on %d processors)", progress.About(time.Duration(float64(idle)*slower)), f.Load, cores)
	}
	return text + ", and longer next to other work: 114 min instead of 12 to 30 were measured next to eight busy processes"
}

// say prints a line with the seconds since the demo began.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "%7.1fs %s\n", time.Since(d.begin).Seconds(), fmt.Sprintf(format, args...))
}

// lines returns a writer whose lines appear below the running step.
func (d *demo) lines() io.Writer { return progress.Indent(d.out, "         | ") }

func installPackages(ctx context.Context, d *demo) (string, error) {
	packages := append(cluster.HostPackages(), machine.Packages()...)
	return fmt.Sprintf("%d Debian packages are installed", len(packages)), host.EnsurePackages(ctx, d.lines(), packages...)
}

func compile(ctx context.Context, d *demo) (string, error) {
	programs, err := build.Programs(ctx, progress.New(d.lines()), d.programs()...)
	return fmt.Sprintf("%d programs from Go modules", len(programs)), err
}

func bringUp(ctx context.Context, d *demo) (_ string, err error) {
	d.cluster, err = cluster.Up(ctx, cluster.Options{Name: d.name, Log: d.lines()})
	if err != nil {
		return "", err
	}
	d.state, err = e2e.NewHosted(d.cluster, d.hosted)
	return "the management cluster's node is Ready", err
}

func installHyperShift(ctx context.Context, d *demo) (_ string, err error) {
	d.hypershift, err = hypershift.Install(ctx, d.cluster, hypershift.Options{Log: d.lines()})
	return "its operator is the leader", err
}

func installOperator(ctx context.Context, d *demo) (string, error) {
	return d.installer.install(ctx, d)
}

// create creates the hosted cluster with HyperShift's own command line, with the annotation of oooi.
func create(ctx context.Context, d *demo) (string, error) {
	if _, err := d.state.Condition(ctx); err == nil {
		if err := worker.Down(ctx, d.cluster, d.state.Namespace()); err != nil {
			return "", err
		}
		d.annotated = time.Now()
		if err := d.state.Annotate(ctx, "auto"); err != nil {
			return "", err
		}
		return "HostedCluster " + d.hosted + " exists; its workers are booted again", nil
	}
	d.annotated = time.Now()
	err := d.hypershift.Create(ctx, hypershift.HostedClusterOptions{
		Name: d.hosted, Strategy: d.strategy, BaseDomain: "example.com", VLAN: d.vlan(), MachineCIDR: workersCIDR, Replicas: 1,
		Annotations: map[string]string{e2e.Annotation: "auto"},
	})
	return fmt.Sprintf("hypershift create cluster kubevirt --name %s ... --annotations %s=auto", d.hosted, e2e.Annotation), err
}

// goal is how long an edge may take to serve, after the annotation and after HyperShift has published the API server.
const goal = 10 * time.Second

// serve waits until the edge serves, and until HyperShift has published the API server. It measures both times from the
// creation of the annotated HostedCluster.
func serve(ctx context.Context, d *demo) (string, error) {
	var target string
	var published, served time.Duration
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		host, port, err := d.hypershift.WaitEndpoint(ctx, d.hosted)
		target, published = fmt.Sprintf("%s:%d", host, port), time.Since(d.annotated)
		return err
	})
	both.Go(func() error {
		err := d.state.WaitEdges(ctx)
		served = time.Since(d.annotated)
		return err
	})
	if err := both.Wait(); err != nil {
		return "", err
	}
	told := fmt.Sprintf("An edge serves %.1fs after the annotation (goal: %.0fs)", served.Seconds(), goal.Seconds())
	if served > published { // Also show the operator's time without HyperShift's.
		told = fmt.Sprintf("An edge serves %.1fs after the annotation, and %.1fs after HyperShift published the API server (goal: %.0fs)",
			served.Seconds(), (served - published).Seconds(), goal.Seconds())
	}
	return told + ". The API server is at " + target, nil
}

// startControlPlane applies what the release's installer would, and waits until HyperShift reports that the cluster is available.
func startControlPlane(ctx context.Context, d *demo) (string, error) {
	if err := d.hypershift.BootstrapGuest(ctx, d.hosted); err != nil {
		return "", err
	}
	if err := d.hypershift.WaitAvailable(ctx, d.hosted); err != nil {
		return "", err
	}
	return "HostedCluster " + d.hosted + " is Available, and its NetworkReady is True", d.state.WaitReady(ctx)
}

func bootWorker(ctx context.Context, d *demo) (string, error) {
	log := progress.New(d.lines())
	o, err := worker.New(ctx, d.cluster, d.hypershift, d.hosted, func(e worker.Event) {
		log.Say("%-12s %5.2fs  %s", e.Step, e.Took.Seconds(), e.Detail)
	})
	if err != nil {
		return "", err
	}
	o.Waiting = log.Status
	d.workers, err = worker.BootAll(ctx, o, d.state.Namespace(), 1)
	if err != nil {
		log.Say("no worker joined")
		return "", err
	}
	return fmt.Sprintf("node %s is Ready %.1fs after power-on", d.workers[0].VM.Name, d.workers[0].Ready.Seconds()), nil
}

// showPods returns a function that prints the state of the pods in namespace, for a step that fails.
func showPods(namespace string) func(context.Context, *demo) {
	return func(ctx context.Context, d *demo) {
		d.show(ctx, "-n", namespace, "get", "pods", "-o", "wide")
		d.show(ctx, "-n", namespace, "get", "events", "--field-selector", "type=Warning", "--sort-by=.lastTimestamp")
		d.show(ctx, "-n", namespace, "logs", "--all-containers", "--prefix", "--tail=20", "-l", "app.kubernetes.io/part-of=oooi")
	}
}

func showHosted(ctx context.Context, d *demo) {
	d.show(ctx, "-n", hypershift.Namespace, "get", "hostedcluster,nodepool")
	d.show(ctx, "-n", d.state.Namespace(), "get", "pods", "--field-selector", "status.phase!=Running")
	showPods("hypershift")(ctx, d)
}

func showEdge(ctx context.Context, d *demo) {
	if c, err := d.state.Condition(ctx); err == nil {
		fmt.Fprintf(d.lines(), "condition %s is %s %s: %s\n", e2e.Condition, c.Status, c.Reason, c.Message)
	}
	showPods(d.state.Namespace())(ctx, d)
	showPods(e2e.Namespace)(ctx, d)
	machines, err := worker.Running(d.cluster, d.state.Namespace())
	if err != nil {
		return
	}
	for _, m := range machines {
		for _, service := range []string{"udhcpc", "haproxy", "kubelet"} {
			fmt.Fprintf(d.lines(), "%s, %s:\n%s\n", m.Name, service, process.LogTail(m.Dir, service, 15))
		}
	}
}

// show prints the output of kubectl.
func (d *demo) show(ctx context.Context, args ...string) {
	if d.cluster == nil {
		return
	}
	out, err := d.cluster.Kubectl(ctx, args...)
	fmt.Fprintf(d.lines(), "kubectl %s\n%s", strings.Join(args, " "), out)
	if err != nil {
		fmt.Fprintln(d.lines(), err)
	}
}

// command returns the shell command with which a user calls the testbed of this checkout.
func (d *demo) command(verb string) string {
	prefix := ""
	if dir := os.Getenv("OOOI_TESTBED_DIR"); dir != "" {
		prefix = "OOOI_TESTBED_DIR=" + dir + " "
	}
	return prefix + "go -C test/testbed run ./cmd/testbed --name " + d.name + " " + verb
}
