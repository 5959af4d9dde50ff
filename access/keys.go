// This file reads the published keys of an API server, a JSON Web Key Set (RFC 7517), with limits: another container sends
// them.

package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// MaxKeysFile is the largest key set that is read, in bytes.
const MaxKeysFile = 256 << 10

// maxKeys is the largest number of keys in use. An API server has one key, and more during a rotation.
const maxKeys = 32

// Keys verify tokens. The zero value verifies no token.
type Keys struct{ all []jose.JSONWebKey }

// Count returns the number of keys.
func (k Keys) Count() int { return len(k.all) }

// ParseKeys reads a key set. It ignores keys for other purposes or of unknown kinds. It returns an error if no key is
// left.
func ParseKeys(b []byte) (Keys, error) {
	if len(b) > MaxKeysFile {
		return Keys{}, fmt.Errorf("the key set has %d bytes, more than %d", len(b), MaxKeysFile)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return Keys{}, errors.New("not a JSON Web Key Set")
	}
	var out Keys
	for _, text := range set.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(text) == nil && verifies(k) && len(out.all) < maxKeys {
			out.all = append(out.all, k)
		}
	}
	if len(out.all) == 0 {
		return Keys{}, errors.New("the JSON Web Key Set has no key that verifies signatures")
	}
	return out, nil
}

// The accepted sizes of RSA keys in bits. Larger keys make verification expensive.
const smallestRSA, largestRSA = 2048, 8192

// verifies reports whether k is a public key for signatures.
func verifies(k jose.JSONWebKey) bool {
	if !k.Valid() || k.Use != "" && k.Use != "sig" {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= smallestRSA && key.N.BitLen() <= largestRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}
