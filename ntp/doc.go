// Package ntp serves the time of the node to the hosts of one network, as an NTP server
// (RFC 5905, server mode).
//
// # Parts
//
//   - State is what the kernel knows about the accuracy of its clock. Kernel reads it and
//     changes nothing.
//   - Reply and Kiss are pure: the packet for one question. Client checks whether a datagram
//     is a question at all.
//   - Limiter bounds the answers to each client, in constant memory.
//   - Server answers on a socket that the caller opened.
//
// Only questions of clients (mode 3) are answered, with 48 bytes. A question has at least 48
// bytes, so the server amplifies nothing. It has no keys, no NTS, and no mode that reports
// about the server itself. It sends only answers, and never sets a clock.
//
// # Forged sources
//
// A VM can ask with the address of another VM, so a client may not have sent the questions that
// exceed its limit. Above the limit, one question of four is still answered: no flood silences
// another VM. The server never sends the kiss code RATE: a VM could direct it to another VM,
// which would then ask less often, or not start.
//
// # Use of facebook/time
//
// Package ntp/protocol has the packets and the conversion of times. Two parts of facebook/time
// are not used. ValidSettingsFormat refuses clients that announce a leap second, as ntpd does
// for a day. Package responder opens its own sockets, announces addresses and has its own
// workers; oooi needs one bound socket.
package ntp
