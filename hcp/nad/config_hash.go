// This file hashes the fields that edges use of a NetworkAttachmentDefinition, to detect edits of these fields only.

package nad

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cldmnky/oooi/network"
)

// configVersion is the version of the fields that configHash covers. Increase it when edges use other keys or other
// plugins, because the hash then changes without an edit.
const configVersion = "1"

// configHash returns network.Attachment.ConfigHash of a: a hash of what edges use of the plugins. The configuration's
// names and version are left out, and so is what the operator adds.
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
