// This file hashes what edges use of a NetworkAttachmentDefinition, so that only edits of these fields are noticed.

package nad

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cldmnky/oooi/network"
)

// configVersion is the version of what configHash covers. Increase it when edges use other keys or plugins.
const configVersion = "2"

// configHash returns the value of network.Attachment.ConfigHash. It does not cover names, the CNI version, and what the
// operator adds.
func configHash(a network.Attachment, plugins []map[string]any) string {
	taken := []any{a.Layer2, a.Kind, a.MTU}
	if a.Kind != typeOVN { // For OVN's plugin, the fields above are all that edges depend on.
		for _, p := range takenPlugins(plugins) {
			taken = append(taken, p)
		}
	}
	sum := sha256.Sum256([]byte(encoded(taken)))
	return configVersion + "-" + hex.EncodeToString(sum[:8])
}
