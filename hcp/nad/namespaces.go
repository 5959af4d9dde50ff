// This file decides whether Multus lets VMs use a NetworkAttachmentDefinition of
// another namespace.

package nad

// globalNamespaces are those whose definitions pods of every namespace may use
// where OpenShift's network operator runs Multus.
func globalNamespaces() []string {
	return []string{"default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv"}
}

// AllowedNamespaces are the namespaces whose definitions VMs in the namespace own may use
// where Multus isolates namespaces.
func AllowedNamespaces(own string) []string { return append([]string{own}, globalNamespaces()...) }
