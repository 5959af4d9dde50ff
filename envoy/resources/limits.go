// This file decides how many connections an Envoy carries, from its memory and open files. It is pure.

package resources

// What connections cost, in bytes. docs/performance.md has the measurements.
const (
	// ownMemory is what an Envoy with a full plan takes without a connection.
	ownMemory = 100 << 20
	// usualMemory is what an idle connection takes: Envoy's memory, and the kernel's for both sockets.
	usualMemory = 34 << 10
	// WorstMemory is what a connection takes if both sides send and never read, so that all its buffers are full.
	WorstMemory = 1_600 << 10
	// fullSources is the number of sources for which there is memory if each fills its shares (Limits.Share) with connections
	// of WorstMemory. There is memory for Limits.Connections idle connections, too. One source would suffice for a hostile
	// source; the second is for bursts above a share.
	fullSources = 2
	// ownFiles is how many files Envoy has open without a connection. A connection takes two.
	ownFiles = 256
)

const (
	// MaxConnections limits the connections that hosts have open through one Envoy: 40 for each of 500 VMs.
	MaxConnections = 20_000
	// maxOfSource limits the connections of one source, however much memory there is.
	maxOfSource = 2_000
)

// Limits are how much one Envoy carries.
type Limits struct {
	// Connections limits the connections that are open at the same time. It is at least 2. Half of them are for the ports of
	// the hosted API server, half for all others.
	Connections uint32
	// PerSource limits the connections of one source that are open at the same time. It is at least 2, and divided like
	// Connections.
	PerSource uint32
	// Heap in bytes is how much Envoy may allocate. Zero: there is no limit.
	Heap uint64
}

// NewLimits returns the limits of an Envoy with memory in bytes, and files that it may open. Zero means that there is no
// limit, or that it is unknown. Idle connections take at most half of the memory beyond ownMemory. The rest is for full
// sources.
func NewLimits(memory, files uint64) Limits {
	l := Limits{Connections: MaxConnections, Heap: memory / 4 * 3}
	if files > 0 {
		l.Connections = min(l.Connections, fitting(files, ownFiles, 2))
	}
	if memory > 0 {
		l.Connections = min(l.Connections, fitting(memory, ownMemory, 2*usualMemory))
	}
	l.Connections = max(l.Connections, 2)
	l.PerSource = min(maxOfSource, l.Connections/10)
	if memory > 0 {
		l.PerSource = min(l.PerSource, fitting(memory, ownMemory+uint64(l.Connections)*usualMemory, fullSources*WorstMemory))
	}
	l.PerSource = max(l.PerSource, 2)
	return l
}

// fitting returns how many items fit into the size in parameter all, next to the size in parameter others, at most
// MaxConnections. Parameter each is the size of an item.
func fitting(all, others, each uint64) uint32 {
	if all <= others {
		return 0
	}
	return uint32(min(MaxConnections, (all-others)/each))
}

// API returns how many connections the ports of the hosted API server may have in total.
func (l Limits) API() uint32 { return l.Connections / 2 }

// Others returns how many connections all other ports may have in total.
func (l Limits) Others() uint32 { return l.Connections - l.API() }

// Share returns how many connections one source may have to the ports of the API server, and as many again to all other
// ports. So a node whose pods use up one share keeps the other. If apart is false, no port is for the API server alone, and
// the share is all of PerSource.
//
// As many sources as fullSources, each of which uses up both shares, fit into the memory. With 2,560 MiB, 2 sources * 2
// shares * 287 connections * 1,600 KiB are 1,794 MiB, next to 664 MiB of idle connections and 100 MiB of Envoy's own. It is
// unknown which share the pods of a node need more, so both are equal.
func (l Limits) Share(apart bool) uint32 {
	if apart {
		return l.PerSource / 2
	}
	return l.PerSource
}

// Enough returns the number of connections at which a source counts as full: four fifths of its share. The kernel
// resets further ones. The last fifth can be used up before the kernel does; the gate limits that.
func Enough(share uint32) uint32 { return share - share/5 }

// questions is about how many questions a sample has while a source fills its share.
const questions = 40

// Sample returns the percentage of connections that Envoy asks about while sources are far from their share.
func (l Limits) Sample() uint32 { return max(1, 100/max(1, l.Share(true)/questions)) }
