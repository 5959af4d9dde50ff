package check

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
)

// triedAddress is that of the pod.
var triedAddress = netip.MustParseAddr("192.168.100.200")

// eachPodChange calls do after each change of a pod of blue's control plane, and first for the pods that exist, until ctx ends.
func eachPodChange(ctx context.Context, t *testing.T, server *apiserver.Server, do func()) {
	t.Helper()
	g := NewWithT(t)
	watcher, err := client.NewWithWatch(server.Env.Config, client.Options{Scheme: server.Admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	changes, err := watcher.Watch(ctx, &corev1.PodList{}, client.InNamespace("clusters-blue"))
	g.Expect(err).NotTo(HaveOccurred())
	go func() {
		for range changes.ResultChan() {
			do()
		}
	}()
}

// A playedKubelet gives each pod of Try a state each time it is called. It runs no container.
type playedKubelet struct {
	admin  client.Client
	status corev1.PodStatus
	log    string
}

func (k playedKubelet) update(ctx context.Context) {
	eachTry(ctx, k.admin, func(p *corev1.Pod) { p.Status = k.status })
}

// eachTry sets the status of each pod of Try, which may be deleted meanwhile.
func eachTry(ctx context.Context, admin client.Client, set func(*corev1.Pod)) {
	var pods corev1.PodList
	untilDone(ctx, func() error { return admin.List(ctx, &pods, client.MatchingLabels{wire.LabelName: wire.NameTry}) })
	for _, p := range pods.Items {
		untilDone(ctx, func() error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(&p), &p); err != nil {
				return client.IgnoreNotFound(err)
			}
			set(&p)
			return client.IgnoreNotFound(admin.Status().Update(ctx, &p))
		})
	}
}

// untilDone repeats a call until it returns no error or ctx ends, as a kubelet does.
func untilDone(ctx context.Context, call func() error) {
	for call() != nil && ctx.Err() == nil {
		<-time.After(50 * time.Millisecond)
	}
}

func (k playedKubelet) logs(context.Context, client.ObjectKey, string, bool) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(k.log)), nil
}

// edgesServe gives each edge a container failover, and lets it serve.
func edgesServe(t *testing.T, admin client.Client) {
	t.Helper()
	g := NewWithT(t)
	var edges appsv1.DeploymentList
	g.Expect(admin.List(t.Context(), &edges, client.MatchingLabels(wire.NamedLabels(wire.NameEdge)))).To(Succeed())
	for _, d := range edges.Items {
		d.Spec.Template.Spec.Containers[0].Name = wire.Failover
		g.Expect(admin.Update(t.Context(), &d)).To(Succeed())
		apiserver.Serve(&d)
		g.Expect(admin.Status().Update(t.Context(), &d)).To(Succeed())
	}
}

// checkFromNetwork: the results of the pod are lines, whatever ends it is told, and it never stays.
func checkFromNetwork(t *testing.T, server *apiserver.Server) {
	admin := server.Admin
	blue.Create(t, admin)
	g := NewWithT(t)
	edgesServe(t, admin)
	failed := corev1.ContainerStatus{Name: wire.Try, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "unknown command \"try\""}}}
	for name, c := range map[string]struct {
		kubelet playedKubelet
		want    []string
	}{
		"results": {playedKubelet{status: corev1.PodStatus{Phase: corev1.PodSucceeded}, log: `[{"name":"DHCP"},{"name":"time of 192.168.100.3","problems":[{"reason":"ClockUnsynchronized","cause":"TimeUnsynchronized","severity":"Warning"}]},{"name":"x","problems":[{"reason":"NetworkTestFailed","cause":"ConnectionFailed","severity":"Error","args":{"error":"\u001b[2Jy"}}]}]`},
			[]string{"\nFrom network clusters-blue/vlan100, as a VM with address 192.168.100.", "\n  ok       image of edges\n  ok       DHCP\n  warning  time of 192.168.100.3: The server answers that its own clock is not synchronized. ",
				"#clockunsynchronized\n  failure  x: The connection fails (\ufffd[2Jy). Look at the edges in oooi status. See " + command.ProblemsPage + "#networktestfailed\n"}},
		"an older image": {playedKubelet{status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{failed}}},
			[]string{"  unknown  pod that acts as a VM: Pod clusters-blue/oooi-try-", " within 3m0s: exit code 1, unknown command \"try\". See "}},
		"an image that the node cannot pull": {playedKubelet{status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: wire.Try,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImageNeverPull", Message: "not present"}}}}}},
			[]string{"  warning  image of edges: The kubelet cannot pull ", ": ErrImageNeverPull not present. An edge that moves there does not start. ", "  unknown  pod that acts as a VM: The test pod is not started, "}},
		"no results": {playedKubelet{status: corev1.PodStatus{Phase: corev1.PodSucceeded}, log: "hello"}, []string{"  unknown  pod that acts as a VM: The pod printed no results: \"hello\". See "}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.kubelet.admin = admin
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			eachPodChange(ctx, t, server, func() { c.kubelet.update(ctx) })
			all, err := checksOf(t.Context(), admin, blue.Key, network.Permissions{}, nil, &trier{api: admin, logs: c.kubelet.logs, address: triedAddress})
			g.Expect(err).NotTo(HaveOccurred())
			for _, want := range c.want {
				g.Expect(lines(t, all)).To(ContainSubstring(want))
			}
			expectNoPod(t, admin)
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		eachPodChange(t.Context(), t, server, cancel)
		_, err := checksOf(ctx, admin, blue.Key, network.Permissions{}, nil, &trier{api: admin, address: triedAddress})
		g.Expect(errors.Is(err, command.ErrInterrupted)).To(BeTrue(), "%v", err)
		expectNoPod(t, admin)
	})
	t.Run("no right", func(t *testing.T) {
		reader := apiserver.Impersonating(server.Env.Config, "default", "nothing")
		c, err := client.New(reader, client.Options{Scheme: admin.Scheme()})
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = trier{api: c}.network(t.Context(), "clusters-blue", triedNetwork(), triedNetwork().DHCP.Range.Last)
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	})
	made, err := newTrier(server.Env.Config, admin, blue.Key, "", "", true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.evicts).To(Equal(evictionTimes{after: failoverAfter, until: failoverUntil}))
	_, err = newTrier(server.Env.Config, admin, client.ObjectKey{}, "", "", false)
	g.Expect(err).To(MatchError("--from-network and --failover: name the HostedCluster"))
}

func expectNoPod(t *testing.T, admin client.Client) {
	t.Helper()
	var pods corev1.PodList
	g := NewWithT(t)
	g.Expect(admin.List(context.WithoutCancel(t.Context()), &pods, client.MatchingLabels{wire.LabelName: wire.NameTry})).To(Succeed())
	g.Expect(pods.Items).To(BeEmpty())
}
