package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/launch"
)

// upUntil runs junction up until it has said a word, and returns all that it said.
func upUntil(t *testing.T, word string, args ...string) string {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(t.Context())
	stderr := &watchedBuffer{word: word, seen: func() { interrupt(cli.ErrInterrupted) }}
	timer := time.AfterFunc(20*time.Second, func() { interrupt(cli.ErrInterrupted) })
	defer timer.Stop()
	if code := run(ctx, clitest.PlaceOf(t), append([]string{"up"}, args...), strings.NewReader(""), io.Discard, stderr); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	return stderr.String()
}

func TestUpSaysHowOtherMachinesReachIt(t *testing.T) {
	clitest.Alone(t)
	said := upUntil(t, "Other machines use an address of this machine", "--http", "0.0.0.0:0", "everything")
	if !strings.Contains(said, "junction serves at http://127.0.0.1:") || !strings.Contains(said, "Other machines use") || strings.Contains(said, "[::]") {
		t.Errorf("it says %s", said)
	}
	said = upUntil(t, "Servers come from", "--http", "0.0.0.0:0", "--auth", "keys,local", "--public-url", "https://tools.example", "everything", "--config", configuration(t, map[string]any{"everything": map[string]any{"command": "none"}}))
	if !strings.Contains(said, "junction serves at https://tools.example/mcp\n") || !strings.Contains(said, `"url":"https://tools.example/mcp"`) || strings.Contains(said, "Other machines use") {
		t.Errorf("it says %s", said)
	}
}

// A program that a client starts could neither write the audit log, which this one writes, nor ask for a key.
func TestUpOffersNoEntryThatCannotWork(t *testing.T) {
	clitest.Alone(t)
	for args, offered := range map[string]bool{"": true, "--audit=log": false, "--auth keys": false, "--auth none": true} {
		said := upUntil(t, `"url":"http://127.0.0.1:`, append([]string{"--http", "127.0.0.1:0", "everything"}, strings.Fields(args)...)...)
		if !strings.Contains(said, `"url":"http://127.0.0.1:`) || strings.Contains(said, `"command"`) != offered || strings.Contains(said, "desktop client") != offered {
			t.Errorf("up %s says %s", args, said)
		}
	}
}

func TestUpSaysThatItServesOnlyIfItDoes(t *testing.T) {
	clitest.Alone(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for args, want := range map[string]string{
		"--http 0.0.0.0:0 --auth local":                            "needs --public-url",
		"--http 127.0.0.1:0 --admin 0.0.0.0:0":                     "is not a loopback address",
		"--http 127.0.0.1:0 --admin " + taken.Addr().String():      "--admin: ",
		"--http 127.0.0.1:0 --auth local --public-url http://a.io": "sends passwords and tokens, so it needs https",
	} {
		got := runs(t, "", append([]string{"up", "everything"}, strings.Fields(args)...)...)
		if got.code == cli.ExitOK || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "serves at") {
			t.Errorf("up %s: %+v", args, got)
		}
	}
}

// What net/http says of a connection is a line of the log, as all else is.
func TestConnectionErrorsAreLogged(t *testing.T) {
	clitest.Alone(t)
	ca := clitest.NewAuthority(t)
	c, k := ca.Sign(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	cert, key := clitest.Save(t, t.TempDir(), "site", c, k)
	for _, command := range []string{"up", "proxy"} {
		r := serving(t, command, "everything", "--tls-cert", cert, "--tls-key", key, "--log-format", "json")
		conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(r.url, "https://"), launch.EndpointPath))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "this is no TLS at all\n\n")
		_, _ = io.Copy(io.Discard, conn) // until it is closed
		conn.Close()
		const said = "TLS handshake error"
		for end := time.Now().Add(guardTime); !strings.Contains(r.stderr.String(), said) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
		r.stop()
		found := false
		for lines := bufio.NewScanner(strings.NewReader(r.stderr.String())); lines.Scan(); {
			var line struct{ Level, Msg string }
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Errorf("%s: a line is no JSON: %s", command, lines.Text())
			}
			found = found || strings.Contains(line.Msg, said) && line.Level == "WARN"
		}
		if !found {
			t.Errorf("%s: the log is %s", command, r.stderr.String())
		}
	}
}
