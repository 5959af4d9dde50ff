// This file lists the namespaces whose NetworkAttachmentDefinitions VMs can use.

package nad

// AllowedNamespaces returns the namespaces whose NADs VMs can use if Multus isolates namespaces. The first is own, the
// namespace of the VMs. Then come those that OpenShift's network operator configures for all pods.
func AllowedNamespaces(own string) []string {
	return []string{own, "default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv"}
}
