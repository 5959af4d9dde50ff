// This file removes credentials from logs and messages: users and passwords in URLs, headers, and tokens. It is pure. If it
// is ambiguous where a credential ends, the larger part is removed.

package mustgather

import (
	"regexp"
	"strings"
)

// user matches the beginning of a URL up to the end of the user's name. inWord matches a password without spaces, with any
// other character, even one that should be escaped. A quotation mark before a comma or a bracket ends the password,
// because the text is then JSON.
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

// withoutCredentials replaces users and passwords in URLs, and tokens, by leftOut.
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

// withoutTokens puts leftOut in place of values of headers and parameters for tokens, tokens of OpenShift, and JWTs.
// It does the same with USER:PASSWORD before @HOST without a scheme.
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
