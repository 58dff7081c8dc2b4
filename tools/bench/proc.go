package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errElsewhere says that the server's processes can't be seen from here.
var errElsewhere = errors.New("the server's processes are only seen on its own Linux machine")

// isPostgres guards against a server in a container or on another machine,
// whose process ids mean something else here. A server process names itself.
func isPostgres(pid int) bool {
	title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(title, []byte("postgres"))
}

// cpuTime is what a process has used up.
func cpuTime(pid int) (time.Duration, error) {
	if !isPostgres(pid) {
		return 0, errElsewhere
	}
	// In nanoseconds, where the kernel keeps it.
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid)); err == nil {
		if fields := strings.Fields(string(text)); len(fields) == 3 && fields[0] != "0" {
			ns, err := strconv.ParseInt(fields[0], 10, 64)
			return time.Duration(ns), err
		}
	}
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	user, userErr := strconv.ParseInt(fields[11], 10, 64)
	system, systemErr := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	return time.Duration(user+system) * tick, errors.Join(userErr, systemErr)
}

// statFields are those after the process's name, from the state on.
func statFields(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

// metered adds to a subject the processor time of its server processes, whose
// ids pids returns. Sessions that come and go within a slice take theirs along,
// so then it is not known.
func metered(s subject, pids func() ([]int, error)) subject {
	total := func() (sum time.Duration, of string, err error) {
		ids, err := pids()
		for _, pid := range ids {
			one, err := cpuTime(pid)
			if err != nil {
				return 0, "", err
			}
			sum += one
		}
		return sum, fmt.Sprint(ids), err
	}
	return subject{name: s.name, run: func(ctx context.Context, d time.Duration) (sample, error) {
		before, ofBefore, beforeErr := total()
		got, err := s.run(ctx, d)
		after, ofAfter, afterErr := total()
		if beforeErr == nil && afterErr == nil && ofBefore == ofAfter {
			got.cpu = after - before
		}
		return got, err
	}}
}

// serverMemory is what all the processes of a server use, what they share
// counted once. pid is one of its sessions.
func serverMemory(pid int) (bytes float64, err error) {
	if !isPostgres(pid) {
		return 0, errElsewhere
	}
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	postmaster := fields[1]
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		pid, _ := strconv.Atoi(filepath.Base(entry))
		fields, err := statFields(pid)
		if err != nil || fields[1] != postmaster && filepath.Base(entry) != postmaster {
			continue // another's, or gone
		}
		one, err := proportionalSet(pid)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		bytes += one
	}
	return bytes, nil
}

// proportionalSet is a process's memory, with its part of what it shares.
func proportionalSet(pid int) (bytes float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if errors.Is(err, syscall.ESRCH) {
		err = os.ErrNotExist // it ended between the opening and the reading
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "Pss:" {
			kilobytes, err := strconv.ParseFloat(fields[1], 64)
			return kilobytes * 1024, err
		}
	}
	return 0, os.ErrNotExist // a process that has ended has no memory
}
