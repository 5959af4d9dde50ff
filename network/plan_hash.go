// This file gives the part of a plan for one network a short name.

package network

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
)

// Hash returns a short name of what n serves. Two networks with one hash are equal, for one release of oooi: another one may
// write a field that this one does not have. 0: n cannot be written.
func (n Network) Hash() uint32 {
	b, err := json.Marshal(n)
	if err != nil {
		return 0
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint32(sum[:4])
}
