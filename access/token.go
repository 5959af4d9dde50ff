// This file decides from a token which ServiceAccount a caller is. No error repeats a part of the token.

package access

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// clockDifference is how much the clocks of an edge and of the API server may differ.
const clockDifference = 10 * time.Second

// algorithms returns the accepted signature algorithms, all with public keys.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// Errors of Verify.
var (
	errNotToken  = errors.New("not a signed JSON Web Token")
	errSignature = errors.New("the token is not signed by the API server")
	errAudience  = errors.New("the token is for another audience")
	errExpired   = errors.New("the token has expired")
	errNotYet    = errors.New("the token is not valid yet")
	errNoExpiry  = errors.New("the token never expires")
	errSubject   = errors.New("the token belongs to no ServiceAccount")
)

// serviceAccount is what precedes "namespace:name" in the subject of a ServiceAccount's token.
const serviceAccount = "system:serviceaccount:"

// Verify returns the ServiceAccount of a token, as "namespace/name". The token must be signed with one of keys, be for
// audience, and be valid at now. Its issuer does not matter, since the keys are the API server's.
func Verify(token string, keys Keys, audience string, now time.Time) (account string, err error) {
	t, err := jwt.ParseSigned(token, algorithms())
	if err != nil || len(t.Headers) != 1 {
		return "", errNotToken
	}
	claims, err := verified(t, keys)
	if err != nil {
		return "", err
	}
	switch {
	case audience == "" || !slices.Contains(claims.Audience, audience):
		return "", errAudience
	case claims.Expiry == nil:
		return "", errNoExpiry
	case !now.Before(claims.Expiry.Time().Add(clockDifference)):
		return "", errExpired
	case claims.NotBefore != nil && now.Add(clockDifference).Before(claims.NotBefore.Time()):
		return "", errNotYet
	}
	return accountOf(claims.Subject)
}

// verified returns the claims of t if one of keys verifies t. If t has a key ID, it tries only keys with that ID.
func verified(t *jwt.JSONWebToken, keys Keys) (jwt.Claims, error) {
	id := t.Headers[0].KeyID
	for _, k := range keys.all {
		if id != "" && k.KeyID != id || k.Algorithm != "" && k.Algorithm != t.Headers[0].Algorithm {
			continue
		}
		var claims jwt.Claims
		if t.Claims(k.Key, &claims) == nil {
			return claims, nil
		}
	}
	return jwt.Claims{}, errSignature
}

// accountOf returns the ServiceAccount of a subject as "namespace/name".
func accountOf(subject string) (string, error) {
	rest, ok := strings.CutPrefix(subject, serviceAccount)
	namespace, name, both := strings.Cut(rest, ":")
	if !ok || !both || namespace == "" || name == "" || strings.ContainsAny(rest, "/ ") || strings.Contains(name, ":") {
		return "", errSubject
	}
	return namespace + "/" + name, nil
}

// bearer returns the token of a Proxy-Authorization header (RFC 6750, section 2.1). Empty: none.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}
