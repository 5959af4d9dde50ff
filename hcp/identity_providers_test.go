// This file says which identity providers the hosted control plane reaches through nodes.

package hcp_test

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// TestProvidersByName: the hosted control plane resolves the host of a provider in the hosted cluster, except for LDAP. On an isolated network, a
// DNS server there may know a name that edges do not know.
func TestProvidersByName(t *testing.T) {
	gateway := annotated("gateway", "192.168.100.1")
	alone := func(o *hcp.Objects) { // Edges know the registry, and ask no other DNS server.
		settle(o, network.KeyUpstreams, "none")
		settle(o, network.KeyAllowedHosts, "auto")
	}
	report(t, map[string]reachCase{
		"a gateway, and a provider with a name that edges do not know":     {given: []change{openID(keycloak), gateway, alone}, want: []string{login + "keycloak.corp.example"}},
		"a gateway, and an OIDC issuer with a name that edges do not know": {given: []change{oidc(keycloak), gateway, alone}, want: []string{login + "keycloak.corp.example"}},
		"a gateway, and imports with a name that edges do not know":        {given: []change{imports("registry.corp.example"), gateway, alone}, want: []string{"Info HostUnreachable registry.corp.example"}},
		"a gateway, and LDAP with a name that edges do not know":           {given: []change{ldap("ldaps://ldap.corp.example"), gateway, alone}},
		"a gateway, and a provider with a record":                          {given: []change{openID(keycloak), gateway, alone, annotated(network.KeyRecords, "keycloak.corp.example=10.9.9.9")}},
		"a gateway, and a provider in allowed-hosts":                       {given: []change{openID(keycloak), gateway, alone, annotated(network.KeyAllowedHosts, "auto,keycloak.corp.example")}},
		"a gateway, and a provider at an address":                          {given: []change{openID("https://10.20.0.5"), gateway, alone}},
		"a gateway, and a provider, and other DNS servers":                 {given: []change{openID(keycloak), gateway}},
		"a gateway, and a provider with a published name":                  {given: []change{openID("https://oauth-clusters-blue.apps.mgmt.example.com:8443"), gateway}, want: []string{login + "oauth-clusters-blue.apps.mgmt.example.com:8443"}},
		"a gateway, and LDAP with a name of the ingress":                   {given: []change{ldap("ldaps://ldap.apps.blue.example.com"), gateway}, want: []string{login + "ldap.apps.blue.example.com:636"}},
		"a provider, and a DNS server on the network":                      {given: []change{openID(keycloak), annotated(network.KeyUpstreams, "192.168.100.53")}, want: []string{"Info HostUnreachable keycloak.corp.example"}},
		"LDAP, and a DNS server on the network":                            {given: []change{ldap("ldaps://ldap.corp.example"), annotated(network.KeyUpstreams, "192.168.100.53")}, want: []string{"Info HostUnreachable ldap.corp.example:636"}},
		"a provider at an address, and a DNS server on the network":        {given: []change{openID("https://10.20.0.5"), annotated(network.KeyUpstreams, "192.168.100.53")}, want: []string{login + "10.20.0.5"}},
		"a provider, and a DNS server elsewhere":                           {given: []change{openID(keycloak), annotated(network.KeyUpstreams, "10.9.9.53")}, want: []string{login + "keycloak.corp.example"}},
	})
}

// TestNamesBelowClusterLocal: the DNS server of the hosted cluster answers for cluster.local itself.
func TestNamesBelowClusterLocal(t *testing.T) {
	oauthAt := func(host string) change {
		return func(o *hcp.Objects) {
			byRoute(host)(o)
			for i := range o.Routes {
				if r := &o.Routes[i]; r.Name == "oauth" {
					r.Spec.Host, r.Status.Ingress = host, nil
				}
			}
		}
	}
	report(t, map[string]reachCase{
		"OAuth":                     {given: []change{oauthAt("oauth.corp.cluster.local")}, want: []string{login + "oauth.corp.cluster.local"}},
		"OAuth elsewhere":           {given: []change{oauthAt("oauth.corp.local")}},
		"a provider with a record":  {given: []change{openID("https://sso.corp.cluster.local/r"), annotated(network.KeyRecords, "sso.corp.cluster.local=192.168.100.9")}, want: []string{login + "sso.corp.cluster.local"}},
		"a provider that is inside": {given: []change{openID("https://keycloak.keycloak.svc.cluster.local/r")}},
		"a record":                  {given: []change{annotated(network.KeyRecords, "git.corp.cluster.local=192.168.100.9")}, want: []string{"Info HostUnreachable git.corp.cluster.local"}},
	})
}

// TestProviderOverrides: an annotation can set the hosts for tokens and users of an OpenID provider, which are dialed instead of the issuer.
func TestProviderOverrides(t *testing.T) {
	override := func(value string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Annotations["idpoverrides.hypershift.openshift.io/corp"] = value
		}
	}
	const urls = `{"urls":{"authorize":"https://iam.example.org/a","token":"https://token.example.org/t","userInfo":"https://token.example.org/me"}`
	report(t, map[string]reachCase{
		"the issuer is allowed":                 {given: []change{openID(keycloak), override(urls + "}"), annotated(network.KeyAllowedHosts, "auto,keycloak.corp.example")}, want: []string{login + "token.example.org"}},
		"the host for tokens is allowed":        {given: []change{openID(keycloak), override(urls + "}"), annotated(network.KeyAllowedHosts, "auto,token.example.org")}},
		"another provider is not concerned":     {given: []change{ldap("ldaps://10.20.0.5"), override(urls + "}")}, want: []string{login + "10.20.0.5:636"}},
		"a value that HyperShift does not read": {given: []change{openID(keycloak), override("token")}, want: []string{login + "keycloak.corp.example"}},
		"a cloud, found from the nodes":         {given: []change{openID(keycloak), override(`{"urls":{"token":"https://iam.cloud.ibm.com/t"}}`)}, want: []string{login + "iam.cloud.ibm.com"}},
		"a cloud, which OAuth dials itself":     {given: []change{openID(keycloak), override(`{"urls":{"token":"https://iam.cloud.ibm.com/t"},"challenge":true}`)}},
	})
}

// TestLDAP: an LDAP server is dialed from the nodes at an address, or at a name that the hosted cluster resolves.
func TestLDAP(t *testing.T) {
	report(t, map[string]reachCase{
		"LDAP at an address":                                                {given: []change{ldap("ldaps://10.20.0.5")}, want: []string{login + "10.20.0.5:636"}},
		"LDAP at an address of the network":                                 {given: []change{ldap("ldap://192.168.100.9/dc=corp")}},
		"LDAP by a name that only the management cluster knows":             {given: []change{ldap("ldaps://ldap.corp.example")}},
		"LDAP by a name that dns-upstreams may know":                        {given: []change{ldap("ldap://ldap.corp.example/dc=corp"), annotated("dns-upstreams", "192.168.100.9")}, want: []string{"Info HostUnreachable ldap.corp.example:389"}},
		"LDAP by a name with a record of the user":                          {given: []change{ldap("ldap://ldap.corp.example/dc=corp"), annotated("dns-upstreams", "192.168.100.9"), annotated(network.KeyRecords, "ldap.corp.example=192.168.100.9")}},
		"LDAP with TLS by a name that is allowed":                           {given: []change{ldap("ldaps://ldap.corp.example/dc=corp"), annotated("dns-upstreams", "192.168.100.9"), allowing(636), annotated(network.KeyAllowedHosts, "auto,ldap.corp.example:636")}},
		"LDAP without TLS by a name that is allowed":                        {given: []change{ldap("ldap://ldap.corp.example/dc=corp"), annotated("dns-upstreams", "192.168.100.9"), allowing(389), annotated(network.KeyAllowedHosts, "auto,ldap.corp.example:389")}, want: []string{"Info HostUnreachable ldap.corp.example:389"}},
		"LDAP by a name that is published":                                  {given: []change{ldap("ldap://ldap.corp.example"), publishes("ldap.corp.example:389", 389)}},
		"LDAP by a name that is published at another port":                  {given: []change{ldap("ldaps://ldap.corp.example"), publishes("ldap.corp.example:389", 389)}, want: []string{login + "ldap.corp.example:636"}},
		"LDAP by a name that edges do not know, and another that they know": {given: []change{ldaps("ldaps://ldap.corp.example", "ldaps://ldap.vlan.example"), annotated(network.KeyRecords, "ldap.vlan.example=192.168.100.9")}, want: []string{login + "ldap.corp.example:636"}},
		"LDAP by a name that edges do not know, and at an address":          {given: []change{ldaps("ldaps://192.168.100.9", "ldap://ldap.corp.example")}, want: []string{login + "ldap.corp.example:389"}},
		"LDAP by two names that edges know":                                 {given: []change{ldaps("ldaps://ldap.corp.example", "ldaps://ldap.vlan.example"), annotated(network.KeyRecords, "ldap.vlan.example=192.168.100.9,ldap.corp.example=192.168.100.8")}},
		"LDAP by two names that edges do not know":                          {given: []change{ldaps("ldaps://ldap.corp.example", "ldaps://ldap.vlan.example")}},
		"LDAP of the hosted cluster":                                        {given: []change{ldap("ldap://ldap.ldap.svc:1389")}},
		"LDAP at an address, and a gateway":                                 {given: []change{ldap("ldaps://10.20.0.5"), annotated("gateway", "192.168.100.1")}},
	})
}

// ldaps returns a change: each URL is that of one provider.
func ldaps(urls ...string) change {
	return func(o *hcp.Objects) {
		o.HostedCluster.Spec.Configuration.OAuth = &configv1.OAuthSpec{}
		for _, url := range urls {
			o.HostedCluster.Spec.Configuration.OAuth.IdentityProviders = append(o.HostedCluster.Spec.Configuration.OAuth.IdentityProviders,
				configv1.IdentityProvider{Name: url, IdentityProviderConfig: configv1.IdentityProviderConfig{LDAP: &configv1.LDAPIdentityProvider{URL: url}}})
		}
	}
}
