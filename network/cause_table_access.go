// This file is the part of the table of causes about management access.

package network

func accessCauses() []CauseInfo {
	return []CauseInfo{
		{AccessOpen, AccessOpened, SeverityInfo, "network namespaces destinations service"},
		{AccessOpenToAccounts, AccessOpened, SeverityInfo, "network namespaces accounts destinations service"},
		{AccessNameUnknown, AccessRefused, SeverityWarning, "entry name"},
		{AccessToEdge, AccessRefused, SeverityWarning, "entry address"},
		{AccessToNoHost, AccessRefused, SeverityWarning, "entry address cidr"},
		{AccessOutsideNetworks, AccessRefused, SeverityWarning, "entry address cidrs"},
		{AccessPortInUse, AccessRefused, SeverityWarning, "entry use"},
		{AccessPortRepeated, AccessRefused, SeverityWarning, "entry other"},
		{AccessPortWithoutToken, AccessRefused, SeverityWarning, "entry"},
		{AccessIngressUnknown, AccessRefused, SeverityWarning, "entry"},
		{AccessNeedsLeases, AccessRefused, SeverityWarning, "entry network"},
		{AccessNoNetwork, AccessRefused, SeverityWarning, "entry"},
		{AccessSettingUnused, AccessRefused, SeverityWarning, ""},
		{LoadBalancersOpen, AccessOpened, SeverityInfo, "network services"},
		{LoadBalancerNotTCP, AccessRefused, SeverityWarning, "service protocol ports"},
		{LoadBalancerPortInUse, AccessRefused, SeverityWarning, "service port use"},
		{LoadBalancerPortInvalid, AccessRefused, SeverityWarning, "service port"},
		{LoadBalancerPortShared, AccessRefused, SeverityWarning, "service port other"},
		{LoadBalancerOnlyIPv6, AccessRefused, SeverityWarning, "service"},
		{LoadBalancerIPv6, AccessRefused, SeverityInfo, "service"},
		{LoadBalancerOfOthers, AccessRefused, SeverityWarning, "service"},
		{LoadBalancerSourcesHidden, AccessRefused, SeverityWarning, "service most"},
		{LoadBalancersTooMany, AccessRefused, SeverityWarning, "services most"},
		{LoadBalancersNotLed, LoadBalancersUnreachable, SeverityInfo, "services network"},
		{LoadBalancersToNoRoute, LoadBalancersUnreachable, SeverityInfo, "services"},
		{IngressLoadBalancerToAdd, LoadBalancersUnreachable, SeverityInfo, "service"},
	}
}
