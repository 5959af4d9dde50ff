// This file decides the rights in a control plane namespace: those of edges, and those that the operator needs to write
// there.

package desired

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/cldmnky/oooi/edge/wire"
)

// EdgeRole returns the rights of an edge in its own namespace: to follow its plan, its backends and its VMs, and to
// write its leases. Unlike a ClusterRole, it exists as long as the edges do. Admission policy oooi-operator admits no
// other rights.
func EdgeRole(ns string) *rbacv1ac.RoleApplyConfiguration {
	rule := func(group, resource string, verbs ...string) *rbacv1ac.PolicyRuleApplyConfiguration {
		return rbacv1ac.PolicyRule().WithAPIGroups(group).WithResources(resource).WithVerbs(verbs...)
	}
	return rbacv1ac.Role(wire.ServiceAccount, ns).WithRules(
		rule(corev1.GroupName, "configmaps", "get", "list", "watch").WithResourceNames(wire.PlanConfigMap),
		rule(discoveryv1.GroupName, "endpointslices", "list", "watch"),
		rule(wire.KubeVirtGroup, "virtualmachineinstances", "list", "watch"),
		rule(coordinationv1.GroupName, "leases", "get", "list", "watch", "create", "update", "delete"),
	)
}

// EdgeBinding returns the RoleBinding that gives the edges of a namespace the Role of the same name.
func EdgeBinding(ns string) *rbacv1ac.RoleBindingApplyConfiguration {
	return RoleBinding("Role", wire.ServiceAccount, ns, wire.ServiceAccount, ns)
}

// RoleBinding returns a RoleBinding of the role of this kind to a ServiceAccount. The role has the same name as the binding.
func RoleBinding(kind, name, ns, account, accountNS string) *rbacv1ac.RoleBindingApplyConfiguration {
	return rbacv1ac.RoleBinding(name, ns).
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind(kind).WithName(name)).
		WithSubjects(rbacv1ac.Subject().WithKind(rbacv1.ServiceAccountKind).WithName(account).WithNamespace(accountNS))
}
