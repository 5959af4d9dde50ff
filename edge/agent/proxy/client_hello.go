// This file holds the ClientHello of a check: the cheapest message that a TLS server answers.

package proxy

import (
	"encoding/binary"
	"slices"
)

// clientHello returns a TLS record with a ClientHello (RFC 8446, section 4.1.2). It offers groups
// for the key exchange, but no key. So a server of TLS 1.3 answers with a HelloRetryRequest,
// without a key or a signature. TLS 1.2 answers as usual.
func clientHello() []byte {
	extensions := slices.Concat(
		extension(0x002b, sized(1, words(0x0304, 0x0303))),                                 // supported_versions: 1.3, 1.2
		extension(0x000a, sized(2, words(0x001d, 0x0017, 0x0018))),                         // supported_groups: X25519, P-256, P-384
		extension(0x000d, sized(2, words(0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0807))), // signature_algorithms
		extension(0x0033, sized(2)),                                                        // key_share: none
	)
	hello := slices.Concat(
		words(0x0303),    // legacy_version
		make([]byte, 32), // random
		sized(1),         // legacy_session_id: none
		sized(2, words(0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030)), // cipher_suites
		sized(1, []byte{0}), // legacy_compression_methods: null
		sized(2, extensions),
	)
	handshake := slices.Concat([]byte{1}, sized(3, hello))
	return slices.Concat([]byte{0x16}, words(0x0301), sized(2, handshake))
}

func extension(number uint16, body []byte) []byte {
	return slices.Concat(words(number), sized(2, body))
}

// sized returns parts, preceded by their length in the given number of bytes.
func sized(bytes int, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	length := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return append(length[4-bytes:], body...)
}

func words(all ...uint16) []byte {
	var out []byte
	for _, w := range all {
		out = binary.BigEndian.AppendUint16(out, w)
	}
	return out
}
