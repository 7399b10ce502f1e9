//go:build !linux

package extract

import "os/exec"

// dieWithParent has nothing to ask of the kernel here: a child sees the end of
// its input, and does not stay busy for longer than its own watch allows.
func dieWithParent(*exec.Cmd) {}
