// This file copies the data of a hosted cluster's etcd, as a snapshot of its volume does, and puts a copy back.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// etcdClaim is the name of the claim for the volume of a hosted cluster's etcd.
const etcdClaim = "data-etcd-0"

// etcdDir waits until the volume of etcd exists, and returns its directory.
func (h Hosted) etcdDir(ctx context.Context) (dir string, err error) {
	err = Until(ctx, func(ctx context.Context) (bool, error) {
		var claim core.PersistentVolumeClaim
		if err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace(), Name: etcdClaim}, &claim); err != nil {
			return false, err
		}
		var volume core.PersistentVolume
		if err := h.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, &volume); err != nil {
			return false, err
		}
		dir = volume.Spec.HostPath.Path
		return claim.Status.Phase == core.ClaimBound, nil
	})
	return dir, err
}

// saveEtcd copies the data of etcd to a new directory below dir, and returns that. The processes of etcd are frozen meanwhile.
func (h Hosted) saveEtcd(ctx context.Context, dir string) (saved string, err error) {
	from, err := h.etcdDir(ctx)
	if err != nil {
		return "", err
	}
	var pod core.Pod
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace(), Name: "etcd-0"}, &pod); err != nil {
		return "", err
	}
	pids := process.ContainerProcesses(string(pod.UID))
	if len(pids) == 0 {
		return "", errors.New("etcd has no process")
	}
	for _, pid := range pids {
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return "", fmt.Errorf("process %d of etcd: %w", pid, err)
		}
	}
	saved = filepath.Join(dir, "etcd")
	_, err = host.Output(h.Cluster.Command(ctx, "cp", "-a", from, saved))
	return saved, err
}

// putEtcd replaces the data of an etcd that does not run with a copy of saveEtcd.
func (h Hosted) putEtcd(ctx context.Context, saved string) error {
	to, err := h.etcdDir(ctx)
	if err != nil {
		return err
	}
	_, err = host.Output(h.Cluster.Command(ctx, "sh", "-euc", `rm -rf "$2/data"; cp -a "$1/data" "$2/"`, "sh", saved, to))
	return err
}
