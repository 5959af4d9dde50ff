// This program is CoreDNS with the plugins that are measured.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/view"
)

func main() {
	dnsserver.Directives = []string{"bind", "view", "file"}
	coremain.Run()
}
