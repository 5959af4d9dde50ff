// What the CLI is asked, and what of its render is changed, for each way to publish a hosted cluster; what the world answers.
package hypershift

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const render = `apiVersion: v1
kind: Namespace
metadata:
  name: clusters
  creationTimestamp: null
---
apiVersion: v1
kind: Secret
metadata:
  name: blue-pull-secret
  namespace: clusters
---
apiVersion: hypershift.openshift.io/v1beta1
kind: HostedCluster
metadata:
  name: blue
  namespace: clusters
spec:
  infraID: blue-x1
  services:
  - service: APIServer
    servicePublishingStrategy: {type: LoadBalancer}
status:
  conditions: null
---
`

func TestRewriteReplacesServicesAndLabelsSecrets(t *testing.T) {
	g := NewWithT(t)
	out, err := rewrite([]byte(render), LoadBalancerName.services("blue.example.com"))
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := parse(out)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(3))
	secret, hc := objects[1], objects[2]
	g.Expect(secret.GetLabels()).To(HaveKeyWithValue("hypershift.openshift.io/auto-created-for-infra", "blue-x1"))
	g.Expect(hc.Object).NotTo(HaveKey("status"))
	services, _, err := unstructured.NestedSlice(hc.Object, "spec", "services")
	g.Expect(err).NotTo(HaveOccurred())
	var want []any
	g.Expect(yaml.Unmarshal([]byte(`
- {service: APIServer, servicePublishingStrategy: {type: LoadBalancer, loadBalancer: {hostname: api.blue.example.com}}}
- {service: OAuthServer, servicePublishingStrategy: {type: Route, route: {hostname: oauth.blue.example.com}}}
- {service: Konnectivity, servicePublishingStrategy: {type: Route, route: {hostname: konnectivity.blue.example.com}}}
- {service: Ignition, servicePublishingStrategy: {type: Route, route: {hostname: ignition.blue.example.com}}}
`), &want)).To(Succeed())
	if d := cmp.Diff(want, services); d != "" {
		t.Errorf("services (-want +got):\n%s", d)
	}
}

func TestRewriteKeepsWhatTheCLICanSay(t *testing.T) {
	g := NewWithT(t)
	out, err := rewrite([]byte(render), LoadBalancerIP.services("blue.example.com"))
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := parse(out)
	g.Expect(err).NotTo(HaveOccurred())
	services, _, _ := unstructured.NestedSlice(objects[2].Object, "spec", "services")
	g.Expect(services).To(HaveLen(1))

	_, err = rewrite([]byte("kind: Secret\n"), nil)
	g.Expect(err).To(MatchError(ContainSubstring("no HostedCluster")))
}

func TestCreateArguments(t *testing.T) {
	g := NewWithT(t)
	o := HostedClusterOptions{
		Name: "blue", VLAN: 100, Networks: []string{"clusters/extra"}, Replicas: 2, MachineCIDR: netip.MustParsePrefix("192.168.100.0/24"),
		Annotations: map[string]string{"b": "2", "a": "1"}, Flags: []string{"--fips"},
	}
	for _, s := range Strategies() {
		g.Expect(s.Validate()).To(Succeed())
		o.Strategy = s
		args := createArgs(o)
		g.Expect(slices.Contains(args, "--render")).To(Equal(s == LoadBalancerName || s == Route), string(s))
		g.Expect(slices.Contains(args, "NodePort")).To(Equal(s == NodePort), string(s))
		g.Expect(flagValues(args, "--additional-network")).To(Equal([]string{"name:clusters-blue/vlan100", "name:clusters/extra"}))
		g.Expect(flagValues(args, "--annotations")).To(Equal([]string{"a=1", "b=2"}))
		g.Expect(args).To(ContainElement("--attach-default-network=false"))
		g.Expect(args[len(args)-1]).To(Equal("--fips"), "the caller's flags come last and win")
	}
	g.Expect(createArgs(HostedClusterOptions{Name: "pods"})).NotTo(ContainElement(HavePrefix("--attach-default-network")), "the CLI refuses no network at all")
	g.Expect(Strategy("loadbalancer").Validate()).To(MatchError(ContainSubstring("lb-ip lb-name nodeport route")))
}

func flagValues(args []string, flag string) (out []string) {
	for i, a := range args {
		if a == flag {
			out = append(out, args[i+1])
		}
	}
	return out
}

func TestWorldsAddresses(t *testing.T) {
	g := NewWithT(t)
	a, err := firstFree([]string{"10.240.0.200", "10.240.0.202", "10.96.0.1"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a).To(Equal("10.240.0.201"))
	var all []string
	for a := netip.MustParseAddr(firstLoadBalancer); a.String() != "10.240.0.250"; a = a.Next() {
		all = append(all, a.String())
	}
	_, err = firstFree(all)
	g.Expect(err).To(HaveOccurred())

	const uid = "ad6c3add-f863-456e-b5a2-b35aec3056d6"
	g.Expect(macOf(uid, 0)).To(Equal("02:ad:6c:3a:dd:00"))
	vlan := netip.MustParsePrefix("192.168.100.0/24")
	g.Expect(vlan.Contains(addressOf(uid, vlan))).To(BeTrue())
	g.Expect(ControlPlaneNamespace("a.b")).To(Equal("clusters-a-b"))
}
