// This file reads the plan of the hosted cluster, and the published keys of the API server. It decides nothing.

package kube

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/cldmnky/oooi/edge/wire"
)

// FollowPlan calls take with the plan in the ConfigMap, at first and at each change, until ctx
// ends.
func (k *Kube) FollowPlan(ctx context.Context, take func(plan string)) {
	only := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", wire.PlanConfigMap).String()
	}
	watch := func(c *corev1.ConfigMap) { take(c.Data[wire.PlanKey]) }
	follow(ctx, k.lister(k.clients.core, "configmaps", only), &corev1.ConfigMap{}, nil, on(watch, nil), nil)
}

const (
	// keysPath is the path at which every ServiceAccount may read the keys. keysTimeout limits one request.
	keysPath, keysTimeout = "/openid/v1/jwks", 10 * time.Second
)

// TokenKeys returns the published keys of the API server, a JSON Web Key Set.
func (k *Kube) TokenKeys(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	return k.clients.core.Get().AbsPath(keysPath).SetHeader("Accept", "application/jwk-set+json, application/json").Do(ctx).Raw()
}
