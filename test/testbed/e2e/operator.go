// This file installs oooi on a testbed from config/, with the images of this checkout. It changes only images in the manifests.

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/host"
)

// Namespace is the operator's namespace.
const Namespace = "oooi-system"

// InstallOperator builds the images of this checkout, applies config/default with them, and waits until the operator is ready.
func InstallOperator(ctx context.Context, c *cluster.Cluster) error {
	root, err := host.ProjectDir()
	if err != nil {
		return err
	}
	return InstallFrom(ctx, c, filepath.Join(root, "config", "default"))
}

// InstallFrom does the same as InstallOperator, but applies the kustomization in dir, which contains config/default.
func InstallFrom(ctx context.Context, c *cluster.Cluster, dir string) error {
	if err := c.LoadImages(ctx, "oooi", "oooi-edge", "envoy"); err != nil {
		return err
	}
	manifest, err := Manifests(dir)
	if err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, "-n", Namespace, "get", "deployment", "oooi")
	wasThere := err == nil
	if err := c.Apply(ctx, manifest); err != nil {
		return err
	}
	if wasThere { // The name of the image does not change with its content.
		if _, err := c.Kubectl(ctx, "-n", Namespace, "rollout", "restart", "deployment/oooi"); err != nil {
			return err
		}
	}
	_, err = c.Kubectl(ctx, "-n", Namespace, "rollout", "status", "deployment/oooi", "--timeout="+await.Patience.String())
	return err
}

// Manifests returns the manifests of the kustomization in dir. The operator and its edges run the testbed's images.
func Manifests(dir string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	var out bytes.Buffer
	for _, r := range built.Resources() {
		doc, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		if r.GetKind() == "Deployment" && r.GetName() == "oooi" {
			if doc, err = runDevelopmentImages(doc); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(&out, "---\n%s", doc)
	}
	return out.Bytes(), nil
}

// runDevelopmentImages returns manifest, the operator's Deployment, with the testbed's images for the operator and its edges.
func runDevelopmentImages(manifest []byte) ([]byte, error) {
	var deployment apps.Deployment
	if err := yaml.UnmarshalStrict(manifest, &deployment); err != nil {
		return nil, fmt.Errorf("the operator's Deployment: %w", err)
	}
	containers := deployment.Spec.Template.Spec.Containers
	if len(containers) != 1 {
		return nil, fmt.Errorf("the operator's Deployment has %d containers, not one", len(containers))
	}
	manager := &containers[0]
	manager.Image, manager.ImagePullPolicy = cluster.OooiImage, core.PullIfNotPresent
	images := map[string]string{"RELATED_IMAGE_EDGE": cluster.EdgeImage, "RELATED_IMAGE_ENVOY": cluster.EnvoyImage}
	for i := range manager.Env {
		if image, found := images[manager.Env[i].Name]; found {
			manager.Env[i].Value = image
			delete(images, manager.Env[i].Name)
		}
	}
	if len(images) > 0 {
		return nil, fmt.Errorf("the operator's Deployment lacks the variables %v", images)
	}
	return yaml.Marshal(deployment)
}
