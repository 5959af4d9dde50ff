// Package velero plays a backup and a restore by Velero with HyperShift's plugin for OADP, by their rules. Velero itself needs 1,500
// packages, with the clients of three clouds. Each rule names its place upstream: "velero" is vmware-tanzu/velero v1.18.3, and
// "plugin" is openshift/hypershift-oadp-plugin at f8c5bfb0.
package velero

import (
	"context"
	"maps"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Excluded is the label of objects that Velero does not save (velero pkg/backup/item_backupper.go:116).
	Excluded = "velero.io/exclude-from-backup"
	// BackupLabel and RestoreLabel are labels of restored objects (velero pkg/restore/restore.go:2452).
	BackupLabel, RestoreLabel = "velero.io/backup-name", "velero.io/restore-name"

	// bootImage is the label of volumes with the image from which VMs boot.
	bootImage = "hypershift.openshift.io/is-kubevirt-rhcos"
)

// Kinds returns the kinds of objects in namespaces that the plugin's example of a backup includes (plugin
// examples/kubevirt/03-backup-kubevirt.yaml:12), in the order in which Velero restores them: the first eight are in its list
// (velero pkg/cmd/server/config/config.go:113), the others follow by resource name (velero pkg/restore/restore.go:688), and Clusters
// are last. A PersistentVolume is not restored if its data is moved (velero pkg/restore/restore.go:1538).
func Kinds() []schema.GroupVersionKind {
	capk := schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1"}
	return []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		rbacv1.SchemeGroupVersion.WithKind("Role"),
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("Service"),
		schema.GroupVersion{Group: "cdi.kubevirt.io", Version: "v1beta1"}.WithKind("DataVolume"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		hyperv1.GroupVersion.WithKind("HostedCluster"),
		hyperv1.GroupVersion.WithKind("HostedControlPlane"),
		capk.WithKind("KubevirtCluster"),
		capk.WithKind("KubevirtMachineTemplate"),
		hyperv1.GroupVersion.WithKind("NodePool"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		routev1.GroupVersion.WithKind("Route"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta1"}.WithKind("Cluster"),
	}
}

// Save returns what a backup of these namespaces contains, in the order of a restore.
func Save(ctx context.Context, c client.Client, namespaces ...string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, name := range namespaces { // Each item is restored with its namespace (velero pkg/restore/restore.go:1444).
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := c.Get(ctx, client.ObjectKey{Name: name}, u); err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	for _, kind := range Kinds() {
		for _, name := range namespaces {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			if err := c.List(ctx, list, client.InNamespace(name)); err != nil {
				return nil, err
			}
			for i := range list.Items {
				if saved(&list.Items[i]) {
					out = append(out, &list.Items[i])
				}
			}
		}
	}
	return out, nil
}

// saved reports whether a backup contains u.
func saved(u *unstructured.Unstructured) bool {
	_, boots := u.GetLabels()[bootImage]
	switch u.GetKind() {
	case "PersistentVolumeClaim", "DataVolume": // plugin pkg/core/backup.go:260
		if boots {
			return false
		}
	}
	return u.GetLabels()[Excluded] != "true"
}

// Restore creates or changes an object as a backup saved it, with existingResourcePolicy "update".
func Restore(ctx context.Context, c client.Client, saved *unstructured.Unstructured) error {
	u := saved.DeepCopy()
	reset(u)
	if adapt(u); skipped(u) {
		return nil
	}
	labels := maps.Clone(u.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[BackupLabel], labels[RestoreLabel] = "b", "r" // velero pkg/restore/restore.go:1794
	u.SetLabels(labels)
	managed := u.GetManagedFields()
	u.SetManagedFields(nil)
	if err := c.Create(ctx, u); apierrors.IsAlreadyExists(err) {
		u = u.DeepCopy()
		u.SetManagedFields(managed)
		return update(ctx, c, u)
	} else if err != nil {
		return err
	}
	before := u.DeepCopy()
	u.SetManagedFields(managed) // velero pkg/restore/restore.go:2023
	return client.IgnoreNotFound(c.Patch(ctx, u, client.MergeFrom(before)))
}

// reset removes what belongs to the old instance of u, such as its owners.
func reset(u *unstructured.Unstructured) {
	for _, field := range []string{ // velero pkg/restore/restore.go:2416, resetMetadata
		"generateName", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "ownerReferences",
	} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(u.Object, "status") // velero pkg/restore/restore.go:2437, resetStatus
}

// adapt does what the actions of Velero and the plugin do to u.
func adapt(u *unstructured.Unstructured) {
	annotations := maps.Clone(u.GetAnnotations())
	switch u.GetKind() {
	case "Service": // velero pkg/restore/actions/service_action.go:57. Its node ports stay (plugin examples/kubevirt/04-restore-kubevirt.yaml:16).
		if address, _, _ := unstructured.NestedString(u.Object, "spec", "clusterIP"); address != "None" {
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIPs")
		}
	case "PersistentVolumeClaim": // velero pkg/restore/actions/pvc_action.go:96 and pkg/restore/restore.go:1763
		maps.DeleteFunc(annotations, func(key, _ string) bool {
			return strings.HasPrefix(key, "pv.kubernetes.io/b") || strings.HasPrefix(key, "volume.")
		})
		unstructured.RemoveNestedField(u.Object, "spec", "volumeName")
	case "HostedCluster": // plugin pkg/core/restore.go:232
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[hyperv1.HostedClusterRestoredFromBackupAnnotation] = ""
	}
	u.SetAnnotations(annotations)
}

// skipped reports whether u is not restored: Kubernetes creates tokens of ServiceAccounts itself (velero
// pkg/restore/actions/secret_action.go:86).
func skipped(u *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(u.Object, "type")
	return u.GetKind() == "Secret" && kind == string(corev1.SecretTypeServiceAccountToken)
}

// update changes the object that exists to u. The owners and the status of the object stay, because the patch does not contain them.
func update(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	switch u.GetKind() {
	case "Namespace", // velero pkg/restore/restore.go:1444 only creates it.
		"ServiceAccount": // velero pkg/restore/restore.go:1890 only adds Secrets, and none are left of a current Kubernetes.
		return nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(u.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(u), live); err != nil {
		return err
	}
	reset(live)
	patch, err := client.MergeFrom(live).Data(u)
	if err != nil {
		return err
	}
	_ = c.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch)) // An error is a warning (velero pkg/restore/restore.go:2945).
	return nil
}
