package app

import "net/http"

// WithWorkers has a handler take in workers, too.
func (n *Node) WithWorkers(h http.Handler) http.Handler { return n.withWorkers(h) }
