package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// acmeHost is the name for which a certificate is issued. Only the DNS server of the test knows it.
const acmeHost = "tools.acme.example"

// TestCertificatesComeByACME runs a junction up that gets its certificate from Pebble, Let's Encrypt's small authority, by TLS-ALPN-01,
// or by HTTP-01 if the authority does not reach the port for TLS.
func TestCertificatesComeByACME(t *testing.T) {
	t.Parallel()
	for name, byHTTP := range map[string]bool{"TLS-ALPN-01": false, "HTTP-01": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testACME(t, byHTTP)
		})
	}
}

func testACME(t *testing.T, byHTTP bool) {
	pebble := cache(t, "pebble", "pebble")
	if _, err := os.Stat(pebble); err != nil {
		missing(t, "Pebble not installed")
	}
	folder := t.TempDir()
	authority := selfSigned(t, folder)
	up, acme, management := freeAddress(t), freeAddress(t), freeAddress(t)
	_, port, err := net.SplitHostPort(up)
	if err != nil {
		t.Fatal(err)
	}
	httpPort, listen := "1", map[string]any{"hosts": []string{acmeHost}, "email": "ops@acme.example", "directory": "https://" + acme + "/dir", "cache": "certificates"}
	plain := freeAddress(t)
	if byHTTP {
		if _, httpPort, err = net.SplitHostPort(plain); err != nil {
			t.Fatal(err)
		}
		port, listen["http"] = "1", plain
	}
	write(t, filepath.Join(folder, "pebble.json"), `{"pebble": {"listenAddress": "`+acme+`", "managementListenAddress": "`+management+`", "certificate": "`+authority+`.pem", "privateKey": "`+authority+`.key", "httpPort": `+httpPort+`, "tlsPort": `+port+`}}`)
	_, log := start(t, append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0"), pebble, "-config", filepath.Join(folder, "pebble.json"), "-dnsserver", loopbackNames(t))
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: poolOf(t, authority+".pem")}}, Timeout: 5 * time.Second}
	var root []byte
	for deadline := time.Now().Add(30 * time.Second); root == nil; time.Sleep(50 * time.Millisecond) {
		if response, err := trusting.Get("https://" + management + "/roots/0"); err == nil {
			root, err = io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("the root of Pebble: %s, %v", response.Status, err)
			}
		} else if time.Now().After(deadline) {
			t.Fatalf("Pebble does not listen: %v: %s", err, log)
		}
	}

	settings, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{}, "junction": map[string]any{
		"listen": map[string]any{"http": up, "tls": map[string]any{"acme": listen}}, "auth": []string{"keys"}}})
	write(t, filepath.Join(folder, "mcp.json"), string(settings))
	env := append(os.Environ(), "HOME="+folder, "XDG_CONFIG_HOME="+folder, "XDG_CACHE_HOME="+folder, "SSL_CERT_FILE="+authority+".pem")
	_, said := start(t, env, junction(t), "up", "--config", filepath.Join(folder, "mcp.json"))

	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(root) {
		t.Fatalf("the root of Pebble is %q", root)
	}
	dialer := &net.Dialer{Timeout: time.Minute}
	connect := func(name string) (*tls.Conn, error) {
		return tls.DialWithDialer(dialer, "tcp", up, &tls.Config{RootCAs: pool, ServerName: name})
	}
	var conn *tls.Conn
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if conn, err = connect(acmeHost); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("there is no certificate: %v\n%s\n%s", err, said, log)
		}
	}
	first := conn.ConnectionState().PeerCertificates[0]
	conn.Close()
	if err := first.VerifyHostname(acmeHost); err != nil {
		t.Error(err)
	}
	if conn, err := connect("other.acme.example"); err == nil {
		conn.Close()
		t.Error("there is a certificate for a name that the settings do not have")
	}
	through := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: acmeHost}}, Timeout: 10 * time.Second}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+up+"/mcp", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = acmeHost // it is an allowed host
	response, err := through.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a request without a key gets %s", response.Status)
	}
	if byHTTP {
		direct := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 10 * time.Second}
		response, err := direct.Get("http://" + plain + "/mcp")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if at := response.Header.Get("Location"); response.StatusCode != http.StatusFound || !strings.HasPrefix(at, "https://") {
			t.Errorf("another request gets %s, to %q", response.Status, at)
		}
	}
	files := 0
	err = filepath.WalkDir(filepath.Join(folder, "certificates"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if !entry.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%d files are kept: %v", files, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func poolOf(t *testing.T, path string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(path)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatalf("%s: %v", path, err)
	}
	return pool
}

// selfSigned writes a certificate for this machine, with .pem and .key behind the path that it returns.
func selfSigned(t *testing.T, folder string) (path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Pebble of the test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(folder, "pebble")
	write(t, path+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, path+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return path
}

// loopbackNames serves DNS over TCP in which every name is this machine, and returns its address.
func loopbackNames(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			running.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				for answerName(conn) == nil {
				}
			})
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return listener.Addr().String()
}

// answerName answers one question of DNS.
func answerName(conn net.Conn) error {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	question := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, question); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	for _, q := range m.Questions {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}})
		}
	}
	packed, err := m.AppendPack(make([]byte, 2, 512))
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(packed, uint16(len(packed)-2))
	_, err = conn.Write(packed)
	return err
}
