// This file converts the content of files to UTF-8, with lines that end with \n.

package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
)

// utf8 returns content in UTF-8, without a byte order mark. It also accepts UTF-16, which Windows PowerShell writes.
// Without a byte order mark, the zero byte in the first character, which is ASCII, shows that content is UTF-16.
func utf8(content []byte) ([]byte, error) {
	has := func(prefix string) bool { return strings.HasPrefix(string(content[:min(len(content), 4)]), prefix) }
	two := len(content) >= 2
	switch {
	case has("\xff\xfe\x00\x00"), has("\x00\x00"):
		return nil, errors.New("the encoding UTF-32 is not supported: use UTF-8")
	case has("\xff\xfe"), two && content[0] != 0 && content[1] == 0:
		return fromUTF16(content, binary.LittleEndian)
	case has("\xfe\xff"), two && content[0] == 0:
		return fromUTF16(content, binary.BigEndian)
	}
	return lines(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))), nil
}

func fromUTF16(content []byte, order binary.ByteOrder) ([]byte, error) {
	if len(content)%2 != 0 {
		return nil, errors.New("UTF-16 with an odd number of bytes: the file is not complete")
	}
	units := make([]uint16, len(content)/2)
	for i := range units {
		units[i] = order.Uint16(content[2*i:])
	}
	text := string(utf16.Decode(units))
	return lines([]byte(strings.TrimPrefix(text, "\ufeff"))), nil
}

func lines(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}
