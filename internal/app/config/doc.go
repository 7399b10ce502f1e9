// Package config is what an operator can set, and how it is read: from
// defaults, a file, the environment and flags.
package config
