// Package identity says who nodes are: to each other by the signatures of their requests, and to
// everybody by certificates.
package identity
