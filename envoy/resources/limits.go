// This file decides how many connections an Envoy carries, from the memory and the open files
// that it has. It is pure: the numbers come from the Deployment, or from the container itself.

package resources

// What connections cost, in bytes. docs/performance.md has the measurements.
const (
	// ownMemory is what an Envoy with a full plan takes without a connection.
	ownMemory = 100 << 20
	// usualMemory is what an idle connection takes: Envoy's memory, and the kernel's for both sockets.
	usualMemory = 34 << 10
	// WorstMemory is what a connection takes on which both sides send and never read: all buffers are full.
	WorstMemory = 1_600 << 10
	// fullSources is how many sources may have only such connections, to all ports, in addition to all others. One more
	// than the one that means harm: a burst may exceed its share until it is noticed.
	fullSources = 2
	// ownFiles are an Envoy's files without a connection. A connection takes two.
	ownFiles = 256
)

const (
	// MaxConnections is how many connections hosts may have open through one Envoy: 40 for each of 500 VMs.
	MaxConnections = 20_000
	// maxOfSource is how many of them one source may have, however much memory there is.
	maxOfSource = 2_000
)

// Limits are how much one Envoy carries.
type Limits struct {
	// Connections is how many are open at the same time, at least 2. Half of them are for the ports
	// that lead to the hosted API server only, and half for all other ports.
	Connections uint32
	// PerSource is how many connections of one source are open at the same time, at least 2. Half of them are for the
	// ports that lead to the hosted API server only, and half for all other ports. See Share.
	PerSource uint32
	// Heap in bytes is how much Envoy may allocate. Zero: there is no limit.
	Heap uint64
}

// NewLimits returns the limits of an Envoy with so many bytes of memory and open files. Zero means
// that there is no limit, or that it is not known. All connections together keep to half of the memory that is not Envoy's own
// while they are idle. The sources that are full have what is left then.
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

// fitting returns how many things that need so much each fit into all, without what is not theirs. It is at
// most MaxConnections.
func fitting(all, others, each uint64) uint32 {
	if all <= others {
		return 0
	}
	return uint32(min(MaxConnections, (all-others)/each))
}

// API is how many connections the ports of the hosted API server have, all together.
func (l Limits) API() uint32 { return l.Connections / 2 }

// Others is how many connections all other ports have, together.
func (l Limits) Others() uint32 { return l.Connections - l.API() }

// Share returns how many connections one source has at most to the ports of the API server, and to all other ports. A
// node whose pods fill one share keeps the other. Apart: some ports are for the API server alone. Without them, the
// share of the others is all of PerSource.
//
// Both shares together are PerSource, so fullSources that fill both keep to the memory. With 2,560 MiB, 2 sources * 2 shares *
// 287 connections * 1,600 KiB are 1,794 MiB, next to 664 MiB of idle connections and 100 MiB of Envoy's own. The shares are
// equal, as the halves of Connections are: nothing says which one the pods of a node need more.
func (l Limits) Share(apart bool) uint32 {
	if apart {
		return l.PerSource / 2
	}
	return l.PerSource
}

// Enough is the number of connections from which a source counts as full: four fifths of its share. Then the kernel
// keeps new ones from Envoy. The rest can open until then; Envoy asks the gate about it.
func Enough(share uint32) uint32 { return share - share/5 }

// questions is about how many of the connections that fill a share Envoy asks about, if it asks about a sample.
const questions = 40

// Sample is the percentage of connections that Envoy asks about while sources are far from their share.
func (l Limits) Sample() uint32 { return max(1, 100/max(1, l.Share(true)/questions)) }
