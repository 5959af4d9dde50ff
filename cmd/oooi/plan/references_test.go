package plan

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

const (
	// sharedNAD is a NetworkAttachmentDefinition in the namespace of Multus' shared ones.
	sharedNAD = "\n---\napiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {namespace: default, name: shared}\n" +
		"spec: {config: '{\"cniVersion\": \"0.3.1\", \"name\": \"shared\", \"type\": \"bridge\", \"bridge\": \"br3\"}'}\n"
	// storagePool is a NodePool whose VMs boot from vlan300 and have another network.
	storagePool = "\n---\napiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {namespace: clusters, name: storage}\n" +
		"spec: {clusterName: green, replicas: 1, platform: {type: KubeVirt, kubevirt: {attachDefaultNetwork: false, additionalNetworks: [{name: clusters-green/vlan300}, {name: clusters-green/vlan301}]}}}\n"
	otherPool = "\n---\napiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {namespace: clusters, name: other}\n" +
		"spec: {clusterName: NAME, replicas: 1, platform: {type: KubeVirt, kubevirt: {attachDefaultNetwork: false, additionalNetworks: [{name: clusters-green/vlan300}]}}}\n"
)

// TestMistakes: a mistake in files that have everything is the first that both commands say, and both exit with 2.
func TestMistakes(t *testing.T) {
	const cluster, key = "HostedCluster clusters/green", "hostedcluster.densityops.com/"
	for name, c := range map[string]struct {
		replace []string // pairs
		further string
		says    []string // on top of the plan: standard error, and what comes before the first empty line
		object  string   // with the finding
	}{
		"another network":                                        {replace: []string{"clusters-green/vlan300", "clusters-green/vlan30"}, says: []string{"NodePool workers names network clusters-green/vlan30,", "Did you mean clusters-green/vlan300?"}, object: "NodePool clusters/workers"},
		"digits in another order":                                {replace: []string{"clusters-green/vlan300", "clusters-green/vlan030"}, says: []string{"Did you mean clusters-green/vlan300?"}, object: "NodePool clusters/workers"},
		"another namespace":                                      {replace: []string{"clusters-green/vlan300", "clusters/vlan300"}, says: []string{"names network clusters/vlan300,", "Did you mean clusters-green/vlan300?"}, object: "NodePool clusters/workers"},
		"the namespace left out":                                 {replace: []string{"{name: clusters-green/vlan300}", "{name: shraed}"}, further: sharedNAD, says: []string{"names network clusters-green/shraed,", "Did you mean default/shared?"}, object: "NodePool clusters/workers"},
		"a network with no similar name":                         {replace: []string{"clusters-green/vlan300", "clusters-green/production"}, says: []string{"names network clusters-green/production,", "the input has vlan300."}, object: "NodePool clusters/workers"},
		"a NetworkAttachmentDefinition beside the HostedCluster": {replace: []string{"namespace: clusters-green", "namespace: clusters"}, says: []string{"names network clusters-green/vlan300, which is not in the input. The input has clusters/vlan300.", "Set metadata.namespace of clusters/vlan300 to clusters-green"}, object: "NodePool clusters/workers"},
		"an additional network":                                  {further: storagePool, says: []string{"NodePool storage names network clusters-green/vlan301,", "Did you mean clusters-green/vlan300?"}, object: "NodePool clusters/storage"},
		"another hosted cluster":                                 {replace: []string{"clusterName: green", "clusterName: gren"}, says: []string{"NodePool clusters/workers names HostedCluster clusters/gren,", "Did you mean clusters/green?"}, object: "NodePool clusters/workers"},
		"letters in another order":                               {replace: []string{"clusterName: green", "clusterName: geren"}, says: []string{"Did you mean clusters/green?"}, object: "NodePool clusters/workers"},
		"a hosted cluster of no similar name":                    {replace: []string{"clusterName: green", "clusterName: production"}, says: []string{"names HostedCluster clusters/production,", "Did you mean clusters/green?"}, object: "NodePool clusters/workers"},
		"no hosted cluster":                                      {replace: []string{"  clusterName: green\n", ""}, says: []string{"NodePool clusters/workers names HostedCluster clusters/,", "Did you mean clusters/green?"}, object: "NodePool clusters/workers"},
		"a NodePool in another namespace":                        {replace: []string{"namespace: clusters\n  name: workers", "namespace: default\n  name: workers"}, says: []string{"NodePool default/workers names HostedCluster default/green,", "Did you mean clusters/green?"}, object: "NodePool default/workers"},
		"one NodePool of two":                                    {further: strings.ReplaceAll(otherPool, "NAME", "greeen"), says: []string{"NodePool clusters/other names HostedCluster clusters/greeen,", "Did you mean clusters/green?"}, object: "NodePool clusters/other"},
		"a NodePool of nothing":                                  {further: strings.ReplaceAll(otherPool, "NAME", "production"), says: []string{"NodePool clusters/other names HostedCluster clusters/production,"}, object: "NodePool clusters/other"},

		"the pod network is still attached":          {replace: []string{"      attachDefaultNetwork: false\n", ""}, says: []string{"Set spec.platform.kubevirt.attachDefaultNetwork of NodePool workers to false."}, object: "NodePool clusters/workers"},
		"it is attached by a misspelled field":       {replace: []string{"attachDefaultNetwork:", "attachDefaultNetworks:"}, says: []string{"Set spec.platform.kubevirt.attachDefaultNetwork of NodePool workers to false."}, object: "NodePool clusters/workers"},
		"it is attached, and no machineNetwork":      {replace: []string{"      attachDefaultNetwork: false\n", "", "    machineNetwork: [{cidr: 10.20.30.0/24}]\n", ""}, says: []string{"Set spec.platform.kubevirt.attachDefaultNetwork of NodePool workers to false."}, object: "NodePool clusters/workers"},
		"it is attached to one NodePool of two":      {further: strings.NewReplacer("NAME", "green", "attachDefaultNetwork: false, ", "").Replace(otherPool), says: []string{"Set spec.platform.kubevirt.attachDefaultNetwork of NodePool other to false"}, object: cluster},
		"a second network to boot from has no CIDR":  {further: strings.NewReplacer("NAME", "green", "clusters-green/vlan300", "default/shared").Replace(otherPool) + sharedNAD, says: []string{"Network clusters-green/vlan300 has no IPv4 CIDR.", "Set annotation cidr.workers on the HostedCluster"}, object: cluster},
		"an MTU above that of the network":           {replace: []string{key + "network: auto\n", key + "network: auto\n    " + key + "mtu: '9000'\n", "\"vlan\": 300", "\"vlan\": 300, \"mtu\": 1500"}, says: []string{"Annotation mtu (9000) is larger than the MTU", "Set annotation mtu to 1500 or less"}, object: cluster},
		"an edge address for *.apps":                 {replace: []string{key + "network: auto\n", key + "network: auto\n    " + key + "apps-address: 10.20.30.3\n"}, says: []string{"Annotation apps-address (10.20.30.3) is an edge address"}, object: cluster},
		"more VMs than addresses":                    {replace: []string{"replicas: 3", "replicas: 300"}, says: []string{"has 244 DHCP addresses, but NodePool workers may run 301 VMs"}, object: cluster},
		"more VMs than addresses, with autoscaling":  {replace: []string{"replicas: 3", "autoScaling: {min: 2, max: 400}"}, says: []string{"has 244 DHCP addresses, but NodePool workers may run 401 VMs"}, object: cluster},
		"a label in place of the annotation":         {replace: []string{"  annotations:\n", "  labels:\n"}, says: []string{key + "network: Label network of HostedCluster green has no effect. Set it as an annotation."}, object: cluster},
		"a label next to the annotation":             {replace: []string{"  annotations:\n", "  labels: {" + key + "mtu: '1400'}\n  annotations:\n"}, says: []string{"Label mtu of HostedCluster green has no effect."}, object: cluster},
		"the annotation on the NodePool":             {replace: []string{"    " + key + "network: auto\n", "    other: x\n", "annotations: {}", "annotations: {" + key + "network: auto}"}, says: []string{"Annotation network has no effect on NodePool workers. Set it on one of: HostedCluster."}, object: "NodePool clusters/workers"},
		"the prefix of HyperShift":                   {replace: []string{key, "hypershift.openshift.io/"}, says: []string{"hypershift.openshift.io/network with a wrong prefix", "Set " + key + "network."}, object: cluster},
		"half a prefix":                              {replace: []string{key, "densityops.com/"}, says: []string{"Set " + key + "network."}, object: cluster},
		"the prefix of the kind":                     {replace: []string{"annotations: {}", "annotations: {nodepool.densityops.com/mtu: '1400'}"}, says: []string{"Set " + key + "mtu."}, object: "NodePool clusters/workers"},
		"no prefix":                                  {replace: []string{key, ""}, says: []string{"Set " + key + "network."}, object: cluster},
		"the prefix of HyperShift for a further key": {replace: []string{key + "network: auto\n", key + "network: auto\n    hypershift.openshift.io/dhcp-range: 10.20.30.100-10.20.30.150\n"}, says: []string{"Set " + key + "dhcp-range."}, object: cluster},
		"a misspelled key":                           {replace: []string{key + "network: auto\n", key + "network: auto\n    " + key + "dhcp-rnage: 10.20.30.100-10.20.30.150\n"}, says: []string{"Annotation dhcp-rnage of HostedCluster green does not exist", "Did you mean dhcp-range?"}, object: cluster},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			good := read(t, filepath.Join("testdata", "green.yaml"))
			text := good
			for i := 0; i < len(c.replace); i += 2 {
				g.Expect(text).To(ContainSubstring(c.replace[i]))
				text = strings.Replace(text, c.replace[i], c.replace[i+1], 1)
			}
			text += c.further
			stdout, stderr, code := oooiPlan(t, text, "-f", "-")
			top, _, _ := strings.Cut(stdout, "\n\n")
			for _, s := range c.says {
				g.Expect(stderr + top).To(ContainSubstring(s))
			}
			g.Expect(code).To(Equal(command.ExitFault), stdout)
			found, _, code := oooi(t, text, "lint", "-f", "-")
			g.Expect(code).To(Equal(command.ExitFault))
			for _, s := range c.says {
				g.Expect(found).To(ContainSubstring(s))
			}
			g.Expect(found).To(MatchRegexp("standard input:(\\d+:)? " + regexp.QuoteMeta(c.object) + ": "))
		})
	}
}

// TestNoMistakes: what is right, or may be in other files, is no finding.
func TestNoMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		replace []string
		further string
		code    int
		says    string
	}{
		"all is well":                     {code: command.ExitUnknown, says: "not created yet"},
		"no NetworkAttachmentDefinition":  {replace: []string{"kind: NetworkAttachmentDefinition", "kind: Other"}, code: command.ExitUnknown, says: "clusters-green/vlan300 is not in the input"},
		"only those of another namespace": {replace: []string{"clusters-green/vlan300", "default/production", "namespace: clusters-green", "namespace: clusters-teal"}, code: command.ExitUnknown, says: "default/production is not in the input"},
		"a NodePool of another namespace": {further: strings.NewReplacer("NAME", "teal", "namespace: clusters", "namespace: elsewhere").Replace(otherPool), code: command.ExitUnknown, says: "not created yet"},
		"other annotations":               {replace: []string{"annotations: {}", "annotations: {example.com/mtu: '1400', owner: lab, hypershift.openshift.io/restart-date: x}"}, code: command.ExitUnknown, says: "not created yet"},
		"an additional network is served": {replace: []string{"      attachDefaultNetwork: false\n", "", "name: vlan300}", "name: vlan300, annotations: {hostedcluster.densityops.com/cidr: 10.20.31.0/24}}"}, says: "VMs boot from the pod network. They get addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text := read(t, filepath.Join("testdata", "green.yaml"))
			for i := 0; i < len(c.replace); i += 2 {
				g.Expect(text).To(ContainSubstring(c.replace[i]))
				text = strings.Replace(text, c.replace[i], c.replace[i+1], 1)
			}
			stdout, stderr, code := oooiPlan(t, text+c.further, "-f", "-")
			g.Expect(stderr).To(BeEmpty())
			g.Expect(code).To(Equal(c.code), stdout)
			g.Expect(stdout).To(ContainSubstring(c.says))
			found, _, code := oooi(t, text+c.further, "lint", "-f", "-")
			g.Expect(found).To(Equal("Checked 1 file with 1 HostedCluster: 0 findings.\n"))
			g.Expect(code).To(BeZero())
		})
	}
}

// TestFleet: files of two management clusters in one directory do not hide each other's errors. Of each alone, the
// commands say what is true.
func TestFleet(t *testing.T) {
	// hypershift create cluster --render writes a status.
	good := strings.ReplaceAll(read(t, filepath.Join("testdata", "green.yaml")), "\nspec:\n", "\nstatus: {replicas: 0, controlPlaneEndpoint: {host: '', port: 0}}\nspec:\n")
	bad := strings.Replace(good, "network: auto\n", "network: auto\n    hostedcluster.densityops.com/lease-time: 1 hour\n", 1)
	for name, files := range map[string][2]string{"the first is wrong": {bad, good}, "the last is wrong": {good, bad}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := manifests(t, map[string]string{"east.yaml": files[0], "west.yaml": files[1]})
			found, stderr, code := oooi(t, "", "lint", "-f", dir)
			g.Expect(stderr).To(BeEmpty())
			g.Expect(code).To(Equal(command.ExitFault))
			g.Expect(found).To(And(
				ContainSubstring(dir+"/east.yaml:2: HostedCluster clusters/green: metadata.name: HostedCluster clusters/green is also in "+dir+"/west.yaml, and differs."),
				ContainSubstring("run oooi once for each"),
				ContainSubstring(`Annotation lease-time of HostedCluster green has the invalid value "1 hour".`)))
			g.Expect(strings.Count(found, "\n")).To(Equal(3), "NodePools and networks are equal: %s", found)
			_, stderr, code = oooiPlan(t, "", "-f", dir)
			g.Expect(stderr).To(ContainSubstring("is also in " + dir + "/west.yaml, and differs."))
			g.Expect(code).To(Equal(command.ExitFault))
			_, stderr, code = oooi(t, "", "lint", "-f", dir, "--strict")
			g.Expect(stderr).To(ContainSubstring("differs"))
			g.Expect(code).To(Equal(command.ExitNoAnswer))
			for i, file := range []string{"east.yaml", "west.yaml"} {
				_, _, code := oooi(t, "", "lint", "-f", filepath.Join(dir, file))
				g.Expect(code == command.ExitFault).To(Equal(files[i] == bad))
			}
		})
	}
}
