package prove

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// patience is how long a command may take, compilation included.
const patience = 5 * time.Minute

// output runs a program and returns what it prints. Whatever it has started ends
// with it: a server that an article's command leaves behind would hold its port
// until the machine is started anew.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	timed, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(timed, name, args...)
	cmd.Dir = dir
	inGroup(cmd)
	cmd.WaitDelay = time.Second // what left the group may hold the output open
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = cmd.Cancel() // there may be nobody left
	}
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		err = errors.New("it left a process behind, which was ended")
	case timed.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("it did not end within %v", patience)
	}
	return string(out), err
}
