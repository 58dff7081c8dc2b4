//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// setSession keeps Ctrl-C in the terminal from a server's guard.
func setSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
