// This file finds credentials in texts that programs wrote: in URLs, headers and tokens. It is pure. If a text has two
// readings, the larger part is left out.

package mustgather

import (
	"regexp"
	"strings"
)

// user matches the beginning of a URL with a user's name. inWord matches a password, which may have any
// character, even one that should be escaped. In JSON, a quotation mark before a comma or a bracket ends the URL.
const user, inWord = `(//)[^:@/?#\[\s"']*`, `(?:\\.|[^\s"\\]|"[^,}\]\s])*`

var (
	userOnly   = regexp.MustCompile(user + `@(?:[^@/?#\s"']*@)*`)
	password   = regexp.MustCompile(user + `:` + inWord + `[\\"]*@`)
	apart      = regexp.MustCompile(user + `:\d*[A-Za-z_~!$&*+=%.-](?:[^:@]|:[^/]|:/[^/])*?:?@`) // A password with spaces, not a port.
	header     = regexp.MustCompile(`(?i)\b(authorization["']?[:=]\s*["']?[a-z]+) [^\s"',]+`)
	bearer     = regexp.MustCompile(`(Bearer) [^\s"',]+`)
	parameter  = regexp.MustCompile(`(?i)\b((?:access|id|refresh)_token|client_secret|password|passwd)=[^\s&"',]+`)
	token      = regexp.MustCompile(`\bsha256~[\w-]+|\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]*`)
	userAtHost = regexp.MustCompile(`[^\s/@:"']+:[^\s/@:"']+@[\w.-]+`)
)

// withoutCredentials removes users and passwords of URLs, and tokens.
func withoutCredentials(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		for _, r := range []*regexp.Regexp{userOnly, password, apart} {
			line = r.ReplaceAllString(line, "${1}"+leftOut+"@")
		}
		out.WriteString(withoutTokens(line))
	}
	return out.String()
}

// withoutTokens removes values of headers and parameters for tokens, tokens of OpenShift, JWTs, and users with
// passwords before a host without a scheme.
func withoutTokens(line string) string {
	line = header.ReplaceAllString(line, "${1} "+leftOut)
	line = bearer.ReplaceAllString(line, "${1} "+leftOut)
	line = parameter.ReplaceAllString(line, "${1}="+leftOut)
	line = token.ReplaceAllString(line, leftOut)
	return userAtHost.ReplaceAllStringFunc(line, func(found string) string {
		host := found[strings.LastIndexByte(found, '@'):]
		if host == "@sha256" || host == "@sha512" {
			return found // found is an image with a tag and a digest.
		}
		return leftOut + host
	})
}
