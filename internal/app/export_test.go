package app

import (
	"net"
	"net/http"
	"net/netip"
)

// WithWorkers has a handler take in workers, too.
func (n *Node) WithWorkers(h http.Handler) http.Handler { return n.withWorkers(h) }

// LimitConns returns a listener with at most so many connections.
func LimitConns(l net.Listener, most int, proxies []netip.Prefix) net.Listener {
	limited := limitConns(l, proxies).(*limitedListener)
	limited.most = most
	return limited
}

// GCPercent returns the GOGC for a live heap.
func GCPercent(live uint64) int { return gcPercent(live) }
