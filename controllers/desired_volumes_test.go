package controllers

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// mountsOf lists what each container mounts, as "name path", with "+" before those it may write.
func mountsOf(pod corev1.PodSpec) map[string][]string {
	out := map[string][]string{}
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			write := "+"
			if m.ReadOnly {
				write = ""
			}
			out[c.Name] = append(out[c.Name], write+m.MountPath)
		}
		slices.Sort(out[c.Name])
	}
	return out
}

// TestWhatAContainerHolds: only those that write to or watch the API server hold the token, and no
// container writes what another one writes.
func TestWhatAContainerHolds(t *testing.T) {
	const plan, podinfo, token = "/etc/oooi", "/etc/podinfo", "/var/run/secrets/kubernetes.io/serviceaccount"
	for name, c := range map[string]struct {
		services []network.Service
		mounts   map[string][]string
	}{
		"all": {network.AllServices(), map[string][]string{
			"dhcp":     {"+/run/oooi/dhcp", plan, podinfo, "/run/oooi/dns", "/run/oooi/failover", "/run/oooi/proxy", token},
			"dns":      {"+/run/oooi/dns", plan, podinfo, "/run/oooi/dhcp"},
			"ntp":      {"+/run/oooi/ntp", plan, podinfo, "/run/oooi/dhcp"},
			"proxy":    {"+/run/oooi/proxy", "+/run/oooi/xds", plan, podinfo, "/run/oooi/dhcp", "/run/oooi/envoy", token},
			"envoy":    {"+/run/oooi/envoy", "/run/oooi/xds"},
			"failover": {"+/run/oooi/failover", plan, podinfo, "/run/oooi/dhcp", "/run/oooi/dns", "/run/oooi/envoy", "/run/oooi/ntp", "/run/oooi/proxy"},
		}},
		"DHCP is another's": {[]network.Service{network.ServiceDNS, network.ServiceProxy}, map[string][]string{
			"dns":      {"+/run/oooi/dns", plan, podinfo, "/run/oooi/proxy"},
			"proxy":    {"+/run/oooi/proxy", "+/run/oooi/xds", plan, podinfo, "/run/oooi/envoy", "/run/oooi/failover", token},
			"envoy":    {"+/run/oooi/envoy", "/run/oooi/xds"},
			"failover": {"+/run/oooi/failover", plan, podinfo, "/run/oooi/dns", "/run/oooi/envoy", "/run/oooi/proxy"},
		}},
		"names only": {[]network.Service{network.ServiceDNS}, map[string][]string{
			"dns":      {"+/run/oooi/dns", plan, podinfo, "/run/oooi/failover", token},
			"failover": {"+/run/oooi/failover", plan, podinfo, "/run/oooi/dns"},
		}},
		"names and time": {[]network.Service{network.ServiceDNS, network.ServiceNTP}, map[string][]string{
			"dns":      {"+/run/oooi/dns", plan, podinfo, "/run/oooi/failover", token},
			"ntp":      {"+/run/oooi/ntp", plan, podinfo, "/run/oooi/dns"},
			"failover": {"+/run/oooi/failover", plan, podinfo, "/run/oooi/dns", "/run/oooi/ntp"},
		}},
		"time only": {[]network.Service{network.ServiceNTP}, map[string][]string{
			"ntp":      {"+/run/oooi/ntp", plan, podinfo, "/run/oooi/failover", token},
			"failover": {"+/run/oooi/failover", plan, podinfo, "/run/oooi/ntp"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := served(t, "lb-ip")
			plan.Networks[0].Services = c.services
			pod := edge(t, w, plan).Spec.Template.Spec
			g.Expect(*pod.AutomountServiceAccountToken).To(BeFalse())
			g.Expect(mountsOf(pod)).To(Equal(c.mounts))
			for _, v := range pod.Volumes {
				if v.EmptyDir != nil {
					g.Expect(v.EmptyDir.Medium).To(Equal(corev1.StorageMediumMemory), v.Name)
					g.Expect(v.EmptyDir.SizeLimit.Value()).To(And(BeNumerically(">", 0), BeNumerically("<=", 32<<20)), v.Name)
				}
			}
			for _, c := range pod.Containers {
				if strings.HasPrefix(c.Name, "envoy") {
					continue
				}
				holds := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "token" })
				g.Expect(slices.Contains(c.Args, "--watch")).To(Equal(holds), c.Name)
			}
		})
	}
}

// TestEnvoyHasItsSockets: the sockets that Envoy and the proxy use are in what they mount.
func TestEnvoyHasItsSockets(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	mounts := mountsOf(edge(t, w, plan).Spec.Template.Spec)
	g.Expect(mounts["proxy"]).To(ContainElement("+" + filepath.Dir(resources.NewDirs(wire.EnvoyDirs(wire.RunDir)).XDS())))
	for _, socket := range []string{resources.NewDirs(wire.EnvoyDirs(wire.RunDir)).Admin(), resources.NewDirs(wire.EnvoyDirs(wire.RunDir)).Reach()} {
		g.Expect(mounts["envoy"]).To(ContainElement("+" + filepath.Dir(socket)))
		g.Expect(mounts["failover"]).To(ContainElement(filepath.Dir(socket)))
	}
}
