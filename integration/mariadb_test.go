package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// fruit is what the test database holds.
const fruit = `CREATE DATABASE IF NOT EXISTS shop;
CREATE TABLE IF NOT EXISTS shop.fruit (id INT PRIMARY KEY, name VARCHAR(20));
REPLACE INTO shop.fruit VALUES (1, 'apple'), (2, 'quince');
CREATE USER IF NOT EXISTS 'reader'@'%' IDENTIFIED BY 'reading';
GRANT SELECT ON shop.* TO 'reader'@'%';
`

// mariaDB starts a database of its own with a small table, and returns the start of a
// command line that tells a program how to reach it.
func mariaDB(t testing.TB) (environment []string) {
	t.Helper()
	return databaseOf(t, fruit, "shop")
}

// databaseOf starts a database server of its own that has run the script, a statement a
// line. It returns the start of a command line that tells a program how to reach one of
// its databases. It never touches the system's.
func databaseOf(t testing.TB, script, database string) (environment []string) {
	t.Helper()
	installer, server := program(t, "mariadb-install-db"), program(t, "mariadbd")
	dir, credential := ownFolder(t, script)
	data := filepath.Join(dir, "data")
	install := exec.Command(installer, "--no-defaults", "--datadir="+data, "--skip-test-db", "--auth-root-authentication-method=normal")
	install.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%.3000s", err, out)
	}
	address := freeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	startDatabase(t, dir, credential, syscall.SIGTERM, server, "--no-defaults", "--datadir="+data, "--socket="+filepath.Join(dir, "sock"),
		"--pid-file="+filepath.Join(dir, "pid"), "--port="+port, "--bind-address="+host, "--skip-name-resolve",
		"--init-file="+filepath.Join(dir, "init.sql"), "--innodb-buffer-pool-size=16M", "--character-set-server=utf8mb4", "--skip-log-bin")
	accepting(t, address)
	return []string{program(t, "env"), "MYSQL_HOST=" + host, "MYSQL_PORT=" + port,
		"MYSQL_USER=reader", "MYSQL_PASSWORD=reading", "MYSQL_DATABASE=" + database}
}

// ownFolder makes a folder that belongs to the user who shall run the database: this one,
// or nobody where this one is root. The script is in it.
func ownFolder(t testing.TB, text string) (dir string, credential *syscall.Credential) {
	t.Helper()
	dir, err := os.MkdirTemp("", "junction-database-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("removing the database: %v", err)
		}
	})
	script := filepath.Join(dir, "init.sql")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return dir, nil
	}
	const nobody = 65534
	for _, path := range []string{dir, script} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return dir, &syscall.Credential{Uid: nobody, Gid: nobody}
}

// startDatabase runs a database until the test ends, which sends it the signal.
func startDatabase(t testing.TB, dir string, credential *syscall.Credential, end os.Signal, argv ...string) {
	t.Helper()
	command := exec.Command(argv[0], argv[1:]...)
	command.Dir = dir
	command.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
	log := &tail{}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(end) // it may have ended
		timer := time.AfterFunc(10*time.Second, func() { _ = command.Process.Kill() })
		err := command.Wait()
		timer.Stop()
		if t.Failed() {
			t.Logf("%s ended with %v: %.3000s", filepath.Base(argv[0]), err, log)
		}
	})
}

// accepting waits until somebody accepts connections at the address.
func accepting(t testing.TB, address string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = connection.Close()
			return
		}
	}
	t.Fatalf("nobody listens at %s after 30 s", address)
}
