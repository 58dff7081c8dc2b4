//go:build unix

package pgtest

import (
	"crypto/rand"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// maxDir keeps the path of the socket, "/pgtest-" with ten letters and
// "/.s.PGSQL.5432" longer, within the 103 bytes that the strictest systems allow.
const maxDir = 70

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

// workDir names a directory for a cluster, which does not exist yet.
func workDir(cred *syscall.Credential) string {
	base := os.TempDir()
	// Root's own may be closed to others, and a comma and a quote mean something
	// in the names of directories for sockets.
	if cred != nil || len(base) > maxDir || !filepath.IsAbs(base) || strings.ContainsAny(base, `,"`) {
		base = "/tmp"
	}
	return filepath.Join(base, "pgtest-"+strings.ToLower(rand.Text()[:10]))
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
