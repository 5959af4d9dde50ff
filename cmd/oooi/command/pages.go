// This file says where the documentation of this program is: at the tag of its release, so that a page does not
// describe what another release does. Programs that were not released link to the newest pages.

package command

import "github.com/cldmnky/oooi/version"

// Docs is where the pages are, with a slash at its end. It does not change.
var Docs = pagesOf(version.Tag())

// ProblemsPage explains each reason.
var ProblemsPage = Docs + "problems.md"

// pagesOf returns where the pages of a tag are. Empty: the newest ones.
func pagesOf(tag string) string {
	if tag == "" {
		tag = "main"
	}
	return "https://github.com/cldmnky/oooi/blob/" + tag + "/docs/"
}
