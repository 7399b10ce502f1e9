//go:build !unix

package pgtest

import "os/exec"

func humble(*exec.Cmd) {}

func handOver(string) error { return nil }
