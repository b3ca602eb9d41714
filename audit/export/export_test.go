package export

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

const line = `{"time":"2026-11-23T10:00:00.000001Z","kind":"call","method":"tools/call","server":"files","tool":"read","principal":"ann","outcome":"ok","trace":"0af7651916cd43dd8448eb211c80319c","arguments":{"path":"a\"b"},"seq":1}`

func exporter(t *testing.T, target string, o Options) *Exporter {
	t.Helper()
	o.Logger = quiet
	e, err := New(target, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestLinesReachACollectorOfOTLP(t *testing.T) {
	var mu sync.Mutex
	var got []string
	refused := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if refused++; refused == 1 { // such as while it starts
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var request struct {
			ResourceLogs []struct {
				Resource  struct{ Attributes []struct{ Key string } }
				ScopeLogs []struct {
					LogRecords []struct {
						TimeUnixNano, TraceID string
						Body                  struct{ StringValue string }
						Attributes            []struct {
							Key   string
							Value struct{ StringValue string }
						}
					}
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.Header.Get("Api-Key") != "k" || r.URL.Path != "/v1/logs" {
			t.Errorf("%v %v %s", err, r.Header, r.URL)
		}
		for _, l := range request.ResourceLogs[0].ScopeLogs[0].LogRecords {
			got = append(got, l.Body.StringValue)
			if l.TimeUnixNano != "1795428000000001000" || l.TraceID != "0af7651916cd43dd8448eb211c80319c" || fmt.Sprint(l.Attributes) != "[{junction.kind {call}} {junction.method {tools/call}} {junction.server {files}} {junction.tool {read}} {junction.principal {ann}} {junction.outcome {ok}}]" {
				t.Errorf("a record is %+v", l)
			}
		}
	}))
	defer server.Close()
	e := exporter(t, server.URL+"/v1/logs", Options{Header: http.Header{"Api-Key": {"k"}}})
	for range 3 {
		e.Add([]byte(line + "\n" + line + "\n"))
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Join(got, "\n") != strings.TrimSuffix(strings.Repeat(line+"\n", 6), "\n") {
		t.Errorf("the collector got %q", got)
	}
}

func TestLinesThatACollectorNeverTakesAreNotSentAgain(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		http.Error(w, "no logs here", http.StatusBadRequest)
	}))
	defer server.Close()
	e := exporter(t, server.URL, Options{})
	e.Add([]byte(line + "\n"))
	if err := e.Close(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "1 lines were not exported to http://127.0.0.1") || requests != 1 {
		t.Errorf("%v after %d requests", err, requests)
	}
}

func TestLinesReachASyslog(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := exporter(t, "syslog+tcp://"+l.Addr().String(), Options{Service: "front"})
	e.Add([]byte(line + "\n" + line + "\n"))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for range 2 {
		var size int
		if _, err := fmt.Fscanf(r, "%d ", &size); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(r, text); err != nil || !strings.HasPrefix(string(text), "<110>1 2026-11-23T10:00:00.000001Z ") || !strings.Contains(string(text), " front ") || !strings.HasSuffix(string(text), " audit - "+line) {
			t.Errorf("the syslog got %q, %v", text, err)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}

	path := filepath.Join(t.TempDir(), "log")
	local, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Skipf("skip: there are no such sockets here: %v", err)
	}
	defer local.Close()
	e = exporter(t, "syslog+unix://"+path, Options{})
	e.Add([]byte(line + "\n"))
	buf := make([]byte, maxDatagram)
	n, err := local.Read(buf)
	if err != nil || !strings.HasPrefix(string(buf[:n]), "<110>1 ") || !strings.HasSuffix(string(buf[:n]), line) {
		t.Errorf("the syslog got %q, %v", buf[:n], err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// deaf is a collector that takes nothing until it hears.
type deaf struct {
	mu    sync.Mutex
	hears bool
	lines int
}

func (d *deaf) send(_ context.Context, lines [][]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.hears {
		return fmt.Errorf("nobody is there")
	}
	d.lines += len(lines)
	return nil
}

func (d *deaf) close() {}

func TestLinesWaitAndTooManyAreDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deaf{}
		e := start(d, "deaf", quiet)
		long := []byte(strings.Repeat("x", 1<<20) + "\n")
		for range 10 {
			e.Add(long)
		}
		time.Sleep(time.Hour)
		if waiting, lost, err := e.Waiting(); waiting != 8 || lost != 2 || err == nil || e.Target() != "deaf" {
			t.Errorf("%d lines wait, %d are lost, %v", waiting, lost, err)
		}
		d.mu.Lock()
		d.hears = true
		d.mu.Unlock()
		time.Sleep(time.Hour)
		if waiting, lost, err := e.Waiting(); waiting != 0 || lost != 2 || err != nil {
			t.Errorf("it hears, %d lines wait, %d are lost, %v", waiting, lost, err)
		}
		e.Add(long)
		err := e.Close(t.Context())
		if err == nil || err.Error() != "2 lines were not exported to deaf" || d.lines != 9 {
			t.Errorf("%v, and %d lines were", err, d.lines)
		}
		e.Add(long) // nothing, as it is closed
	})
}

func TestExportersEndWithoutAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(&deaf{}, "deaf", quiet)
		e.Add([]byte("a\nb\n"))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := e.Close(ctx); err == nil || err.Error() != "2 lines were not exported to deaf" {
			t.Error(err)
		}
	})
}

func TestInvalidTargetsAreErrors(t *testing.T) {
	for _, target := range []string{"", "ftp://host/", "https:///v1/logs", "syslog+tcp://host", "syslog+unix:", "http://user:pass@/"} {
		if _, err := New(target, Options{}); err == nil || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%q: %v", target, err)
		}
	}
}
