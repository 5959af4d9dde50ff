// This file makes a part of object names of a network's name.

package network

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Dashed returns n's name as a DNS label of at most length characters. It ends with a hash if the
// name is too long, or if another network could have the same label (a.b-c and a-b.c).
func (n Network) Dashed(length int) string {
	plain := strings.ReplaceAll(n.Name, ".", "-")
	a := n.Attachment
	if len(plain) <= length && !strings.Contains(a.Namespace, "-") && !strings.Contains(a.Name, ".") {
		return plain
	}
	sum := sha256.Sum256([]byte(n.Name))
	hash := hex.EncodeToString(sum[:4])
	if limit := length - len(hash) - 1; len(plain) > limit {
		plain = strings.TrimRight(plain[:limit], "-")
	}
	return plain + "-" + hash
}
