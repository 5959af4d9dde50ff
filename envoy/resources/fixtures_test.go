package resources

import (
	"github.com/cldmnky/oooi/test/proxied"
)

var (
	api     = proxied.API
	oauth   = proxied.OAuth
	ingress = proxied.Ingress
	blue    = proxied.Blue
	pods    = proxied.Pods
)
