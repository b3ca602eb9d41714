package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// asCounter is the first argument of a server that counts its calls. The second one is the file to which it appends them.
const asCounter = "count-calls"

// count serves on standard input and output: its tools count how often they were called since the server started.
func count(log string) int {
	var mu sync.Mutex
	calls := 0
	next := func() (string, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = fmt.Fprintf(f, "%d %d\n", os.Getpid(), calls)
		return fmt.Sprint(calls, " ", os.Getpid()), err
	}
	s := mcp.NewServer("counter", "1")
	mcp.AddTool(s, "count", func(context.Context, struct{}) (string, error) { return next() })
	mcp.AddTool(s, "slow", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 600 {
			mcp.Progress(ctx, float64(i), 600, "")
			time.Sleep(100 * time.Millisecond)
		}
		return next()
	})
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcp.Elicit[struct {
			Text string `json:"text"`
		}](ctx, "name?")
		if err != nil {
			return "", err
		}
		n, err := next()
		return n + " " + answer.Text, err
	})
	if err := stdio.Serve(context.Background(), s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// newOwned starts three replicas that pass the requests for a server on to one of them. settings are those of the server.
func newOwned(t *testing.T, own string, flags ...string) *replicas {
	w := &replicas{world: newWorld(t)}
	w.place()
	w.own(own, flags...)
	return w
}

// own starts the replicas, whose addresses are known.
func (w *replicas) own(own string, flags ...string) {
	t := w.T
	w.write("old", strings.Repeat("o", 32)+"\n")
	w.write("store", testStore(t)+"\n")
	argv, err := json.Marshal(self(t, asCounter, w.dir+"/calls")[1:])
	if err != nil {
		t.Fatal(err)
	}
	w.write("mcp.json", fmt.Sprintf(`{"junction":{"names":"none","state":{"url":"${file:store}"},"stateKeys":["${file:old}"],"peers":["%s"],"servers":{"s":%s}},"mcpServers":{"s":{"command":%q,"args":%s}}}`,
		strings.Join(w.origins, `","`), own, self(t)[0], argv))
	w.up(flags...)
}

// counted calls a tool, and returns the count and the process of the server.
func (w *replicas) counted(c *mcp.Client, tool string) (n int, pid string, err error) {
	return w.countedWith(w.Context(), c, tool)
}

func (w *replicas) countedWith(ctx context.Context, c *mcp.Client, tool string) (n int, pid string, err error) {
	r, err := c.CallTool(ctx, tool, struct{}{})
	if err != nil {
		return 0, "", err
	}
	number, rest, _ := strings.Cut(r.Text(), " ")
	if n, err = strconv.Atoi(number); err != nil {
		err = fmt.Errorf("no number: %s", r.Text())
	}
	return n, rest, err
}

// counts has a client call from first to last, with no gap.
func (w *replicas) counts(c *mcp.Client, first, last int) (pid string) {
	w.Helper()
	for want := first; want <= last; want++ {
		n, by, err := w.counted(c, "count")
		if err != nil || n != want {
			w.Fatalf("call %d: %d, %v", want, n, err)
		}
		if pid == "" {
			pid = by
		}
		if by != pid {
			w.Fatalf("call %d is by process %s, and not %s", want, by, pid)
		}
	}
	return pid
}

// ownerOf returns the replica that runs a process.
func (w *replicas) ownerOf(pid string) int {
	w.Helper()
	for i, one := range w.all {
		if text, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
			after := text[strings.LastIndex(string(text), ")")+1:]
			if parent := strings.Fields(string(after))[1]; parent == fmt.Sprint(one.process.Pid) {
				return i
			}
		}
	}
	w.Fatalf("no replica runs process %s", pid)
	return 0
}

// asUser connects with a key, or without one if it is empty.
func (w *replicas) asUser(key, revision string) *mcp.Client {
	w.Helper()
	o := streamable.ClientOptions{}
	if key != "" {
		o.Header = http.Header{"Authorization": {"Bearer " + key}}
	}
	c, err := mcp.DialWith(w.Context(), streamable.ClientWith(w.url, o), mcp.ClientOptions{Revision: revision, OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"text":"ann"}`)}, nil
	}})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	return c
}

// TestAStatefulServerRunsAtOneReplica has the calls of users reach three replicas by turns. Each user's instance counts all calls of
// that user, of clients of both eras.
func TestAStatefulServerRunsAtOneReplica(t *testing.T) {
	t.Parallel()
	w := newOwned(t, `{"isolation":"user"}`, "--auth", "keys")
	pids, places := map[string]bool{}, map[int]bool{}
	for i := range 4 {
		key := strings.TrimSpace(w.input("", "key", "create", fmt.Sprint("user", i)))
		w.within("a new key is unknown", func() bool { return w.knows(key) })
		pid := w.counts(w.asUser(key, "2026-07-28"), 1, 12)
		if again := w.counts(w.asUser(key, "2025-11-25"), 13, 24); again != pid {
			t.Errorf("another process for another client: %s and %s", pid, again)
		}
		pids[pid], places[w.ownerOf(pid)] = true, true
	}
	if len(pids) != 4 {
		t.Errorf("%d processes of 4 users", len(pids))
	}
	t.Logf("the instances of 4 users are at %d of 3 replicas", len(places))
}

// knows reports whether all replicas accept a key.
func (w *replicas) knows(key string) bool {
	for _, origin := range w.origins {
		c, err := w.withKey(origin+"/mcp", key)
		if err != nil {
			return false
		}
		_ = c.Close()
	}
	return true
}

// TestAnInstanceMovesWhenItsReplicaIsKilled kills the replica that runs the only instance of a server, while a call runs. That call
// fails once, with one error, and the next calls count from 1 at another replica.
func TestAnInstanceMovesWhenItsReplicaIsKilled(t *testing.T) {
	t.Parallel()
	w := newOwned(t, `{"owner":"one"}`)
	c := w.asUser("", "2026-07-28")
	pid := w.counts(c, 1, 6)
	owner := w.ownerOf(pid)
	other, err := mcp.DialWith(t.Context(), streamable.Client(w.origins[(owner+1)%3]+"/mcp"), mcp.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	began := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		ctx := mcp.WatchProgress(t.Context(), func(mcp.ProgressUpdate) {
			select {
			case began <- struct{}{}:
			default:
			}
		})
		_, _, err := w.countedWith(ctx, other, "slow")
		failed <- err
	}()
	<-began
	killed := time.Now()
	if err := w.all[owner].process.Kill(); err != nil {
		t.Fatal(err)
	}
	err = <-failed
	if err == nil || !strings.Contains(err.Error(), `server "s": the replica that ran it ended, and the state of its instance is lost`) {
		t.Errorf("the call that ran: %v", err)
	}
	w.left.Store(int64(owner) + 1)
	n, _, err := w.countedWith(t.Context(), c, "count")
	switch {
	case err != nil && !strings.Contains(err.Error(), "the replica that ran it ended"): // it was sent to the process that was being killed
		t.Fatal(err)
	case err == nil && n != 1:
		t.Errorf("it goes on with %d", n)
	}
	next := w.counts(c, n+1, 9)
	t.Logf("it counts at another replica %v after the end of the first one", time.Since(killed).Round(100*time.Millisecond))
	if next == pid || w.ownerOf(next) == owner {
		t.Errorf("the process is %s as before", next)
	}
	said := 0
	for _, one := range w.all {
		said += strings.Count(one.printed.String(), `an instance of server "s" moves to this replica`)
	}
	if said != 1 {
		t.Errorf("the log has it %d times", said)
	}
}

// TestAnInstanceMovesWhenItsReplicaLeaves ends the replica that runs the only instance of a server while clients call it. No call
// fails, and the count begins again once.
func TestAnInstanceMovesWhenItsReplicaLeaves(t *testing.T) {
	t.Parallel()
	w := newOwned(t, `{"owner":"one"}`)
	c := w.asUser("", "2025-11-25")
	pid := w.counts(c, 1, 6)
	owner := w.ownerOf(pid)
	if err := w.all[owner].process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.left.Store(int64(owner) + 1)
	before, begins := 6, 0
	for range 60 {
		n, by, err := w.counted(c, "count")
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			begins++
			if by == pid {
				t.Error("the process is the same")
			}
		} else if n != before+1 {
			t.Errorf("%d after %d", n, before)
		}
		before = n
		time.Sleep(20 * time.Millisecond)
	}
	if begins != 1 {
		t.Errorf("the count began %d times", begins)
	}
}

// TestAnInstanceElsewhereAsksItsClient has clients of both eras asked by the only instance of a server.
func TestAnInstanceElsewhereAsksItsClient(t *testing.T) {
	t.Parallel()
	w := newOwned(t, `{"owner":"one"}`)
	n := 0
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		c := w.asUser("", revision)
		for range 9 {
			n++
			got, rest, err := w.counted(c, "ask")
			if err != nil || got != n || !strings.HasSuffix(rest, " ann") {
				t.Fatalf("%s: call %d: %d %q, %v", revision, n, got, rest, err)
			}
		}
	}
}

// TestReplicasWithCertificatesPassOn has three replicas that accept only clients with certificates, each with another certificate,
// which is replaced meanwhile. A replica knows the user of the certificate that another one got.
func TestReplicasWithCertificatesPassOn(t *testing.T) {
	t.Parallel()
	w := &replicas{world: newWorld(t)}
	w.place()
	ca := clitest.NewAuthority(t)
	clitest.Save(t, w.dir, "ca", ca.Cert, ca.Key)
	renew := func() {
		for i := range w.origins {
			cert, key := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "replica"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
			clitest.Save(t, w.dir, fmt.Sprint("replica", i), cert, key)
		}
	}
	renew()
	for i, origin := range w.origins {
		w.origins[i] = strings.Replace(origin, "http:", "https:", 1)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	through := func(user string) http.RoundTripper {
		cert, key := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: user}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}}
		t.Cleanup(tr.CloseIdleConnections)
		return tr
	}
	w.through = through("ann")
	file := func(name string) string { return filepath.Join(w.dir, name) }
	w.own(`{"isolation":"user"}`, "--tls-cert", file("replicaREPLICA.pem"), "--tls-key", file("replicaREPLICA.key"), "--tls-client-ca", file("ca.pem"))
	modern, legacy := w.asUser("", "2026-07-28"), w.asUser("", "2025-11-25")
	pid := w.counts(modern, 1, 9)
	renew()
	time.Sleep(1100 * time.Millisecond) // replicas look for new certificates each second
	if again := w.counts(legacy, 10, 18); again != pid {
		t.Errorf("another process for another client: %s and %s", pid, again)
	}
	for n := 19; n < 25; n++ {
		if got, rest, err := w.counted(legacy, "ask"); err != nil || got != n || !strings.HasSuffix(rest, " ann") {
			t.Fatalf("call %d: %d %q, %v", n, got, rest, err)
		}
	}
	for _, one := range w.all {
		if text := one.printed.String(); strings.Contains(text, "a peer cannot be reached") || strings.Contains(text, "is refused") {
			t.Error(text)
		}
	}
}
