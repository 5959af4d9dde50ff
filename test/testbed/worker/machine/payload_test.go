// This file shows which files a machine takes from its Ignition configuration, and what it refuses.

package machine

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
)

// file is a file of an Ignition configuration, with a data URL.
func file(path, source string) map[string]any {
	return map[string]any{"path": path, "mode": 420, "contents": map[string]any{"source": source}}
}

func configuration(t *testing.T, version string, files ...map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"ignition": map[string]any{"version": version}, "storage": map[string]any{"files": files}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return text
}

// ofNode are the files that every node gets.
func ofNode() []map[string]any {
	return []map[string]any{
		file(BootstrapKubeconfig, "data:,kind%3A%20Config"), file(ClientCA, "data:text/plain;charset=utf-8;base64,Q0E="),
		file(kubeletConf, "data:,k"), file(haproxyConf, "data:,h"), file(haproxySetup, "data:,s"),
	}
}

func TestParsePayload(t *testing.T) {
	g := NewWithT(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte("a long text"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Close()).To(Succeed())
	long := file("/etc/long", "data:;base64,"+base64.StdEncoding.EncodeToString(packed.Bytes()))
	long["contents"].(map[string]any)["compression"] = "gzip"

	p, err := ParsePayload(configuration(t, "3.2.0", append(ofNode(), long, file("/etc/empty", ""))...))

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p).To(HaveLen(7))
	g.Expect(p).To(HaveKeyWithValue("/etc/empty", BeEmpty()))
	g.Expect(p).To(HaveKeyWithValue(BootstrapKubeconfig, []byte("kind: Config")))
	g.Expect(p).To(HaveKeyWithValue(ClientCA, []byte("CA")))
	g.Expect(p).To(HaveKeyWithValue("/etc/long", []byte("a long text")))
}

func TestParsePayloadRefuses(t *testing.T) {
	whole := ofNode()
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"no JSON":         {[]byte("Token not found"), "payload: invalid character"},
		"another version": {configuration(t, "2.2.0", whole...), `Ignition version "2.2.0", not 3`},
		"a missing file":  {configuration(t, "3.2.0", whole[1:]...), "no file " + BootstrapKubeconfig + " among 4"},
		"no data URL":     {configuration(t, "3.2.0", append(whole, file("/x", "https://example.com/x"))...), "/x: no data URL"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePayload(c.text)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}
