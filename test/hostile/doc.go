// Package hostile sends what a hostile VM can send on its network, and records the frames
// that arrive elsewhere. It needs the capability CAP_NET_RAW, which edges do not have.
package hostile
