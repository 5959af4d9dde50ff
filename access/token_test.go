package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	. "github.com/onsi/gomega"
)

const blueAudience = "oooi-access.clusters-blue"

// signers are private keys, made once.
var signers = sync.OnceValue(func() map[jose.SignatureAlgorithm]crypto.Signer {
	must := func(k crypto.Signer, err error) crypto.Signer {
		if err != nil {
			panic(err)
		}
		return k
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	other, err2 := rsa.GenerateKey(rand.Reader, 2048)
	p256, err3 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, ed, err4 := ed25519.GenerateKey(rand.Reader)
	return map[jose.SignatureAlgorithm]crypto.Signer{
		jose.RS256: must(rsaKey, err), "other": must(other, err2), jose.ES256: must(p256, err3), jose.EdDSA: must(ed, err4),
	}
})

// keySet is the JSON Web Key Set of some signers. A key's name is its kind.
func keySet(t testing.TB, kinds ...jose.SignatureAlgorithm) []byte {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, kind := range kinds {
		algorithm := kind
		if kind == "other" {
			algorithm = jose.RS256
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: signers()[kind].Public(), KeyID: string(kind), Algorithm: string(algorithm), Use: "sig"})
	}
	b, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// claims are those of a token of an API server.
func claims(change func(c map[string]any)) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": "https://kubernetes.default.svc", "sub": "system:serviceaccount:backup:tool", "aud": []string{blueAudience},
		"exp": now.Add(time.Hour).Unix(), "nbf": now.Unix(), "iat": now.Unix(),
	}
	if change != nil {
		change(c)
	}
	return c
}

// sign returns a token. An empty id names no key.
func sign(t testing.TB, kind jose.SignatureAlgorithm, id string, claims any) string {
	t.Helper()
	algorithm := kind
	if kind == "other" {
		algorithm = jose.RS256
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: signers()[kind], KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestVerify: whose token it is, and why one is refused.
func TestVerify(t *testing.T) {
	keys, err := ParseKeys(keySet(t, jose.RS256, jose.ES256, jose.EdDSA))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	set := func(key string, value any) map[string]any {
		return claims(func(c map[string]any) {
			if c[key] = value; value == nil {
				delete(c, key)
			}
		})
	}
	now := time.Now()
	good := sign(t, jose.RS256, "RS256", claims(nil))
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	secret, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	symmetric, err := jwt.Signed(secret).Claims(claims(nil)).Serialize()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: signers()["other"]}, &jose.SignerOptions{EmbedJWK: true})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	forged, err := jwt.Signed(embedded).Claims(claims(nil)).Serialize()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		token string
		want  error
	}{
		"RS256":                {good, nil},
		"ES256":                {sign(t, jose.ES256, "ES256", claims(nil)), nil},
		"EdDSA":                {sign(t, jose.EdDSA, "EdDSA", claims(nil)), nil},
		"without a key's name": {sign(t, jose.ES256, "", claims(nil)), nil},
		"one audience":         {sign(t, jose.RS256, "RS256", set("aud", blueAudience)), nil},
		"another issuer":       {sign(t, jose.RS256, "RS256", set("iss", "https://other")), nil},
		"no nbf":               {sign(t, jose.RS256, "RS256", set("nbf", nil)), nil},
		"a clock ahead":        {sign(t, jose.RS256, "RS256", set("nbf", now.Add(5*time.Second).Unix())), nil},
		"a clock behind":       {sign(t, jose.RS256, "RS256", set("exp", now.Add(-5*time.Second).Unix())), nil},
		"another audience":     {sign(t, jose.RS256, "RS256", set("aud", []string{"https://kubernetes.default.svc"})), errAudience},
		"part of the audience": {sign(t, jose.RS256, "RS256", set("aud", []string{blueAudience + "x"})), errAudience},
		"no audience":          {sign(t, jose.RS256, "RS256", set("aud", nil)), errAudience},
		"expired":              {sign(t, jose.RS256, "RS256", set("exp", now.Add(-time.Minute).Unix())), errExpired},
		"no expiry":            {sign(t, jose.RS256, "RS256", set("exp", nil)), errNoExpiry},
		"not yet":              {sign(t, jose.RS256, "RS256", set("nbf", now.Add(time.Minute).Unix())), errNotYet},
		"a user":               {sign(t, jose.RS256, "RS256", set("sub", "kube:admin")), errSubject},
		"no subject":           {sign(t, jose.RS256, "RS256", set("sub", nil)), errSubject},
		"no name":              {sign(t, jose.RS256, "RS256", set("sub", "system:serviceaccount:backup:")), errSubject},
		"no namespace":         {sign(t, jose.RS256, "RS256", set("sub", "system:serviceaccount::tool")), errSubject},
		"a slash":              {sign(t, jose.RS256, "RS256", set("sub", "system:serviceaccount:backup/tool:x")), errSubject},
		"three parts":          {sign(t, jose.RS256, "RS256", set("sub", "system:serviceaccount:backup:tool:x")), errSubject},
		"another key":          {sign(t, "other", "RS256", claims(nil)), errSignature},
		"unknown key":          {sign(t, "other", "new", claims(nil)), errSignature},
		"key of another name":  {sign(t, jose.RS256, "ES256", claims(nil)), errSignature},
		"changed claims":       {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"system:serviceaccount:a:b"}`)) + "." + parts[2], errSignature},
		"no signature":         {parts[0] + "." + parts[1] + ".", errSignature},
		"its own key":          {forged, errSignature},
		"alg none":             {none, errNotToken},
		"a shared secret":      {symmetric, errNotToken},
		"two parts":            {parts[0] + "." + parts[1], errNotToken},
		"JSON":                 {`{"payload":"` + parts[1] + `"}`, errNotToken},
		"empty":                {"", errNotToken},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			account, err := Verify(c.token, keys, blueAudience, now)
			if c.want != nil {
				g.Expect(err).To(MatchError(c.want))
				g.Expect(account).To(BeEmpty())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(account).To(Equal("backup/tool"))
		})
	}
	g := NewWithT(t)
	_, err = Verify(good, Keys{}, blueAudience, now)
	g.Expect(err).To(MatchError(errSignature))
	_, err = Verify(sign(t, jose.RS256, "RS256", set("aud", []string{""})), keys, "", now)
	g.Expect(err).To(MatchError(errAudience), "a plan without an audience admits no token")
}

// TestParseKeys: which keys of a set are used.
func TestParseKeys(t *testing.T) {
	g := NewWithT(t)
	private, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: []byte(strings.Repeat("k", 32))}, {Key: signers()[jose.ES256], KeyID: "private"}}})
	g.Expect(err).NotTo(HaveOccurred())
	encryption, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: signers()[jose.ES256].Public(), Use: "enc"}}})
	g.Expect(err).NotTo(HaveOccurred())
	weak := `{"keys":[{"kty":"RSA","e":"AQAB","n":"` + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\xff", 128))) + `"}]}`
	for name, text := range map[string]string{
		"empty": "", "no JSON": "<html>", "no keys": `{"keys":[]}`, "other JSON": `[]`, "private and shared": string(private), "encryption": string(encryption), "1,024 bits": weak,
		"too large": `{"keys":[]}` + strings.Repeat(" ", MaxKeysFile),
	} {
		_, err := ParseKeys([]byte(text))
		g.Expect(err).To(HaveOccurred(), name)
	}
	known := strings.TrimSuffix(strings.TrimPrefix(string(keySet(t, jose.RS256)), `{"keys":[`), `]}`)
	k, err := ParseKeys([]byte(`{"keys":[{"kty":"new"},7,` + known + `,{"kty":"RSA"}]}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k.Count()).To(Equal(1), "keys of kinds to come hide none")
	k, err = ParseKeys([]byte(`{"keys":[` + strings.Repeat(known+",", 100) + known + `]}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k.Count()).To(Equal(maxKeys))
}

// FuzzToken: no bytes are a token without a signature of the keys.
func FuzzToken(f *testing.F) {
	keys, err := ParseKeys(keySet(f, jose.ES256))
	if err != nil {
		f.Fatal(err)
	}
	good := sign(f, jose.ES256, "ES256", claims(nil))
	signed := good[:strings.LastIndexByte(good, '.')]
	f.Add("a.b.c")
	f.Add(good + "x")
	f.Add(sign(f, "other", "ES256", claims(nil)))
	f.Fuzz(func(t *testing.T, token string) {
		if account, err := Verify(token, keys, blueAudience, time.Now()); (err == nil) != (account != "") || err == nil && !strings.HasPrefix(token, signed) {
			t.Fatalf("%q is of %q: %v", token, account, err)
		}
	})
}
