package ntp

import "testing"

// BenchmarkAnswer is one answer from bytes to bytes, without the socket.
func BenchmarkAnswer(b *testing.B) {
	s, question := newServerOf(b, "192.168.100.0/24", Kernel), asked()
	b.ReportAllocs()
	for b.Loop() {
		s.answer(NewLimiter(), question, vm, start, start)
	}
}
