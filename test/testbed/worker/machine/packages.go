// This file has the Debian packages with the programs of a machine.

package machine

// Packages returns the Debian packages with the programs of a machine: the DHCP client, HAProxy, curl, getent, an NTP client that is
// not a daemon, and those that the scripts use.
func Packages() []string {
	return []string{"ca-certificates", "curl", "haproxy", "hostname", "iproute2", "libc-bin", "mount", "ntpsec-ntpdig", "udhcpc", "util-linux"}
}
