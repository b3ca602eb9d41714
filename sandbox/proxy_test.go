package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAProxyReachesTheHostsOfTheProfileOnly(t *testing.T) {
	var mu sync.Mutex
	var refused, dialled []string
	r := reach{allowed: parseHosts([]string{"api.example.com", "*.example.org:8443", "10.0.0.5"}),
		refuse: func(r Refusal) {
			mu.Lock()
			defer mu.Unlock()
			refused = append(refused, r.What+"; "+strings.Join(r.Allow, " "))
		},
		lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			switch name {
			case "api.example.com":
				return []netip.Addr{netip.MustParseAddr("1.2.3.4")}, nil
			case "a.example.org":
				return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
			}
			return nil, errors.New("no such host")
		},
		dial: func(_ context.Context, _, address string) (net.Conn, error) {
			mu.Lock()
			dialled = append(dialled, address)
			mu.Unlock()
			ours, theirs := net.Pipe()
			go func() { // a server that returns its input up to the end of a line
				defer theirs.Close()
				line, _ := bufio.NewReader(theirs).ReadString('\n')
				fmt.Fprintf(theirs, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(line), line)
			}()
			return ours, nil
		}}
	p, err := serveProxy(r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	ask := func(request string) string {
		t.Helper()
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, request)
		answers := bufio.NewReader(conn)
		resp, err := http.ReadResponse(answers, &http.Request{Method: strings.Fields(request)[0]})
		if err != nil {
			return err.Error()
		}
		from := io.Reader(resp.Body)
		if strings.HasPrefix(request, http.MethodConnect) && resp.StatusCode == http.StatusOK {
			inner, err := http.ReadResponse(answers, nil)
			if err != nil {
				return err.Error()
			}
			from = inner.Body
		}
		text, _ := io.ReadAll(from)
		return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(text)))
	}
	for _, c := range []struct{ request, want string }{
		{"CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\nhello\n", "200 hello"}, // data that comes with the request is carried, too
		{"CONNECT API.example.com.:443 HTTP/1.1\r\nHost: x\r\n\r\nhello\n", "200 hello"},
		{"CONNECT 10.0.0.5:80 HTTP/1.1\r\nHost: x\r\n\r\nhello\n", "200 hello"},
		{"GET http://api.example.com/path HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n", "200 GET /path HTTP/1.1"},
	} {
		if got := ask(c.request); got != c.want {
			t.Errorf("%q: got %q, want %q", c.request, got, c.want)
		}
	}
	for _, c := range []struct{ request, want string }{
		{"CONNECT api.example.com:22 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "502 "},
		{"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "502 "},
		{"CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "502 "},
		{"CONNECT a.example.org:8443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "502 "},
		{"CONNECT a.example.org HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "502 "},
		{"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", "502 "},
		{"GET /path HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n", "400 "},
	} {
		if got := ask(c.request); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.request, got, c.want)
		}
	}
	if want := []string{"1.2.3.4:443", "1.2.3.4:443", "10.0.0.5:80", "1.2.3.4:80"}; !slices.Equal(dialled, want) {
		t.Errorf("dialled %q, want %q", dialled, want)
	}
	if want := []string{"connect to api.example.com:22; --host api.example.com:22", "connect to evil.example:443; --host evil.example", "connect to 127.0.0.1:443; --host 127.0.0.1",
		"connect to 169.254.169.254:8443; --host 169.254.169.254:8443", "connect to evil.example:80; --host evil.example"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
}

func TestAProxyEndsItsTunnels(t *testing.T) {
	r := reach{allowed: parseHosts([]string{"10.0.0.5"}), refuse: func(Refusal) {}, dial: func(context.Context, string, string) (net.Conn, error) {
		ours, _ := net.Pipe() // without a reader or writer
		return ours, nil
	}}
	p, err := serveProxy(r)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "CONNECT 10.0.0.5:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	b := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, b); err != nil || string(b) != "HTTP/1.1 200" {
		t.Fatalf("%q, %v", b, err)
	}
	p.close()
	if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}

func TestAProxyEndsConnectionsThatChangeTheirProtocol(t *testing.T) {
	upgraded := make(chan struct{})
	r := reach{allowed: parseHosts([]string{"10.0.0.5"}), refuse: func(Refusal) {}, dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() { // a WebSocket server
			http.ReadRequest(bufio.NewReader(theirs))
			io.WriteString(theirs, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			close(upgraded)
		}()
		return ours, nil
	}}
	p, err := serveProxy(r)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET http://10.0.0.5/ HTTP/1.1\r\nHost: 10.0.0.5\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", resp, err)
	}
	<-upgraded
	ended := make(chan struct{})
	go func() {
		p.close()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the proxy waits for a connection that nobody counts any more")
	}
}
