package hcp_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network/problem"
)

// ofType gives the last Service of o a type, as a user does who mistakes it.
func ofType(o *hcp.Objects, kind corev1.ServiceType) *corev1.Service {
	svc := &o.Services[len(o.Services)-1]
	svc.Spec.Type = kind
	return svc
}

// TestAppsService: a user gets the Service that is missing, with the node ports that are known.
func TestAppsService(t *testing.T) {
	for name, c := range map[string]struct {
		given       func(*hcp.Objects)
		https, http string // Empty: no Service is needed.
	}{
		"a base domain":     {func(*hcp.Objects) {}, "$HTTPS_NODE_PORT", "$HTTP_NODE_PORT"},
		"other DNS servers": {func(o *hcp.Objects) { annotate(o, "gateway", "192.168.100.1") }, "$HTTPS_NODE_PORT", "$HTTP_NODE_PORT"},
		"the Service is not published": {func(o *hcp.Objects) {
			withDocumented(o)
			ofType(o, corev1.ServiceTypeClusterIP)
		}, "32443", "32080"},
		"the Service has no target ports": {func(o *hcp.Objects) {
			withDocumented(o)
			svc := ofType(o, corev1.ServiceTypeClusterIP)
			svc.Spec.Ports[0].TargetPort, svc.Spec.Ports[1].TargetPort = intstr.FromInt32(443), intstr.FromInt32(80)
		}, "$HTTPS_NODE_PORT", "$HTTP_NODE_PORT"},
		"the Service exists":                     {withDocumented, "", ""},
		"no base domain":                         {func(o *hcp.Objects) { passthrough(o, true) }, "", ""},
		"no base domain, not published":          {func(o *hcp.Objects) { passthrough(o, false) }, "", ""},
		"no base domain, not created":            {func(o *hcp.Objects) { passthrough(o, false); o.HostedCluster.Spec.DNS.BaseDomain = "" }, "", ""},
		"the cloud provider copies the ingress":  {func(o *hcp.Objects) { withRouter(o, "") }, "", ""},
		"the copy does not exist":                {ofLoadBalancer, "$HTTPS_NODE_PORT", "$HTTP_NODE_PORT"},
		"an ingress on the nodes":                {func(o *hcp.Objects) { hostNetwork(o, 0) }, "", ""},
		"an address of the user":                 {func(o *hcp.Objects) { annotate(o, "apps-address", "192.168.100.6") }, "", ""},
		"a name that Kubernetes does not accept": {func(o *hcp.Objects) { o.HostedCluster.Name = "blue$(reboot)" }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			c.given(&o)
			_, problems := plan(o)
			s := hcp.AppsService(o, problems)
			g.Expect(s != nil).To(Equal(c.https != ""), "%v", problems)
			if s == nil {
				return
			}
			text, err := yaml.Marshal(s)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(MatchYAML(`{apiVersion: v1, kind: Service, metadata: {name: blue-apps, namespace: clusters-blue}, spec: {type: LoadBalancer, ports: [
				{name: https, port: 443, targetPort: ` + c.https + `}, {name: http, port: 80, targetPort: ` + c.http + `}]}}`))
			if unknown := s.Spec.Ports[0].TargetPort; unknown.Type == intstr.String {
				g.Expect(validation.IsValidPortName(unknown.StrVal)).NotTo(BeEmpty(), "the API server refuses a port that is not filled in")
			}
			for _, p := range problems {
				if p.Args["name"].String() == "*.apps.blue.example.com" {
					g.Expect(message(p)).To(ContainSubstring("reate Service clusters-blue/blue-apps, which oooi plan prints"))
				}
			}

			var created corev1.Service
			filled := strings.NewReplacer("$HTTPS_NODE_PORT", "32443", "$HTTP_NODE_PORT", "32080").Replace(string(text))
			g.Expect(yaml.UnmarshalStrict([]byte(filled), &created)).To(Succeed())
			o.Services = append([]corev1.Service{created}, o.Services...)
			p, problems := plan(o)
			g.Expect(problems.Has(problem.AppsUnreachable)).To(BeFalse())
			g.Expect(p.Networks[0].Backends).To(ContainElements(HaveField("Name", "vms:32443"), HaveField("Name", "vms:32080")))
		})
	}
}
