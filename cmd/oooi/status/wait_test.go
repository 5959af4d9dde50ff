package status

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
)

// A faulty is an API server that fails to read some objects.
type faulty struct {
	client.Reader
	fault func(o any, namespace string) error
}

func (f faulty) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := f.fault(o, key.Namespace); err != nil {
		return err
	}
	return f.Reader.Get(ctx, key, o, opts...)
}

func (f faulty) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	if err := f.fault(l, o.ApplyOptions(opts).Namespace); err != nil {
		return err
	}
	return f.Reader.List(ctx, l, opts...)
}

// plansDiffer: a Report of before a NodePool named another network, or with no plan for edges, is not believed.
func plansDiffer(t *testing.T, admin client.Client) {
	g := NewWithT(t)
	read := func() Output {
		all, err := Request{Name: blue.Key}.read(t.Context(), admin)
		g.Expect(err).NotTo(HaveOccurred())
		return all[0]
	}
	blue.Tell(t, admin, blue.Settings(t, admin))
	g.Expect(read().Boot.Answer).To(Equal(explain.Yes))

	pool := &hyperv1.NodePool{}
	g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(blue.FirstOf(t, "NodePool")), pool)).To(Succeed())
	more := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: pool.Namespace, Name: "more"}, Spec: *pool.Spec.DeepCopy()}
	more.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/new"}}
	g.Expect(admin.Create(t.Context(), more)).To(Succeed())
	r := read()
	g.Expect(r.Boot.Answer).To(Equal(explain.Unknown))
	g.Expect(r.Boot.Why).To(ContainSubstring("previous NodePools"), "neither the generation nor an annotation has changed")
	g.Expect(admin.Delete(t.Context(), more)).To(Succeed())

	stored := &corev1.ConfigMap{}
	g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: "clusters-blue", Name: wire.PlanConfigMap}, stored)).To(Succeed())
	g.Expect(admin.Delete(t.Context(), stored)).To(Succeed())
	r = read()
	g.Expect(r.Boot.Answer).To(Equal(explain.Unknown))
	g.Expect(r.Boot.Why).To(ContainSubstring("no plan for edges is found"))
	g.Expect(r.Unread).To(Equal([]string{"ConfigMap clusters-blue/" + wire.PlanConfigMap + " with the plan of the edges does not exist."}))
	stored.ResourceVersion, stored.UID = "", ""
	g.Expect(admin.Create(t.Context(), stored)).To(Succeed())
	g.Expect(read().Boot.Answer).To(Equal(explain.Yes))
}

// waitIsInterrupted: a wait that a signal ends says so, and one with invalid credentials ends immediately.
func waitIsInterrupted(t *testing.T, admin client.Client) {
	blue.Tell(t, admin, "00000000")
	waiting := Request{Name: blue.Key, wait: true, timeout: time.Hour}
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(t.Context())
	ticks, done := make(chan time.Time), make(chan error)
	go func() {
		_, err := waiting.follow(ctx, admin, ticks)
		done <- err
	}()
	ticks <- time.Now()
	interrupt()
	g.Eventually(done, time.Minute).Should(Receive(MatchError("interrupted")))

	unknown := faulty{admin, func(any, string) error { return apierrors.NewUnauthorized("no such token") }}
	_, err := waiting.follow(t.Context(), unknown, nil)
	g.Expect(err).To(MatchError(ContainSubstring("no such token")))
}

// waitGivesUp: after as long as the user permits. A wait whose reads fail says why, and of when its report is. The clock is played, so
// the cluster is read from files.
func waitGivesUp(t *testing.T, admin client.Client) {
	blue.Tell(t, admin, "00000000")
	dir, _ := gatherBlue(t, admin)
	files := archiveOf(t, dir)
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		waiting := Request{Name: blue.Key, wait: true, timeout: time.Minute}
		begin := time.Now()
		last, err := waiting.follow(t.Context(), files, time.NewTicker(time.Second).C)
		g.Expect(err).To(Equal(command.Exit(command.ExitUnknown, errTimeout(time.Minute, time.Time{}, nil))))
		g.Expect(last).To(HaveLen(1))
		g.Expect(time.Since(begin)).To(Equal(time.Minute))

		reads := 0
		broken := faulty{files, func(o any, _ string) error {
			if kind, ok := o.(interface{ GetKind() string }); ok && kind.GetKind() == "HostedCluster" {
				if reads++; reads > 1 {
					return errors.New("the server is on fire")
				}
			}
			return nil
		}}
		readAt := time.Now().UTC().Format(time.RFC3339)
		last, err = waiting.follow(t.Context(), broken, time.NewTicker(time.Second).C)
		g.Expect(last).To(HaveLen(1))
		g.Expect(err).To(MatchError(And(ContainSubstring("after 1m0s; the report was read at "+readAt), ContainSubstring("on fire"))))
		var code command.ExitError
		g.Expect(errors.As(err, &code)).To(BeTrue())
		g.Expect(code.Code).To(Equal(command.ExitUnknown))
		g.Expect(reads).To(BeNumerically(">=", 60), "it is read at each tick")
	})
}

// oneUnread: a hosted cluster that cannot be read does not hide the others.
func oneUnread(t *testing.T, admin client.Client) {
	g := NewWithT(t)
	green := apiserver.Sample(t, "green")
	for _, u := range green {
		if u.GetKind() == "HostedCluster" {
			g.Expect(admin.Create(t.Context(), u)).To(Succeed())
			t.Cleanup(func() { g.Expect(admin.Delete(context.WithoutCancel(t.Context()), u)).To(Succeed()) })
		}
	}
	broken := faulty{admin, func(o any, namespace string) error {
		if _, ok := o.(*coordinationv1.LeaseList); ok && namespace == "clusters-blue" {
			return errors.New("etcd is slow")
		}
		return nil
	}}
	all, err := Request{}.follow(t.Context(), broken, nil)
	g.Expect(all).To(HaveLen(1))
	g.Expect(all[0].Cluster).To(Equal("clusters/green"))
	g.Expect(err).To(MatchError(And(ContainSubstring("HostedCluster clusters/blue cannot be shown: "), ContainSubstring("etcd is slow"))))
	var code command.ExitError
	g.Expect(errors.As(err, &code)).To(BeFalse(), "exit code 1")
}

// rightsSuffice: with the rights that docs/troubleshooting.md lists, everything is read.
func rightsSuffice(t *testing.T, server *apiserver.Server) {
	g := NewWithT(t)
	admin := server.Admin
	rule := func(group, resource, verb string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
	}
	for namespace, rules := range map[string][]rbacv1.PolicyRule{
		"clusters": {rule("", "events", "list"), rule(hyperv1.GroupVersion.Group, "hostedclusters", "get"), rule(hyperv1.GroupVersion.Group, "nodepools", "list"),
			rule(hcp.NADKind().Group, "network-attachment-definitions", "get")},
		"clusters-blue": {rule("", "events", "list"), rule("", "configmaps", "get"), rule("", "services", "list"), rule("route.openshift.io", "routes", "list"), rule("apps", "deployments", "list"), rule("", "pods", "list"),
			rule("coordination.k8s.io", "leases", "list"), rule("discovery.k8s.io", "endpointslices", "list"),
			rule(hcp.NADKind().Group, "network-attachment-definitions", "get")},
	} {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "waiter"}
		g.Expect(admin.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules})).To(Succeed())
		g.Expect(admin.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "waiter"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "waiter"}}})).To(Succeed())
	}
	blue.Tell(t, admin, blue.Settings(t, admin))
	waiter, err := client.New(apiserver.Impersonating(server.Env.Config, "default", "waiter"), client.Options{Scheme: admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	var all []Output
	g.Eventually(func() []string {
		var err error
		all, err = Request{Name: blue.Key}.read(t.Context(), waiter)
		if err != nil {
			return []string{err.Error()}
		}
		return all[0].Unread
	}, time.Minute).Should(BeEmpty(), "the authorizer knows the new rights")
	g.Expect(all[0].Boot.Answer).To(Equal(explain.Yes))
	_, err = Request{Name: blue.Key, wait: true, timeout: time.Hour}.follow(t.Context(), waiter, nil)
	g.Expect(err).NotTo(HaveOccurred())
}
