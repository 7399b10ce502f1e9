package content

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child if this process dies without
// having closed it, even while the child is busy.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
