package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// postgresProgram returns a program of PostgreSQL, of which Debian has only psql in the path.
func postgresProgram(t testing.TB, name string) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err == nil && len(found) > 0 {
		return slices.Max(found)
	}
	return program(t, name)
}

// postgresOf starts a PostgreSQL of its own on loopback that has run the script. It returns the address, and
// the start of a command line that asks it a statement as its owner, "owner" with the password "owning". It
// never touches the system's.
func postgresOf(t testing.TB, script string) (address string, owner []string) {
	t.Helper()
	p := newPostgres(t, script)
	startDatabase(t, p.dir, p.credential, syscall.SIGINT, p.argv...)
	p.ready(t)
	run(t, os.Environ(), append(p.owner, "--file="+filepath.Join(p.dir, "init.sql"))...)
	return p.address, p.owner
}

// A postgresFolder has the data of a PostgreSQL that does not run yet.
type postgresFolder struct {
	dir        string
	credential *syscall.Credential
	address    string
	argv       []string // starts it
	owner      []string // the start of a command line that asks it a statement
}

func newPostgres(t testing.TB, script string) postgresFolder {
	t.Helper()
	installer, server := postgresProgram(t, "initdb"), postgresProgram(t, "postgres")
	psql := postgresProgram(t, "psql")
	dir, credential := ownFolder(t, script)
	data, password := filepath.Join(dir, "data"), filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("owning\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	install := exec.Command(installer, "--pgdata="+data, "--username=owner", "--pwfile="+password, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	install.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%.3000s", err, out)
	}
	address := freeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return postgresFolder{dir, credential, address,
		[]string{server, "-D", data, "-c", "listen_addresses=" + host, "-c", "port=" + port,
			"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=16MB"},
		[]string{program(t, "env"), "PGPASSWORD=owning", psql, "--no-psqlrc", "--host=" + host, "--port=" + port, "--username=owner",
			"--dbname=postgres", "--set=ON_ERROR_STOP=1", "--quiet", "--tuples-only", "--no-align"}}
}

// ready waits until it answers.
func (p postgresFolder) ready(t testing.TB) {
	t.Helper()
	accepting(t, p.address)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, said, err := tryRun(t, os.Environ(), append(p.owner, "--command=SELECT 1")...)
		if err == nil {
			return
		}
		if !strings.Contains(said, "starting up") || time.Now().After(deadline) {
			t.Fatalf("psql: %v: %s", err, said)
		}
	}
}
