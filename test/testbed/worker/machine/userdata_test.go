// This file shows which user-data a machine takes, and what it reads from it.

package machine

import (
	"encoding/base64"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const userData = `{"ignition":{"config":{"merge":[{"httpHeaders":[
 {"name":"Authorization","value":"Bearer c2VjcmV0"},{"name":"NodePool","value":"clusters/blue"},{"name":"TargetConfigVersionHash","value":"b87009be"}],
 "source":"https://ignition.blue.example.com:30409/ignition"}]},
 "security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;base64,CA64"}]}},"version":"3.2.0"}}`

func TestParseUserData(t *testing.T) {
	g := NewWithT(t)
	text := strings.Replace(userData, "CA64", base64.StdEncoding.EncodeToString([]byte("the pem\n")), 1)

	data, err := ParseUserData([]byte(text))

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(data.Source.String()).To(Equal("https://ignition.blue.example.com:30409/ignition"))
	g.Expect(data.Headers).To(Equal([]Header{
		{"Authorization", "Bearer c2VjcmV0"}, {"NodePool", "clusters/blue"}, {"TargetConfigVersionHash", "b87009be"}}))
	g.Expect(string(data.CA)).To(Equal("the pem\n"))
	g.Expect(data.Without("authorization").Headers).To(HaveLen(2))
	g.Expect(data.Headers).To(HaveLen(3), "the question itself stays whole")
}

func TestParseUserDataRefuses(t *testing.T) {
	for what, text := range map[string]string{
		"no JSON":         `#cloud-config`,
		"version 2":       strings.Replace(userData, "3.2.0", "2.2.0", 1),
		"plain http":      strings.Replace(userData, "https:", "http:", 1),
		"a bad authority": strings.Replace(userData, "CA64", "!", 1),
		"nothing":         `{"ignition":{"version":"3.2.0"}}`,
	} {
		t.Run(what, func(t *testing.T) {
			_, err := ParseUserData([]byte(text))
			NewWithT(t).Expect(err).To(MatchError(HavePrefix("user-data: ")))
		})
	}
}
