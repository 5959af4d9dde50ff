package ads

import (
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/proxied"
)

const (
	onVLAN = "192.168.100.3"
	// patient is how long a test waits for what takes milliseconds.
	patient = patience.Limit
)

var (
	service      = proxied.Service
	api          = proxied.API
	oauth        = proxied.OAuth
	ingress      = proxied.Ingress
	blue         = proxied.Blue
	pods         = proxied.Pods
	anyNetwork   = proxied.AnyNetwork
	anyEndpoints = proxied.AnyEndpoints
)
