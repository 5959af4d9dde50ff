// This file has short names for what tests send.

package dhcp_test

import (
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/test/dhcpmessages"
)

const (
	mac1, mac2, us       = dhcpmessages.MAC1, dhcpmessages.MAC2, dhcpmessages.Us
	ofEdge1, alsoOfEdge1 = dhcpmessages.OfEdge1, dhcpmessages.AlsoOfEdge1

	hour     = time.Hour
	none     = dhcpv4.MessageTypeNone
	discover = dhcpv4.MessageTypeDiscover
	offer    = dhcpv4.MessageTypeOffer
	request  = dhcpv4.MessageTypeRequest
	ack      = dhcpv4.MessageTypeAck
	nak      = dhcpv4.MessageTypeNak
	decline  = dhcpv4.MessageTypeDecline
	release  = dhcpv4.MessageTypeRelease
	inform   = dhcpv4.MessageTypeInform
)

var (
	now, rhcos                = dhcpmessages.Now, dhcpmessages.RHCOS
	blue, twice, changed      = dhcpmessages.Blue, dhcpmessages.Twice, dhcpmessages.Changed
	at, held, full            = dhcpmessages.At, dhcpmessages.Held, dhcpmessages.Full
	message, parameters, secs = dhcpmessages.Message, dhcpmessages.Parameters, dhcpmessages.Secs
	asks, has, server         = dhcpmessages.Asks, dhcpmessages.Has, dhcpmessages.ToServer
)
