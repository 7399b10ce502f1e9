package app

import "net/http"

// WithHands has a handler take in hands, too.
func (n *Node) WithHands(h http.Handler) http.Handler { return n.withWorkers(h) }
