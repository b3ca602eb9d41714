package oauth

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// lookingUp returns a resolver whose nameserver returns the next addresses for each query.
func lookingUp(t *testing.T, answers ...[]string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 512)
		for next := 0; ; {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			query := buffer[:n]
			var records []byte
			end := 12
			for query[end] != 0 {
				end += 1 + int(query[end])
			}
			end += 5                                                         // the root, the type and the class
			isA := binary.BigEndian.Uint16(query[end-4:]) == 1               // otherwise for IPv6, which has no addresses here
			reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1}, 0) // marks a response
			count := byte(0)
			if isA && next < len(answers) {
				for _, address := range answers[next] {
					ip := netip.MustParseAddr(address).As4()
					records = append(records, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
					records = append(records, ip[:]...)
					count++
				}
				next++
			}
			reply = append(append(append(reply, count, 0, 0, 0, 0), query[12:end]...), records...)
			_, _ = server.WriteTo(reply, from)
		}
	}()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func TestANameThatPointsToThisMachineNextTimeIsNotFollowed(t *testing.T) {
	var reached atomic.Int32
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	inside.Config.ConnState = func(net.Conn, http.ConnState) { reached.Add(1) }
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	outside := errors.New("this would go to the internet") // tests do not reach the internet
	var left []string
	client := Guarded(nil)
	g := client.Transport.(*guard)
	g.dialer.Resolver = lookingUp(t, []string{"1.1.1.1"}, []string{"127.0.0.1"}, []string{"1.1.1.1", "10.0.0.1", "127.0.0.1", "100.64.0.1"}, nil)
	g.dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		left = append(left, address)
		return outside
	}
	at := "https://login.example:" + port + "/token"
	get := func() error {
		response, err := client.Get(at)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	if err := get(); !errors.Is(err, outside) {
		t.Errorf("an address of the internet: %v", err)
	}
	if err := get(); err == nil || !strings.Contains(err.Error(), "login.example has the address 127.0.0.1, which is not on the internet") {
		t.Errorf("the same name, which points to this machine now: %v", err)
	}
	if err := get(); err == nil {
		t.Error("a name with addresses of both kinds was reached")
	}
	if err := get(); err == nil || errors.Is(err, outside) {
		t.Errorf("a name without an address: %v", err)
	}
	if got := strings.Join(left, " "); got != "1.1.1.1:"+port+" 1.1.1.1:"+port {
		t.Errorf("connections to %s", got)
	}
	if reached.Load() != 0 {
		t.Errorf("this machine was reached %d times", reached.Load())
	}
}

func TestNoFormOfAnAddressLeadsInside(t *testing.T) {
	client := Guarded(nil)
	g := client.Transport.(*guard)
	outside := errors.New("this would go to the internet") // tests do not reach the internet
	g.dialer.ControlContext = func(context.Context, string, string, syscall.RawConn) error { return outside }
	for _, host := range []string{
		"10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "198.18.0.1",
		"[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:100.64.0.1]", "[::10.0.0.1]",
		"[64:ff9b::a00:1]", "[64:ff9b:1::a00:1]", "[2002:a00:1::1]", "[2001:0:a00:1::1]", "[fd00:ec2::254]", "[fe80::1]",
	} {
		response, err := client.Get("https://" + host + "/x")
		if err == nil {
			response.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "which is not on the internet") {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST"} {
		response, err := client.Get("https://" + host + "/x")
		if err == nil {
			response.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "is on this machine, but the server that names it is not") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := client.Get("https://1.1.1.1/x"); !errors.Is(err, outside) { //nolint:bodyclose // there is none
		t.Errorf("the internet: %v", err)
	}
}
