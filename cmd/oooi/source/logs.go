// This file reads the logs of containers.

package source

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// logLines is the number of lines that are read from the end of each container's log.
const logLines = 20_000

// A LogReader returns the log of a container. If previous is true, it returns the log of the run before the last restart.
type LogReader func(ctx context.Context, pod client.ObjectKey, container string, previous bool) (io.ReadCloser, error)

// LogsOf returns a LogReader that reads the last logLines lines through the API server.
func LogsOf(set kubernetes.Interface) LogReader {
	return func(ctx context.Context, pod client.ObjectKey, container string, previous bool) (io.ReadCloser, error) {
		o := &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: new(int64(logLines))}
		return set.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, o).Stream(ctx)
	}
}

// A Container is a container whose logs are read.
type Container struct {
	Name               string
	Running, Restarted bool
}

// ContainersOf returns the containers of a pod that have started.
func ContainersOf(o unstructured.Unstructured) (out []Container) {
	var pod corev1.Pod
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &pod) != nil {
		return nil
	}
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if s.State.Waiting == nil || s.RestartCount > 0 {
			out = append(out, Container{s.Name, s.State.Running != nil, s.RestartCount > 0})
		}
	}
	return out
}
