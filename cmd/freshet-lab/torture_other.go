//go:build !unix

package main

import "github.com/spf13/cobra"

// tortureVerbs returns none: the campaign needs the signals of Unix.
func tortureVerbs(*program) []*cobra.Command { return nil }
