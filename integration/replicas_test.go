package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A link forwards connections to an address, and can fail as a network does.
type link struct {
	address  string // where it listens
	to       string
	listener net.Listener

	mu    sync.Mutex
	down  bool          // new connections are refused
	delay time.Duration // of each piece of data
	conns map[net.Conn]bool
}

func newLink(t testing.TB, to string) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{address: l.Addr().String(), to: to, listener: l, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { k.forward(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		k.cut()
		running.Wait()
	})
	return k
}

// forward copies both directions of a connection until one of them ends.
func (k *link) forward(c net.Conn) {
	defer c.Close()
	if !k.keep(c) {
		return
	}
	defer k.release(c)
	up, err := net.DialTimeout("tcp", k.to, 2*time.Second)
	if err != nil {
		return
	}
	defer up.Close()
	if !k.keep(up) {
		return
	}
	defer k.release(up)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{up, c}, {c, up}} {
		both.Go(func() {
			_, _ = io.Copy(&late{way[0], k}, way[1]) // ends with either connection
			c.Close()
			up.Close()
		})
	}
	both.Wait()
}

// late writes after the delay of its link.
type late struct {
	net.Conn
	link *link
}

func (l *late) Write(p []byte) (int, error) {
	l.link.mu.Lock()
	delay := l.link.delay
	l.link.mu.Unlock()
	time.Sleep(delay)
	return l.Conn.Write(p)
}

// keep notes a connection, unless the link is down.
func (k *link) keep(c net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.down {
		k.conns[c] = true
	}
	return !k.down
}

func (k *link) release(c net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.conns, c)
}

// cut closes all connections.
func (k *link) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.conns {
		c.Close()
	}
}

func (k *link) set(down bool, delay time.Duration) {
	k.mu.Lock()
	k.down, k.delay = down, delay
	k.mu.Unlock()
	if down {
		k.cut()
	}
}

// refuses reports whether the link is down.
func (k *link) refuses() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.down
}

// A replica is a junction up, which starts again at the same address when it has ended.
type replica struct {
	t              testing.TB
	name           string
	env, argv      []string
	address, admin string
	audit          string // folder of its audit log
	disk           string // file system of its audit log, if it has one of its own
	front          *link  // of the balancer to it
	peers          *link  // of the other replicas to it
	healthy        atomic.Bool
	log            tail

	mu      sync.Mutex
	process *os.Process
	ended   chan struct{} // closed when the process has ended
	ends    []time.Time   // when processes of the replica ended
}

// run starts the process again and again, as a supervisor does, until ctx is done and it has ended.
func (r *replica) run(ctx context.Context) {
	for ctx.Err() == nil {
		command := exec.Command(r.argv[0], r.argv[1:]...)
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		command.Env, command.Stderr = r.env, &r.log
		ended := make(chan struct{})
		r.mu.Lock()
		err := command.Start()
		r.process, r.ended = command.Process, ended
		r.mu.Unlock()
		if err != nil {
			r.t.Errorf("%s: %v", r.name, err)
			close(ended)
			return
		}
		_ = command.Wait() // its exit status is that of a signal, or an error that its log has
		r.mu.Lock()
		r.ends = append(r.ends, time.Now())
		r.mu.Unlock()
		close(ended)
		time.Sleep(100 * time.Millisecond)
	}
}

// signal sends a signal to the process. It returns a channel that is closed when the process has
// ended.
func (r *replica) signal(s syscall.Signal) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = syscall.Kill(-r.process.Pid, s) // it may have ended
	return r.ended
}

// ready reports whether the replica serves.
func (r *replica) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.admin+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// A fleet is several replicas with one configuration behind a balancer that never chooses the same
// one twice in a row, as long as another one is ready.
type fleet struct {
	all    []*replica
	origin string // of the balancer
	url    string // of the endpoint there
	config string // the file
	next   atomic.Int64

	transport *http.Transport // of the balancer
}

// newFleet starts n replicas of junction up. settings are the members of the object junction.
func newFleet(t testing.TB, n int, settings, servers object) *fleet {
	t.Helper()
	f := makeFleet(t, n, settings, servers)
	f.start(t)
	return f
}

// makeFleet is newFleet without the start.
func makeFleet(t testing.TB, n int, settings, servers object) *fleet {
	t.Helper()
	f := &fleet{}
	dir := t.TempDir()
	var peers []string
	for i := range n {
		r := &replica{t: t, name: fmt.Sprint("r", i), env: isolated(t), address: freeAddress(t), admin: freeAddress(t), audit: filepath.Join(dir, fmt.Sprint("disk", i), "audit")}
		r.front, r.peers = newLink(t, r.address), newLink(t, r.address)
		peers = append(peers, "http://"+r.peers.address)
		f.all = append(f.all, r)
	}
	settings["peers"], settings["stateKeys"], settings["names"] = peers, []string{strings.Repeat("k", 32)}, "none"
	f.config = writeConfig(t, dir, settings, servers)
	for _, r := range f.all {
		r.argv = []string{junction(t), "up", "--config", f.config, "--http", r.address, "--admin", r.admin, "--audit=" + r.audit, "--drain-delay", "500ms", "--drain-time", "5s", "--tools", "all"}
	}
	return f
}

// start starts the replicas and their balancer, and waits until all serve.
func (f *fleet) start(t testing.TB) {
	t.Helper()
	for _, r := range f.all {
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { r.run(ctx) })
		t.Cleanup(func() {
			cancel()
			r.signal(syscall.SIGCONT)
			r.signal(syscall.SIGTERM)
			timer := time.AfterFunc(10*time.Second, func() { r.signal(syscall.SIGKILL) })
			running.Wait()
			if timer.Stop(); t.Failed() {
				t.Logf("%s: %s", r.name, &r.log)
			}
		})
	}
	balancer := httptest.NewServer(f.balancer())
	t.Cleanup(func() {
		balancer.CloseClientConnections()
		balancer.Close()
	})
	f.origin, f.url = balancer.URL, balancer.URL+"/mcp"
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	for _, r := range f.all {
		watching.Go(func() {
			for ctx.Err() == nil {
				r.healthy.Store(r.ready(ctx))
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	f.recover(t)
}

// recover waits until all replicas serve.
func (f *fleet) recover(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var away []string
		for _, r := range f.all {
			if !r.healthy.Load() {
				away = append(away, r.name+": "+r.log.String())
			}
		}
		if len(away) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute these replicas do not serve: %.5000s", strings.Join(away, "\n"))
		}
	}
}

// balancer returns the handler of the balancer.
func (f *fleet) balancer() http.Handler {
	f.transport = &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		for _, r := range f.all {
			if r.front.address == address && r.front.refuses() {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.EHOSTUNREACH}
			}
		}
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, address)
	}}
	return &httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), // clients leave, and replicas end
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport: f,
	}
}

// RoundTrip sends a request to a replica. If there is no connection to it, the request goes to the
// next one, as nothing was sent.
func (f *fleet) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for try := 1; ; try++ {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = "http", f.choose()
		if body != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		response, err := f.transport.RoundTrip(r)
		var failed *net.OpError
		if err == nil || try == len(f.all) || !errors.As(err, &failed) || failed.Op != "dial" {
			return response, err
		}
	}
}

// choose returns the address of the next replica that is ready.
func (f *fleet) choose() string {
	for range f.all {
		if r := f.all[int(f.next.Add(1))%len(f.all)]; r.healthy.Load() && !r.front.refuses() {
			return r.front.address
		}
	}
	return f.all[int(f.next.Add(1))%len(f.all)].front.address
}
