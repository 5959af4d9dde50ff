// OpenShift's KubeAPIServerConfig as upstream's command line. It decides which arguments upstream knows; it never adds one of its own.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
)

// apiServerConfig is what is used of KubeAPIServerConfig (github.com/openshift/api, kubecontrolplane/v1).
type apiServerConfig struct {
	Arguments      map[string][]string `json:"apiServerArguments"`
	ServiceKeys    []string            `json:"serviceAccountPublicKeyFiles"`
	ServicesSubnet string              `json:"servicesSubnet"`
	Serving        struct {
		BindAddress   string      `json:"bindAddress"`
		MinTLSVersion string      `json:"minTLSVersion"`
		NamedCerts    []namedCert `json:"namedCertificates"`
		certPair
	} `json:"servingInfo"`
}

type certPair struct {
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
}

type namedCert struct {
	Names []string `json:"names"`
	certPair
}

func readAPIServerConfig(args []string) (apiServerConfig, error) {
	var cfg apiServerConfig
	i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--openshift-config=") })
	if i < 0 {
		return cfg, fmt.Errorf("no --openshift-config")
	}
	file := strings.TrimPrefix(args[i], "--openshift-config=")
	b, err := os.ReadFile(file)
	if err != nil {
		return cfg, err
	}
	if err := json.Unmarshal(b, &cfg); err != nil {
		return cfg, fmt.Errorf("%s: %w", file, err)
	}
	return cfg, nil
}

// apiServerFlags is cfg as upstream flags, sorted, and what of it upstream does not know.
func apiServerFlags(cfg apiServerConfig) (flags, dropped []string) {
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	for name, values := range cfg.Arguments {
		if slices.Contains(openshiftArguments(), name) {
			dropped = append(dropped, "--"+name)
			continue
		}
		known := values
		switch name {
		case "enable-admission-plugins", "disable-admission-plugins":
			known = intersect(split(values), upstreamPlugins())
			dropped = append(dropped, without(split(values), known)...)
			add(name, strings.Join(known, ","))
			continue
		case "authorization-mode":
			known = intersect(split(values), []string{"AlwaysAllow", "AlwaysDeny", "ABAC", "Node", "RBAC", "Webhook"})
			dropped = append(dropped, without(split(values), known)...)
		}
		for _, v := range known {
			flags = append(flags, "--"+name+"="+v)
		}
	}
	for _, f := range cfg.ServiceKeys {
		add("service-account-key-file", f)
	}
	if host, port, err := net.SplitHostPort(cfg.Serving.BindAddress); err == nil {
		add("bind-address", host)
		add("secure-port", port)
	}
	add("tls-cert-file", cfg.Serving.CertFile)
	add("tls-private-key-file", cfg.Serving.KeyFile)
	add("tls-min-version", cfg.Serving.MinTLSVersion)
	for _, n := range cfg.Serving.NamedCerts {
		v := n.CertFile + "," + n.KeyFile
		if len(n.Names) > 0 {
			v += ":" + strings.Join(n.Names, ",")
		}
		add("tls-sni-cert-key", v)
	}
	add("service-cluster-ip-range", cfg.ServicesSubnet)
	slices.Sort(flags)
	slices.Sort(dropped)
	return flags, slices.Compact(dropped)
}

// openshiftArguments have no upstream flag, or name what does not run here (the OAuth server behind the token webhook), or belong to
// another version of Kubernetes (gates and API groups).
func openshiftArguments() []string {
	return []string{
		"authentication-config", "authentication-token-webhook-config-file", "authentication-token-webhook-version", "cloud-provider",
		"enable-logs-handler", "feature-gates", "kubelet-read-only-port", "runtime-config",
	}
}

func upstreamPlugins() []string {
	return []string{
		"AlwaysPullImages", "CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass",
		"DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook",
		"NamespaceLifecycle", "NodeDeclaredFeatureValidator", "NodeRestriction", "OwnerReferencesPermissionEnforcement",
		"PersistentVolumeClaimResize", "PodNodeSelector", "PodSecurity", "PodTolerationRestriction", "Priority", "ResourceQuota",
		"RuntimeClass", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition", "ValidatingAdmissionPolicy",
		"ValidatingAdmissionWebhook",
	}
}

func split(values []string) []string {
	return strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' })
}

func intersect(values, known []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !slices.Contains(known, v) })
}

func without(values, known []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(known, v) })
}
