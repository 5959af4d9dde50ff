package hcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A change is what a cluster has besides that of reaching.
type change func(*hcp.Objects)

// reaching returns a cluster on an isolated network. Its API has a host name, its ingress is on the VMs, and its images are on quay.io.
func reaching(t *testing.T, changes ...change) hcp.Objects {
	t.Helper()
	o := pulling(t, "quay.io/openshift-release-dev/ocp-release:4.20")
	o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{}
	o.HostedCluster.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.blue.example.com", Port: 6443}
	o.Services = append(o.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "blue-apps"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
		Ports: []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromInt32(31443)}, {Name: "http", Port: 80, TargetPort: intstr.FromInt32(31080)}}}})
	for _, c := range changes {
		c(&o)
	}
	return o
}

// loginWith returns a change: users log in with p.
func loginWith(p configv1.IdentityProviderConfig) change {
	return func(o *hcp.Objects) {
		o.HostedCluster.Spec.Configuration.OAuth = &configv1.OAuthSpec{IdentityProviders: []configv1.IdentityProvider{{Name: "corp", IdentityProviderConfig: p}}}
	}
}

func openID(issuer string) change {
	return loginWith(configv1.IdentityProviderConfig{OpenID: &configv1.OpenIDIdentityProvider{Issuer: issuer}})
}

func ldap(url string) change {
	return loginWith(configv1.IdentityProviderConfig{LDAP: &configv1.LDAPIdentityProvider{URL: url}})
}

// oidc returns a change: issuer replaces the OAuth server.
func oidc(issuer string) change {
	return func(o *hcp.Objects) {
		o.HostedCluster.Spec.Configuration.Authentication = &configv1.AuthenticationSpec{Type: configv1.AuthenticationTypeOIDC,
			OIDCProviders: []configv1.OIDCProvider{{Name: "corp", Issuer: configv1.TokenIssuer{URL: issuer}}}}
	}
}

func withoutConsole(o *hcp.Objects) {
	o.HostedCluster.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{hyperv1.ConsoleCapability}}
}

// withoutIngress is a change: there is no ingress, so no console either.
func withoutIngress(o *hcp.Objects) {
	o.HostedCluster.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{hyperv1.ConsoleCapability, hyperv1.IngressCapability}}
}

func imports(registries ...string) change {
	return func(o *hcp.Objects) {
		image := &configv1.ImageSpec{}
		for _, r := range registries {
			image.AllowedRegistriesForImport = append(image.AllowedRegistriesForImport, configv1.RegistryLocation{DomainName: r})
		}
		o.HostedCluster.Spec.Configuration.Image = image
	}
}

// publishes returns a change: a Service of the control plane namespace is published at "host:port".
func publishes(at string, port int32) change {
	return func(o *hcp.Objects) {
		o.Services = append(o.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "further", Annotations: map[string]string{settings.Prefix + network.KeyPublish: at}},
			Spec: corev1.ServiceSpec{ClusterIP: "10.96.71.9", Ports: []corev1.ServicePort{{Name: "one", Port: port}}}})
	}
}

// greenPool returns a change: a second NodePool boots from another network, and its images are at an address.
func greenPool(gateway bool) change {
	return func(o *hcp.Objects) {
		secondPool(o, false)
		np := &o.NodePools[1]
		np.Annotations["hypershift.openshift.io/haproxy-image"] = "10.9.8.7:5000/haproxy:1"
		if gateway {
			np.Annotations["hostedcluster.densityops.com/gateway"] = "192.168.200.1"
		}
	}
}

func annotated(key, value string) change { return func(o *hcp.Objects) { settle(o, key, value) } }

func release(image string) change {
	return func(o *hcp.Objects) {
		o.HostedCluster.Spec.Release.Image, o.NodePools[0].Spec.Release.Image = image, image
		o.HostedCluster.Spec.ImageContentSources = mirroring(image)
	}
}

// Everything that nodes need of the control plane in reaching, and the console of the ingress.
const controlPlane = "api.blue.example.com,.apps.mgmt.example.com,.apps.blue.example.com"

// proxied returns a change: the hosted cluster has a proxy on its network, for all but noProxy, and a Ready node.
func proxied(noProxy string) change {
	return func(o *hcp.Objects) {
		running(o)
		o.HostedCluster.Spec.Configuration.Proxy = &configv1.ProxySpec{HTTPProxy: "http://192.168.100.8:3128", HTTPSProxy: "http://192.168.100.8:3128", NoProxy: noProxy}
	}
}

// What plans report, before the hosts.
const login, images = "Warning HostUnreachable ", "Warning ImagesUnreachable "

// Issuers of tokens: outside, and in the ingress of the hosted cluster.
const keycloak, apps = "https://keycloak.corp.example/realm", "https://keycloak.apps.blue.example.com/realm"

// A reachCase has what is changed in reaching, and the problems about hosts: severity, reason, hosts.
type reachCase struct {
	given []change
	want  []string
}

// report checks the problems of all, as the operator reads the objects.
func report(t *testing.T, all map[string]reachCase) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := reaching(t, c.given...)
			cached := asCached(t, o)
			cached.Permissions = o.Permissions
			_, ps := plan(cached)
			g.Expect(aboutHosts(ps)).To(Equal(c.want))
		})
	}
}

// TestWhatNodesReach: a plan reports exactly those hosts that nodes do not reach, whatever names the host.
func TestWhatNodesReach(t *testing.T) {
	report(t, map[string]reachCase{
		"nothing": {},

		"an identity provider in the ingress of the hosted cluster":    {given: []change{openID(apps)}},
		"an identity provider in an ingress that nothing serves yet":   {given: []change{openID(apps), func(o *hcp.Objects) { o.Services = o.Services[:len(o.Services)-1] }}},
		"an identity provider in the ingress, at a port that it lacks": {given: []change{openID("https://keycloak.apps.blue.example.com:8443")}, want: []string{login + "keycloak.apps.blue.example.com:8443"}},
		"an issuer of OIDC in the ingress of the hosted cluster":       {given: []change{oidc(apps)}},
		"an identity provider in the ingress, at a set address":        {given: []change{openID(apps), annotated(network.KeyAppsAddress, "192.168.100.6")}},
		"an identity provider in the ingress, with plain HTTP":         {given: []change{openID("http://keycloak.apps.blue.example.com")}},
		"an identity provider that is a published Service":             {given: []change{openID(keycloak), publishes("keycloak.corp.example:443", 443)}},
		"an identity provider that is a published Service, at a port":  {given: []change{openID("http://keycloak.corp.example:8080"), publishes("keycloak.corp.example:8080", 8080)}},
		"an identity provider published at another port":               {given: []change{openID(keycloak), publishes("keycloak.corp.example:8443", 8443)}, want: []string{login + "keycloak.corp.example"}},
		"an identity provider that is a Service of the hosted cluster": {given: []change{openID("https://keycloak.keycloak.svc:8443")}},
		"an identity provider with a record of the user":               {given: []change{openID(keycloak), annotated(network.KeyRecords, "keycloak.corp.example=192.168.100.9")}},
		"an identity provider outside":                                 {given: []change{openID(keycloak)}, want: []string{login + "keycloak.corp.example"}},
		"an identity provider at an address outside":                   {given: []change{openID("https://10.20.0.5")}, want: []string{login + "10.20.0.5"}},
		"an identity provider outside, with plain HTTP":                {given: []change{openID("http://keycloak.corp.example:8080")}, want: []string{login + "keycloak.corp.example:8080"}},
		"an identity provider inside the Service network":              {given: []change{openID("https://172.31.9.9:8443")}, want: []string{"Info AddressConflict"}},
		"an identity provider inside the Service network by default":   {given: []change{openID("https://172.31.9.9:8443"), defaultNetworks}, want: []string{"Info AddressConflict"}},
		"an identity provider inside the pod network by default":       {given: []change{openID("https://10.133.9.9:8443"), defaultNetworks}, want: []string{login + "10.133.9.9:8443"}},
		"the hosted cluster's own registries, for imports":             {given: []change{imports("image-registry.openshift-image-registry.svc:5000", "default-route-openshift-image-registry.apps.blue.example.com")}},

		"allowed-hosts with a host in the ingress":             {given: []change{openID(apps), annotated(network.KeyAllowedHosts, "auto,keycloak.apps.blue.example.com")}, want: []string{login + "keycloak.apps.blue.example.com:443"}},
		"allowed-hosts with a host that is published":          {given: []change{publishes("git.corp.example:443", 443), annotated(network.KeyAllowedHosts, "auto,git.corp.example")}, want: []string{login + "git.corp.example:443"}},
		"allowed-hosts with a published host, at another port": {given: []change{publishes("git.corp.example:8443", 8443), annotated(network.KeyAllowedHosts, "auto,git.corp.example")}},

		"an identity provider of a cloud, which OAuth dials itself": {given: []change{loginWith(configv1.IdentityProviderConfig{GitLab: &configv1.GitLabIdentityProvider{URL: "https://git.eu-1.amazonaws.com"}})}},
		"an identity provider of an isolated cloud":                 {given: []change{loginWith(configv1.IdentityProviderConfig{GitLab: &configv1.GitLabIdentityProvider{URL: "https://git.us-iso-east-1.c2s.ic.gov"}})}},
		"OpenID of a cloud, which HyperShift finds from the nodes":  {given: []change{openID("https://login.microsoftonline.com/x")}, want: []string{login + "login.microsoftonline.com, graph.microsoft.com"}},
		"OpenID of Google, which has hosts for tokens and users":    {given: []change{openID("https://accounts.google.com"), annotated(network.KeyAllowedHosts, "auto,accounts.google.com,oauth2.googleapis.com")}, want: []string{login + "openidconnect.googleapis.com"}},
		"an issuer of OIDC at an address of the network":            {given: []change{oidc("https://192.168.100.9"), withoutConsole}, want: []string{login + "192.168.100.9"}},
		"an issuer of OIDC with a record of the user":               {given: []change{oidc(keycloak), annotated(network.KeyRecords, "keycloak.corp.example=192.168.100.9")}, want: []string{login + "keycloak.corp.example"}},
		"an issuer of OIDC in the ingress at a set address":         {given: []change{oidc(apps), annotated(network.KeyAppsAddress, "192.168.100.6")}, want: []string{login + "keycloak.apps.blue.example.com"}},
		"an issuer of OIDC in the ingress, which has a balancer":    {given: []change{oidc(apps), func(o *hcp.Objects) { withRouter(o, "192.168.100.80") }}, want: []string{login + "keycloak.apps.blue.example.com"}},
		"an issuer of OIDC in the ingress, and a gateway":           {given: []change{oidc(apps), annotated(network.KeyAppsAddress, "192.168.100.6"), annotated("gateway", "192.168.100.1")}},
		"an issuer of OIDC on a network with a gateway":             {given: []change{oidc("https://192.168.100.9"), annotated("gateway", "192.168.100.1")}},
		"an issuer of OIDC with a record beyond the network":        {given: []change{oidc(keycloak), annotated(network.KeyRecords, "keycloak.corp.example=10.9.9.9")}, want: []string{"Warning AddressConflict"}},
		"an issuer of OIDC that is a published Service":             {given: []change{oidc(keycloak), publishes("keycloak.corp.example:443", 443)}},
		"an issuer of OIDC, without a console":                      {given: []change{oidc(keycloak), withoutConsole}},
		"an issuer of OIDC of a cloud, which the console dials":     {given: []change{oidc("https://login.microsoftonline.com/x")}, want: []string{login + "login.microsoftonline.com"}},
		"imports from a cloud, which the API server dials":          {given: []change{imports("1.dkr.ecr.eu-west-1.amazonaws.com")}, want: []string{"Info HostUnreachable 1.dkr.ecr.eu-west-1.amazonaws.com"}},
		"a registry that is published":                              {given: []change{release("registry.example.com/ocp/release:4.20"), publishes("registry.example.com:443", 443)}},
		"a registry that is published at its port":                  {given: []change{release("registry.example.com:5000/ocp/release:4.20"), publishes("registry.example.com:5000", 5000)}},
		"a registry with plain HTTP that is published":              {given: []change{release("http://registry.example.com:5000/ocp/release:4.20"), publishes("registry.example.com:5000", 5000)}},
		"a registry inside the management cluster":                  {given: []change{release("registry.registry.svc:5000/ocp/release:4.20")}, want: []string{images + "registry.registry.svc:5000", images + "registry.registry.svc:5000"}},
		"Docker Hub": {given: []change{release("docker.io/ocp/release:4.20")}},
		"Docker Hub, by its former name, not permitted":             {given: []change{release("index.docker.io/ocp/release:4.20"), permitting("*.docker.com", "*.cloudflarestorage.com", "auth.docker.io")}, want: []string{images + "registry-1.docker.io"}},
		"a registry at an address, of a NodePool with a gateway":    {given: []change{greenPool(true)}},
		"a registry at an address, of a NodePool without a gateway": {given: []change{greenPool(false)}, want: []string{images + "10.9.8.7:5000"}},
		"a registry at an address":                                  {given: []change{release("10.9.8.7:5000/ocp/release:4.20")}, want: []string{images + "10.9.8.7:5000"}},
		"a proxy, and a registry at an address":                     {given: []change{proxied(controlPlane), release("10.9.8.7:5000/ocp/release:4.20")}},
		"a proxy, and a registry with plain HTTP":                   {given: []change{proxied(controlPlane), release("http://mirror.example.com/ocp/release:4.20")}},
		"a proxy, and allowed-hosts none":                           {given: []change{proxied(controlPlane), annotated(network.KeyAllowedHosts, "none")}},
		"a proxy, and services without dns and proxy":               {given: []change{proxied(controlPlane), annotated("services", "dhcp,ntp"), annotated(network.KeyUpstreams, "192.168.100.53")}},
		"a proxy, and a registry that only edges know":              {given: []change{proxied(controlPlane), release("registry.example.com:5000/ocp/release:4.20"), annotated(network.KeyRecords, "registry.example.com=192.168.100.9")}, want: []string{images + "registry.example.com"}},
		"a proxy, and a registry that edges publish":                {given: []change{proxied(controlPlane), release("registry.example.com:5000/ocp/release:4.20"), publishes("registry.example.com:5000", 5000)}, want: []string{images + "registry.example.com"}},
		"a proxy, and noProxy has that registry":                    {given: []change{proxied(controlPlane + ",registry.example.com"), release("registry.example.com:5000/ocp/release:4.20"), annotated(network.KeyRecords, "registry.example.com=192.168.100.9")}},

		"a proxy, and a registry at an address that noProxy has":        {given: []change{proxied(controlPlane + ",10.9.8.0/24"), release("10.9.8.7:5000/ocp/release:4.20")}, want: []string{images + "10.9.8.7:5000"}},
		"a proxy for HTTP only, and a registry at an address":           {given: []change{proxied(controlPlane), func(o *hcp.Objects) { o.HostedCluster.Spec.Configuration.Proxy.HTTPSProxy = "" }, release("10.9.8.7:5000/ocp/release:4.20")}, want: []string{images + "10.9.8.7:5000"}},
		"a proxy, and allowed-hosts none, and noProxy has the registry": {given: []change{proxied(controlPlane + ",quay.io"), annotated(network.KeyAllowedHosts, "none")}, want: []string{images + "cdn.quay.io, cdn01.quay.io, cdn02.quay.io, cdn03.quay.io, cdn04.quay.io, cdn05.quay.io, cdn06.quay.io, quay.io"}},

		"a proxy, and allowed-hosts none, and noProxy has the registry's port":      {given: []change{proxied(controlPlane + ",registry.example.com:8443"), release(privateRelease), annotated(network.KeyAllowedHosts, "none")}, want: []string{images + "registry.example.com"}},
		"a proxy, and noProxy has the port of a registry that is not permitted":     {given: []change{proxied(controlPlane + ",registry.example.com:8443"), release(privateRelease), permitting("*.other.example")}, want: []string{images + "registry.example.com"}},
		"a proxy, and noProxy has another port of a registry that is not permitted": {given: []change{proxied(controlPlane + ",registry.example.com:443"), release(privateRelease), permitting("*.other.example")}},
		"a network plugin of the user":                                              {given: []change{networkType(hyperv1.Calico)}, want: []string{"Info ImagesUnreachable"}},
		"a proxy, and a network plugin of the user":                                 {given: []change{proxied(controlPlane), networkType(hyperv1.Calico)}},
		"a proxy for HTTP only, and a network plugin of the user":                   {given: []change{proxied(controlPlane), func(o *hcp.Objects) { o.HostedCluster.Spec.Configuration.Proxy.HTTPSProxy = "" }, networkType(hyperv1.Calico)}, want: []string{"Info ImagesUnreachable"}},
	})
}

// TestProvidersThroughProxy: the hosted control plane dials providers and registries of imports through the HTTP proxy of the hosted cluster.
func TestProvidersThroughProxy(t *testing.T) {
	report(t, map[string]reachCase{
		"a proxy, and an identity provider":                    {given: []change{proxied(controlPlane), openID(keycloak)}},
		"a proxy, and an identity provider that noProxy has":   {given: []change{proxied(controlPlane + ",.corp.example"), openID(keycloak)}, want: []string{login + "keycloak.corp.example"}},
		"a proxy, and a cloud's provider that noProxy has":     {given: []change{proxied(controlPlane + ",.microsoftonline.com"), openID("https://login.microsoftonline.com/x")}, want: []string{login + "login.microsoftonline.com"}},
		"a proxy, and a provider that only edges know":         {given: []change{proxied(controlPlane), openID(keycloak), annotated(network.KeyRecords, "keycloak.corp.example=192.168.100.9")}, want: []string{login + "keycloak.corp.example"}},
		"a proxy, and a provider that edges publish":           {given: []change{proxied(controlPlane), openID(keycloak), publishes("keycloak.corp.example:443", 443)}, want: []string{login + "keycloak.corp.example"}},
		"a proxy, and noProxy has that provider":               {given: []change{proxied(controlPlane + ",keycloak.corp.example"), openID(keycloak), publishes("keycloak.corp.example:443", 443)}},
		"a proxy, and a provider in allowed-hosts":             {given: []change{proxied(controlPlane), openID(keycloak), annotated(network.KeyAllowedHosts, "auto,keycloak.corp.example")}},
		"a proxy, and a provider in the ingress":               {given: []change{proxied(controlPlane[:strings.LastIndex(controlPlane, ",")] + ",console-openshift-console.apps.blue.example.com,canary-openshift-ingress-canary.apps.blue.example.com"), openID(apps)}, want: []string{login + "keycloak.apps.blue.example.com"}},
		"a proxy, and an issuer of OIDC that edges publish":    {given: []change{proxied(controlPlane), oidc(keycloak), publishes("keycloak.corp.example:443", 443)}, want: []string{login + "keycloak.corp.example"}},
		"a proxy, and imports from a host that edges publish":  {given: []change{proxied(controlPlane), imports("registry.corp.example"), publishes("registry.corp.example:443", 443)}, want: []string{"Info HostUnreachable registry.corp.example"}},
		"a proxy, and LDAP that edges know":                    {given: []change{proxied(controlPlane), ldap("ldaps://ldap.corp.example"), annotated(network.KeyRecords, "ldap.corp.example=192.168.100.9")}},
		"a proxy, a gateway, and a provider that edges know":   {given: []change{proxied(controlPlane), openID(keycloak), annotated(network.KeyRecords, "keycloak.corp.example=192.168.100.9"), annotated("gateway", "192.168.100.1")}},
		"a proxy for HTTP only, and an identity provider":      {given: []change{proxied(controlPlane), func(o *hcp.Objects) { o.HostedCluster.Spec.Configuration.Proxy.HTTPSProxy = "" }, openID(keycloak)}, want: []string{login + "keycloak.corp.example"}},
		"a proxy, and LDAP at an address, which uses no proxy": {given: []change{proxied(controlPlane), ldap("ldaps://10.20.0.5")}, want: []string{login + "10.20.0.5:636"}},
	})
}

// TestControlPlaneThroughProxy: nodes with an HTTPS proxy connect to the edges only if noProxy has what HyperShift publishes.
func TestControlPlaneThroughProxy(t *testing.T) {
	cases := map[string]reachCase{
		"a proxy, and no noProxy": {given: []change{proxied("")}, want: []string{"Warning ControlPlaneProxied api.blue.example.com, ignition-server-clusters-blue.apps.mgmt.example.com, konnectivity-server-clusters-blue.apps.mgmt.example.com"}},
		"a proxy, and noProxy has the API alone": {given: []change{proxied("api.blue.example.com:6443")},
			want: []string{"Warning ControlPlaneProxied ignition-server-clusters-blue.apps.mgmt.example.com, konnectivity-server-clusters-blue.apps.mgmt.example.com"}},
		"a proxy, and noProxy has all but the API":                                         {given: []change{proxied("apps.mgmt.example.com")}, want: []string{"Warning ControlPlaneProxied api.blue.example.com"}},
		"a proxy, and noProxy has the API by its domain, which older versions do not read": {given: []change{proxied(".example.com")}, want: []string{"Warning ControlPlaneProxied api.blue.example.com"}},
		"a proxy, and noProxy has the API by what kubelets do not read":                    {given: []change{proxied("kubernetes.default,.apps.mgmt.example.com")}, want: []string{"Warning ControlPlaneProxied api.blue.example.com"}},
		"a proxy, and noProxy has the Service network, which kubelets do not use":          {given: []change{proxied(".apps.mgmt.example.com, 172.31.0.0/16")}, want: []string{"Warning ControlPlaneProxied api.blue.example.com"}},
		"a proxy, and noProxy has the API":                                                 {given: []change{proxied(".apps.mgmt.example.com,api.blue.example.com")}},
		"a proxy, and noProxy has the API for kubelets, and the default Service network":   {given: []change{proxied(".apps.mgmt.example.com, .blue.example.com,172.31.0.0/16"), defaultNetworks}},
		"a proxy, and noProxy has the API by its address in nodes":                         {given: []change{proxied(".apps.mgmt.example.com,172.20.0.1")}, want: []string{"Warning ControlPlaneProxied api.blue.example.com"}},
		"a proxy without noProxy, and a gateway": {given: []change{proxied(""), annotated("gateway", "192.168.100.1")},
			want: []string{"Info ControlPlaneProxied api.blue.example.com, ignition-server-clusters-blue.apps.mgmt.example.com, konnectivity-server-clusters-blue.apps.mgmt.example.com"}},
		"a proxy, and noProxy has the control plane, and a gateway": {given: []change{proxied(controlPlane), annotated("gateway", "192.168.100.1")}},
		"a proxy for HTTP only, and no noProxy":                     {given: []change{proxied(""), func(o *hcp.Objects) { o.HostedCluster.Spec.Configuration.Proxy.HTTPSProxy = "" }}},
		"a proxy, and names below .local":                           {given: []change{proxied("api.blue.example.com"), local}, want: []string{"Warning ControlPlaneProxied konnectivity-server.corp.local"}},
	}
	for name, c := range cases {
		cases[name] = reachCase{append(c.given, withoutIngress), c.want}
	}
	report(t, cases)
}

// local is a change: Routes have names below .local, for which nodes use no proxy, but pods on them do.
func local(o *hcp.Objects) {
	o.HostedCluster.Status.IgnitionEndpoint = "ignition-server.corp.local"
	for i := range o.Routes {
		r := &o.Routes[i]
		r.Spec.Host = r.Name + ".corp.local"
		for j := range r.Status.Ingress {
			r.Status.Ingress[j].Host = r.Spec.Host
		}
	}
}

// TestIngressThroughProxy: the console dials OAuth, its operator dials the console, and the ingress operator dials its canary, through the HTTPS proxy unless noProxy
// has their names. What noProxy lacks for the ingress is its whole domain.
func TestIngressThroughProxy(t *testing.T) {
	const oauth, console, canary = "oauth-clusters-blue.apps.mgmt.example.com", "console-openshift-console.apps.blue.example.com", "canary-openshift-ingress-canary.apps.blue.example.com"
	ingress := func(of configv1.IngressSpec) change {
		return func(o *hcp.Objects) { o.HostedCluster.Spec.Configuration.Ingress = &of }
	}
	custom := configv1.IngressSpec{ComponentRoutes: []configv1.ComponentRouteSpec{{Namespace: "openshift-console", Name: "console", Hostname: "Console.corp.example"}}}
	for name, c := range map[string]struct {
		given                  []change
		oauth, ingress, lacked string
	}{
		"no noProxy":                                     {[]change{proxied("")}, oauth, canary + ", " + console, ".apps.blue.example.com"},
		"noProxy has the control plane":                  {[]change{proxied("api.blue.example.com,.apps.mgmt.example.com")}, "", canary + ", " + console, ".apps.blue.example.com"},
		"noProxy has the console, too":                   {[]change{proxied("api.blue.example.com,.apps.mgmt.example.com," + console)}, "", canary, ".apps.blue.example.com"},
		"noProxy has all":                                {[]change{proxied(controlPlane)}, "", "", ""},
		"noProxy has *.apps":                             {[]change{proxied(".apps.blue.example.com")}, oauth, "", ""},
		"names below .local":                             {[]change{proxied(".apps.blue.example.com"), local}, "oauth.corp.local", "", ""},
		"the ingress has another domain":                 {[]change{proxied(controlPlane), ingress(configv1.IngressSpec{Domain: "one.example.com", AppsDomain: "Two.example.com"})}, "", "canary-openshift-ingress-canary.two.example.com, console-openshift-console.one.example.com", ".two.example.com, .one.example.com"},
		"the console has a host of its own":              {[]change{proxied(controlPlane), ingress(custom)}, "", "console.corp.example", "console.corp.example"},
		"noProxy has that host, but not the default one": {[]change{proxied("api.blue.example.com,.apps.mgmt.example.com,console.corp.example," + canary), ingress(custom)}, "", "", ""},
		"OIDC":       {[]change{proxied(""), oidc("https://192.168.100.9")}, "", canary + ", " + console, ".apps.blue.example.com"},
		"no console": {[]change{proxied(""), withoutConsole}, "", canary, ".apps.blue.example.com"},
		"no ingress": {[]change{proxied(""), withoutIngress}, "", "", ""},
		"no domain":  {[]change{proxied(""), func(o *hcp.Objects) { o.HostedCluster.Spec.DNS.BaseDomain = "" }}, oauth, "", ""},
		"a gateway":  {[]change{proxied(""), annotated("gateway", "192.168.100.1")}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, ps := plan(asCached(t, reaching(t, c.given...)))
			values := func(cause problem.Cause, arg string) string {
				var got []string
				for _, p := range causesOf(ps, cause) {
					got = append(got, p.Args[arg].String())
				}
				return strings.Join(got, "; ")
			}
			g.Expect(values(problem.ConsoleThroughProxy, "hosts")).To(Equal(c.oauth))
			g.Expect(values(problem.IngressThroughProxy, "hosts")).To(Equal(c.ingress))
			g.Expect(values(problem.IngressThroughProxy, "domains")).To(Equal(c.lacked))
			noProxy := reaching(t, c.given...).HostedCluster.Spec.Configuration.Proxy.NoProxy
			_, ps = plan(reaching(t, append(c.given, proxied(noProxy+","+c.lacked))...))
			g.Expect(causesOf(ps, problem.IngressThroughProxy)).To(BeEmpty(), "with what the fix names")
		})
	}
}

// defaultNetworks is a change: the API server sets the networks of pods and Services.
func defaultNetworks(o *hcp.Objects) {
	o.HostedCluster.Spec.Networking.ClusterNetwork, o.HostedCluster.Spec.Networking.ServiceNetwork = nil, nil
}

func networkType(n hyperv1.NetworkType) change {
	return func(o *hcp.Objects) { o.HostedCluster.Spec.Networking.NetworkType = n }
}

// permitting returns a change: the administrator permits these hosts only.
func permitting(hosts ...string) change {
	return func(o *hcp.Objects) { o.Permissions.Hosts = hosts }
}

// allowing returns a change: the administrator permits ports 443 and port.
func allowing(port uint16) change {
	return func(o *hcp.Objects) {
		o.Permissions.Ports = []network.PortRange{{First: 443, Last: 443}, {First: port, Last: port}}
	}
}

// aboutHosts returns the problems of ps about hosts that nodes dial, and those that stop a plan.
func aboutHosts(ps problem.Problems) []string {
	var out []string
	for _, p := range ps {
		if p.Blocks() || slices.Contains([]problem.Reason{"HostUnreachable", "ImagesUnreachable", "ControlPlaneProxied", "AddressConflict", "AnnotationInvalid"}, p.Reason) {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Severity, p.Reason, p.Args["hosts"])))
		}
	}
	slices.Sort(out)
	return out
}

// TestAdviceForHosts: the advice to add hosts to annotation allowed-hosts fixes the problem, or says who must permit the hosts first.
func TestAdviceForHosts(t *testing.T) {
	const resolved = "dns-upstreams"
	for name, c := range map[string]struct {
		given []change
		want  problem.Cause
	}{
		"a name":                                     {[]change{openID("https://keycloak.corp.example")}, problem.IdentityProviderUnreachable},
		"a port that is permitted":                   {[]change{openID("https://keycloak.corp.example:8443")}, problem.IdentityProviderUnreachable},
		"a port that is not permitted":               {[]change{openID("https://keycloak.corp.example:9443")}, problem.IdentityProviderNotPermitted},
		"a name that is not permitted":               {[]change{openID("https://keycloak.corp.example"), permitting("quay.io")}, problem.IdentityProviderNotPermitted},
		"an address":                                 {[]change{openID("https://10.20.0.5")}, problem.IdentityProviderWithoutName},
		"plain HTTP":                                 {[]change{openID("http://keycloak.corp.example:8080")}, problem.IdentityProviderWithoutName},
		"LDAP at an address":                         {[]change{ldap("ldaps://10.20.0.5")}, problem.IdentityProviderWithoutName},
		"LDAP with TLS, by default":                  {[]change{ldap("ldaps://ldap.corp.example"), annotated(resolved, "192.168.100.9")}, problem.IdentityProviderNotPermitted},
		"LDAP with TLS, at a port that is permitted": {[]change{ldap("ldaps://ldap.corp.example"), annotated(resolved, "192.168.100.9"), allowing(636)}, problem.IdentityProviderUnreachable},
		"imports":                                    {[]change{imports("registry.corp.example:5000")}, problem.ImportsUnreachable},
		"imports from a port not permitted":          {[]change{imports("registry.corp.example:5001")}, problem.ImportsNotPermitted},
		"imports from an address":                    {[]change{imports("10.20.0.5:5000")}, problem.ImportsWithoutName},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			about := func(further ...change) problem.Problems {
				_, ps := plan(reaching(t, append(c.given, further...)...))
				return slices.DeleteFunc(ps, func(p problem.Problem) bool {
					return p.Reason != problem.HostUnreachable && p.Reason != problem.NotPermitted
				})
			}
			ps := about()
			g.Expect(ps).To(HaveExactElements(HaveField("Cause", c.want)))
			if c.want == problem.IdentityProviderUnreachable || c.want == problem.ImportsUnreachable {
				g.Expect(about(annotated(network.KeyAllowedHosts, "auto,"+strings.ReplaceAll(ps[0].Args["hosts"].String(), ", ", ",")))).To(BeEmpty())
			}
		})
	}
}
