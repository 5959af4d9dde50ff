package gate

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
	blue = proxied.Blue
)
