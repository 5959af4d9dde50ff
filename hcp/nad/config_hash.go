// This file identifies what edges take of a NetworkAttachmentDefinition, so that an edit of it
// is seen, and an edit of anything else is not.

package nad

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cldmnky/oooi/network"
)

// configVersion counts what configHash covers. It goes up when edges take other keys of a plugin or
// other plugins: then the same NetworkAttachmentDefinition has another hash, and was not edited.
const configVersion = "1"

// configHash is network.Attachment.ConfigHash of a: what edges take of the plugins, without the
// names and the version of the configuration, and without what the operator adds.
func configHash(a network.Attachment, plugins []map[string]any) string {
	taken := []any{a.Layer2, a.Kind, a.MTU}
	if a.Kind != typeOVN { // Its plugin reads nothing else that edges depend on.
		for _, p := range takenPlugins(plugins) {
			taken = append(taken, p)
		}
	}
	sum := sha256.Sum256([]byte(encoded(taken)))
	return configVersion + "-" + hex.EncodeToString(sum[:8])
}
