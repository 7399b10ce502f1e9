package extract

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child if this process dies without
// having closed it, even while the child is busy. Nothing else ends it: an
// interrupt from the terminal is for the parent alone, which may have a last
// page to read.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
