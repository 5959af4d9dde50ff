// This file gets tokens of a ServiceAccount, and keeps them in memory only.

package localaccess

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// accountTokenLifetime is the requested lifetime of a token. The API server may choose another one.
const accountTokenLifetime = time.Hour

// accountTokens requests tokens of one ServiceAccount, and keeps the last one until it expires.
type accountTokens struct {
	request func(ctx context.Context) (token string, lifetime time.Duration, err error)
	now     func() time.Time

	mu              sync.Mutex
	token           string
	renews, expires time.Time
}

// get returns a token. It requests a new one after half of the lifetime of the last one. If that fails, it returns the last
// one until it expires.
func (a *accountTokens) get(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if now.Before(a.renews) {
		return a.token, nil
	}
	token, lifetime, err := a.request(ctx)
	if err != nil {
		if now.Before(a.expires) {
			return a.token, nil
		}
		return "", err
	}
	a.token, a.renews, a.expires = token, now.Add(lifetime/2), now.Add(lifetime)
	return token, nil
}

func tokensOf(set kubernetes.Interface, account client.ObjectKey, audience string) *accountTokens {
	return &accountTokens{now: time.Now, request: func(ctx context.Context) (string, time.Duration, error) {
		seconds := int64(accountTokenLifetime / time.Second)
		ask := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds}}
		got, err := set.CoreV1().ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, ask, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return "", 0, fmt.Errorf("%w create serviceaccounts/token of %s: %w", errForbidden, account, err)
		case err != nil:
			return "", 0, fmt.Errorf("ServiceAccount %s: %w", account, err)
		}
		lifetime := accountTokenLifetime
		if s := got.Spec.ExpirationSeconds; s != nil {
			lifetime = time.Duration(*s) * time.Second
		}
		return got.Status.Token, lifetime, nil
	}}
}
