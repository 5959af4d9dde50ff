// Package formats tests that each format that a release of oooi stored is still read: of plans, reports of edges, the operator's
// statuses, DHCP leases and what edges report of their data plane. The reader of must-gather's archives is tested in cmd/oooi/source. A
// format that is released is never edited here.
package formats
