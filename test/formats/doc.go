// Package formats tests that each format that a release of oooi stored is still read: of plans, reports of edges, and the
// operator's statuses. A format that is released is never edited here.
package formats
