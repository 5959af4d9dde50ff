// Package network holds the data about one hosted cluster. A Request has what the user asks for, Facts have what is
// observed, and a Plan has what is served on its isolated networks. The package also has what servers and the operator
// compute from a Plan. It uses the standard library only.
//
// # Words
//
// A network is one isolated layer-2 network that VMs attach to, and what is served on it. An edge is a pod of oooi on a
// network. Every edge of a network has one edge address of its own. It also holds the next-hop VIP, the service VIP,
// and every address that HyperShift published as a bare IP. VMs route through the next-hop VIP, and nothing serves on
// it. DNS and the published endpoints are on the service VIP.
//
// A NAD is a NetworkAttachmentDefinition. The edge NAD is the one that oooi creates for edges. A network is primary if
// VMs boot from it, and secondary otherwise. A client network is behind the gateway, and edges accept its hosts as
// clients. The plan in force is the last plan that the operator applied: edges serve it. An Error is confined if it
// refuses only its own network. A hint is a problem with severity Info. docs/glossary.md has further words.
package network
