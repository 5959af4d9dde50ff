// What the admission policy refuses, one violation at a time.

package cluster

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func testRestricted(t *testing.T, c *Cluster) {
	good := pod("judged", "", lowPorts, "true")
	cases := []struct {
		name      string
		old, new  string // one change to a good pod
		complaint string // "" means the pod is taken
	}{
		{"as OpenShift wants it", "", "", ""},
		{"another's pod may do as it likes", "part-of: oooi", "part-of: another", ""},
		{"a uid", "runAsNonRoot: true", "runAsNonRoot: true, runAsUser: 65532", "may not name its user"},
		{"a gid", "runAsNonRoot: true", "runAsNonRoot: true, runAsGroup: 65532", "may not name its user"},
		{"a group of files", "runAsNonRoot: true", "runAsNonRoot: true, fsGroup: 65532", "may not name its user"},
		{"further groups", "runAsNonRoot: true", "runAsNonRoot: true, supplementalGroups: [5]", "may not name its user"},
		{"a container's uid", "drop: [ALL]}", "drop: [ALL]}, runAsUser: 65532", "container may not name its user"},
		{"an init container's uid", "  containers:", "  initContainers: [{name: i, image: x, securityContext: {runAsUser: 5, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]\n  containers:", "container may not name its user"},
		{"a capability", "drop: [ALL]", "drop: [ALL], add: [NET_BIND_SERVICE]", "no capability may be added"},
		{"capabilities kept", "drop: [ALL]", "drop: [NET_RAW]", "must drop ALL"},
		{"privileged", "allowPrivilegeEscalation: false, ", "privileged: true, ", "may be privileged"},
		{"privilege escalation", "allowPrivilegeEscalation: false, ", "", "allowPrivilegeEscalation"},
		{"perhaps root", "runAsNonRoot: true, ", "", "runAsNonRoot"},
		{"root after all", "drop: [ALL]}", "drop: [ALL]}, runAsNonRoot: false", "runAsNonRoot"},
		{"no seccomp", "seccompProfile: {type: RuntimeDefault}, ", "", "seccomp"},
		{"a container's own seccomp", "drop: [ALL]}", "drop: [ALL]}, seccompProfile: {type: Unconfined}", "seccomp"},
		{"an SELinux label", "runAsNonRoot: true", "runAsNonRoot: true, seLinuxOptions: {level: 's0:c1'}", "SELinux"},
		{"AppArmor off", "drop: [ALL]}", "drop: [ALL]}, appArmorProfile: {type: Unconfined}", "AppArmor"},
		{"the node's network", ", sysctls: [" + lowPorts + "]}\n", "}\n  hostNetwork: true\n", "node's network"},
		{"the node's processes", "spec:\n", "spec:\n  hostPID: true\n", "node's network"},
		{"the node's IPC", "spec:\n", "spec:\n  hostIPC: true\n", "node's network"},
		{"a host port", "    imagePullPolicy", "    ports: [{containerPort: 443, hostPort: 443}]\n    imagePullPolicy", "host ports"},
		{"a host path", "spec:\n", "spec:\n  volumes: [{name: v, hostPath: {path: /}}]\n", "volumes may only be"},
		{"NFS", "spec:\n", "spec:\n  volumes: [{name: v, nfs: {server: s, path: /}}]\n", "volumes may only be"},
		{"volumes that are allowed", "spec:\n", "spec:\n  volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: c}}, {name: d, secret: {secretName: s}}]\n", ""},
		{"a sysctl outside the safe set", "net.ipv4.ip_unprivileged_port_start, value: \"0\"", "net.ipv4.ip_forward, value: \"1\"", "sysctls"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.old != "" {
				g.Expect(strings.Count(good, tc.old)).To(BeNumerically(">", 0), "the case changes nothing")
			}
			cmd := c.Command(t.Context(), c.Bin("kubectl"), "create", "--dry-run=server", "-f", "-")
			cmd.Stdin = strings.NewReader(strings.Replace(good, tc.old, tc.new, 1))
			out, err := cmd.CombinedOutput()
			if tc.complaint == "" {
				g.Expect(err).NotTo(HaveOccurred(), string(out))
				return
			}
			g.Expect(err).To(HaveOccurred())
			g.Expect(string(out)).To(And(ContainSubstring("restricted-v2"), ContainSubstring(tc.complaint)))
		})
	}
}
