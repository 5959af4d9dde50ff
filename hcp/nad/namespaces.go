// This file lists the namespaces whose NetworkAttachmentDefinitions VMs can use.

package nad

// globalNamespaces is OpenShift's list for Multus: all pods can use their NADs.
func globalNamespaces() []string {
	return []string{"default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv"}
}

// AllowedNamespaces returns the namespaces whose NetworkAttachmentDefinitions VMs in
// namespace own can use if Multus isolates namespaces. The first one is own.
func AllowedNamespaces(own string) []string { return append([]string{own}, globalNamespaces()...) }
