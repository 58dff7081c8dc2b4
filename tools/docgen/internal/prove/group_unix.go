//go:build unix

package prove

import (
	"os/exec"
	"syscall"
)

// inGroup gives a command a process group of its own, which ends with it. Ctrl-C
// in the terminal does not reach the group: it reaches docgen, whose context
// ends then.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
