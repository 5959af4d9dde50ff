package hypershift

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestBalanced: the copy is as the cloud controller writes it, with the labels that HyperShift and others look for.
func TestBalanced(t *testing.T) {
	g := NewWithT(t)
	var s corev1.Service
	g.Expect(yaml.Unmarshal(guestLoadBalancer, &s)).To(Succeed())
	s.UID = "4f6c1de0-b7e9-4d2f-8a51-c3e9d2b7f60a"
	s.Spec.ClusterIP, s.Spec.HealthCheckNodePort = "172.31.0.9", 31990
	s.Spec.Ports[0].NodePort, s.Spec.Ports[1].NodePort = 30080, 30443

	text, err := yaml.Marshal(balanced(s, "clusters-blue", "blue-abcde", "blue-12345"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(MatchYAML(`
metadata:
  name: a4f6c1de0b7e94d2f8a51c3e9d2b7f60
  namespace: clusters-blue
  annotations: {traffic-policy.network.alpha.openshift.io/local-with-fallback: ""}
  labels:
    cluster.x-k8s.io/cluster-name: blue-abcde
    cluster.x-k8s.io/tenant-service-name: router-default
    cluster.x-k8s.io/tenant-service-namespace: openshift-ingress
    hypershift.openshift.io/infra-id: blue-12345
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  healthCheckNodePort: 31990
  ports:
  - {name: http, protocol: TCP, port: 80, targetPort: 30080}
  - {name: https, protocol: TCP, port: 443, targetPort: 30443}
status: {loadBalancer: {}}
`))
}
