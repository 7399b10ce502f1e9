// Package identity authenticates the nodes of a cluster: to each other by signed requests, and to
// clients by certificates.
package identity
