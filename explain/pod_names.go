// This file renders the names that pods of the management cluster get.

package explain

import (
	"strings"

	"github.com/cldmnky/oooi/network"
)

func (v view) podNames() string {
	var names []string
	for _, r := range v.n.DNS.Pods.Records {
		names = append(names, r.Name+" -> "+network.AddressList(r.Addresses))
	}
	from := v.from("management-dns")
	if len(names) == 0 {
		return "none: no published name has the port of its Service" + from
	}
	return strings.Join(names, ", ") + ", through Service oooi-dns" + from
}
