package hcp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func withService(o *hcp.Objects, name, publish string, spec corev1.ServiceSpec) {
	o.Services = append(o.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{settings.Prefix + "publish": publish}}, Spec: spec})
}

// TestPublishedServices checks the endpoints of a Service with the annotation publish.
func TestPublishedServices(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	withService(&o, "git", "git.example.com:443, git.example.com:22", corev1.ServiceSpec{ClusterIP: "10.96.3.4", Ports: []corev1.ServicePort{
		{Name: "dns", Port: 443, Protocol: corev1.ProtocolUDP}, {Name: "web", Port: 8080}, {Name: "ssh", Port: 22},
	}})
	web := endpoint(t, o, "git/git.example.com:443")
	g.Expect(web.Match).To(Equal(network.MatchServerName))
	g.Expect(web.Backend.Name).To(Equal("git:8080"), "the first TCP port, as none has that number")
	ssh := endpoint(t, o, "git/git.example.com:22")
	g.Expect(ssh.Match).To(Equal(network.MatchAny), "clients might not use TLS")
	g.Expect(ssh.Backend.PortName).To(Equal("ssh"))

	p, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(p.Networks[0].DNS.Views[0].Records).To(ContainElement(HaveField("Name", "git.example.com")))
}

// TestUnsupportedPublish checks that such a Service is left out with a warning, and
// that the other endpoints are served.
func TestUnsupportedPublish(t *testing.T) {
	port := corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}
	for name, c := range map[string]struct {
		at     string
		spec   corev1.ServiceSpec
		reason problem.Reason
		field  string
	}{
		"no port":                {"x.example.com:443", corev1.ServiceSpec{ClusterIP: "None"}, problem.PublishingUnsupported, "a"},
		"no TCP port":            {"x.example.com:443", corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}}}, problem.PublishingUnsupported, "a"},
		"an external name":       {"x.example.com:443", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, Ports: port.Ports}, problem.PublishingUnsupported, "a"},
		"the name of a Route":    {"oauth-clusters-blue.apps.mgmt.example.com:443", port, problem.AddressConflict, "a"},
		"the second at one port": {"x.example.com:2222", port, problem.AddressConflict, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			before, _ := plan(o)
			withService(&o, "b", "y.example.com:2222", port)
			withService(&o, "a", c.at, c.spec)
			p, problems := plan(o)
			g.Expect(problems).To(ContainElement(And(HaveField("Reason", c.reason), HaveField("Subject.Name", c.field), HaveField("Keys", ContainElement("publish")), HaveField("Blocks()", false))))
			for _, l := range before.Networks[0].Listeners {
				g.Expect(p.Networks[0].Listeners).To(ContainElement(l), "endpoints of HyperShift have precedence")
			}
		})
	}
}

// TestInvalidPublishKeepsEndpoints checks that the last known good endpoints of a Service
// are served while its annotation is invalid.
func TestInvalidPublishKeepsEndpoints(t *testing.T) {
	g := NewWithT(t)
	port := corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}
	o, bad := served(t), served(t)
	withService(&o, "git", "git.example.com:8080", port)
	withService(&bad, "git", "git.example.com", port)
	last, _ := plan(o)

	in, problems := translated(bad)
	g.Expect(problems).To(ContainElement(And(HaveField("Reason", problem.AnnotationInvalid), HaveField("Blocks()", false))))
	now, _ := after(in, last)
	g.Expect(now).To(Equal(last))
}

// TestPublishInClusterNames checks that in-cluster names are refused, because clients of
// the API server send them.
func TestPublishInClusterNames(t *testing.T) {
	for _, name := range []string{"kubernetes.default", "kubernetes.default.svc", "a.b.svc", "kubernetes.default.svc.cluster.local", "svc.cluster.local", "openshift.default"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			withService(&o, "a", name+":443", corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}})
			in, problems := translated(o)
			g.Expect(problems).To(ContainElement(And(HaveField("Reason", problem.AnnotationInvalid), WithTransform(message, ContainSubstring("Clients of the hosted API server")))))
			g.Expect(in.Endpoints).NotTo(ContainElement(HaveField("Origin", network.OriginService)))
		})
	}
}

// TestPublishOfTheIngress checks that HyperShift's Service for the ingress is refused.
func TestPublishOfTheIngress(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	withService(&o, "default-ingress-passthrough-service-abc", "x.example.com:443", corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}})
	in, problems := translated(o)
	g.Expect(problems).To(ContainElement(And(WithTransform(message, ContainSubstring("served as *.apps")), HaveField("Blocks()", false))))
	g.Expect(in.Endpoints).NotTo(ContainElement(HaveField("Origin", network.OriginService)))
}

// TestPublishLimit checks the limits for a Service and for a cluster. A new Service does
// not take the endpoints of an older one.
func TestPublishLimit(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	spec := corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}
	many := func(n int, of string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("h%d.%s.example.com:443", i, of))
		}
		return strings.Join(all, ",")
	}
	for i, name := range []string{"e", "d", "c", "b", "a"} {
		withService(&o, name, many(60, name), spec)
		o.Services[len(o.Services)-1].CreationTimestamp = metav1.Time{Time: time.Unix(int64(i), 0)}
	}
	withService(&o, "too-many", many(65, "x"), spec)
	of := map[string]int{}
	in, problems := translated(o)
	for _, e := range in.Endpoints {
		if e.Origin == network.OriginService {
			of[e.Backend.Service]++
		}
	}
	g.Expect(of).To(Equal(map[string]int{"e": 60, "d": 60, "c": 60, "b": 60, "a": 16}))
	g.Expect(problems).To(ContainElement(And(HaveField("Subject.Name", "a"), HaveField("Blocks()", false))))
	g.Expect(problems).To(ContainElement(And(HaveField("Subject.Name", "too-many"), WithTransform(message, ContainSubstring("Set at most 64")), HaveField("Blocks()", false))))
}

// TestHostedServicesAreNotPublished: a user of the hosted cluster creates a Service of type
// LoadBalancer with the annotation publish, which the cloud provider copies with its
// annotations. Nodes connect where they did before.
func TestHostedServicesAreNotPublished(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	before, _ := plan(o)
	withService(&o, "a0b1c2", "quay.io:443, console.apps.blue.example.com:443", corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.3.4", Ports: []corev1.ServicePort{{Port: 443}}})
	o.Services[len(o.Services)-1].Labels = map[string]string{
		"cluster.x-k8s.io/tenant-service-name": "trap", "cluster.x-k8s.io/tenant-service-namespace": "dev", "cluster.x-k8s.io/cluster-name": "blue"}

	after, problems := plan(o)
	g.Expect(after).To(Equal(before))
	g.Expect(problems).To(ContainElement(And(HaveField("Subject.Name", "a0b1c2"), HaveField("Severity", problem.SeverityWarning),
		WithTransform(message, ContainSubstring("dev/trap")))))
	delete(o.Services[len(o.Services)-1].Annotations, settings.Prefix+"publish")
	_, problems = plan(o)
	g.Expect(problems).NotTo(ContainElement(HaveField("Subject.Name", "a0b1c2")), "load balancers of the hosted cluster are no problem")
}
