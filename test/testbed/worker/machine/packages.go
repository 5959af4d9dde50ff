// This file names the foreign programs a machine is made of. It installs nothing.

package machine

// Packages are the Debian packages that bring a machine its programs: the DHCP
// client, HAProxy, curl, getent, an NTP client that is not a daemon, and what the scripts use.
func Packages() []string {
	return []string{"ca-certificates", "curl", "haproxy", "hostname", "iproute2", "libc-bin", "mount", "ntpsec-ntpdig", "udhcpc", "util-linux"}
}
