//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// maxDir keeps the socket's path under the 103 bytes that the strictest
// systems allow.
const maxDir = 80

// unprivileged returns whom the cluster runs as: nil, which is ourselves, or
// somebody else when we are root, as whom PostgreSQL refuses to run.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// workDir makes the cluster's directory, which nobody else may enter.
func workDir(cred *syscall.Credential) (string, error) {
	base := os.TempDir()
	if cred != nil || len(base) > maxDir {
		base = "/tmp" // root's own may be closed to others
	}
	dir, err := os.MkdirTemp(base, "pgtest-")
	if err != nil || cred == nil {
		return dir, err
	}
	if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

// cleanEnv drops what would steer PostgreSQL's programs, and the locale.
func cleanEnv(env []string) []string {
	clean := []string{"LC_ALL=C"}
	for _, kv := range env {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANG") {
			clean = append(clean, kv)
		}
	}
	return clean
}
