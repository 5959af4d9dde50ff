// This file finds credentials in texts that programs wrote: in URLs, headers and tokens. It is pure. Where a text can be read in
// two ways, more of it is left out.

package gather

import (
	"regexp"
	"strings"
)

var (
	wordEnd    = regexp.MustCompile(`\s|[^\\]"[,}\]]|",?$`)
	hostEnd    = regexp.MustCompile(`[/?#\s"']`)
	portOnly   = regexp.MustCompile(`^:\d*([^\w@~!$&*+=%.-]|$)`)
	header     = regexp.MustCompile(`(?i)\b(authorization["']?[:=]\s*["']?[a-z]+) [^\s"',]+`)
	bearer     = regexp.MustCompile(`(Bearer) [^\s"',]+`)
	parameter  = regexp.MustCompile(`(?i)\b((?:access|id|refresh)_token|client_secret|password|passwd)=[^\s&"',]+`)
	token      = regexp.MustCompile(`\bsha256~[\w-]+|\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]*`)
	userAtHost = regexp.MustCompile(`[^\s/@:"']+:[^\s/@:"']+@[\w.-]+`)
)

// withoutCredentials leaves out users and passwords of URLs, and tokens.
func withoutCredentials(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(withoutTokens(withoutUsers(line)))
	}
	return out.String()
}

// withoutUsers leaves out the user and the password before the host of each URL in a line.
func withoutUsers(line string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(line, "//")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString("//")
		one := rest // what belongs to this URL at most
		if next := strings.Index(rest, "://"); next >= 0 {
			one = rest[:next]
		}
		if end := userEnd(one); end >= 0 {
			out.WriteString(leftOut)
			rest = rest[end:]
		}
		line = rest
	}
}

// userEnd returns where the @ after the user and the password is, in a URL without its scheme and what follows it. -1: it
// has none. A password may have any character, also those that must be escaped.
func userEnd(url string) int {
	user := strings.IndexAny(url, ":@/?#[ \t\r\n\"'")
	if user < 0 {
		return -1
	}
	word := url
	if end := wordEnd.FindStringIndex(url); end != nil {
		word = url[:end[0]+1]
	}
	switch url[user] {
	case '@':
		host := hostEnd.Split(word, 2)[0]
		return strings.LastIndexByte(host, '@')
	case ':':
		if at := strings.LastIndexByte(word, '@'); at >= 0 {
			return at
		}
		if portOnly.MatchString(url[user:]) {
			return -1 // It is a port.
		}
		return strings.IndexByte(url, '@')
	}
	return -1
}

// withoutTokens leaves out what follows the words of headers and parameters for tokens, tokens of OpenShift and JWTs, and
// users with passwords before a host without a scheme.
func withoutTokens(line string) string {
	line = header.ReplaceAllString(line, "${1} "+leftOut)
	line = bearer.ReplaceAllString(line, "${1} "+leftOut)
	line = parameter.ReplaceAllString(line, "${1}="+leftOut)
	line = token.ReplaceAllString(line, leftOut)
	return userAtHost.ReplaceAllStringFunc(line, func(found string) string {
		host := found[strings.LastIndexByte(found, '@'):]
		if host == "@sha256" || host == "@sha512" {
			return found // It is an image with a tag and a digest.
		}
		return leftOut + host
	})
}
