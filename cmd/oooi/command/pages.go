// This file has the URLs of the documentation. A released program links to the pages at its tag, any other program to the
// newest pages.

package command

import "github.com/cldmnky/oooi/version"

// Docs is the URL of the directory with the pages. It ends with a slash.
var Docs = pagesOf(version.Tag())

// ProblemsPage is the URL of the page that explains each reason. The anchor of a reason is its name in lower case.
var ProblemsPage = Docs + "problems.md"

// pagesOf returns the URL of the pages at a Git tag. Empty: that of the newest pages.
func pagesOf(tag string) string {
	if tag == "" {
		tag = "main"
	}
	return "https://github.com/cldmnky/oooi/blob/" + tag + "/docs/"
}
