// This file lists the namespaces whose NetworkAttachmentDefinitions VMs can use.

package nad

// AllowedNamespaces returns the namespaces whose NADs VMs in namespace own can use if Multus isolates namespaces: own
// first, then those that OpenShift's network operator configures for all pods.
func AllowedNamespaces(own string) []string {
	return []string{own, "default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv"}
}
