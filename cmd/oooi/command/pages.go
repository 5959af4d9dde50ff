// This file knows where the documentation is: at the tag of the release. A program that was not released links to the
// newest pages.

package command

import "github.com/cldmnky/oooi/version"

// Docs is the URL of the pages, with a slash at its end. It does not change.
var Docs = pagesOf(version.Tag())

// ProblemsPage has a row for each reason. Its anchor is the reason in lower case.
var ProblemsPage = Docs + "problems.md"

// pagesOf returns the URL of the pages of a tag. Empty tag: the newest pages.
func pagesOf(tag string) string {
	if tag == "" {
		tag = "main"
	}
	return "https://github.com/cldmnky/oooi/blob/" + tag + "/docs/"
}
