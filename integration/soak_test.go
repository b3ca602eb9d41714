package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// faulty are servers with the fault that each has its name of, and what junction status says of it.
var faulty = map[string]string{
	"silent":  "no handshake within",
	"crash":   "it never worked",
	"garbage": "text that is not a message",
	"flood":   "",
}

// soakClients use the gateway at the same time.
const soakClients = 20

// Twelve real servers work at the same time as one that is silent, one that dies with every call, one that
// floods its standard error and one that answers garbage, for 10 seconds or as long as SOAK says: each
// call of the twelve has its result, each fault is named, and goroutines, files, processes and memory
// stay as they are.
func TestFaultsOfServersStayWithThem(t *testing.T) {
	t.Parallel()
	lasts := 10 * time.Second
	if d, err := time.ParseDuration(os.Getenv("SOAK")); err == nil {
		lasts = d
	}
	servers := realServers(t)
	g := soaked(t, servers)
	remember := g.dial(t, 0)
	for _, s := range servers { // the server memory can be asked for what it has been given once
		if s.name == "memory" {
			g.call(t, remember, s)
		}
	}
	for i, s := range servers {
		if s.name == "memory" {
			servers[i].tool, servers[i].arguments = "read_graph", fixed(map[string]any{})
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var working sync.WaitGroup
	var calls atomic.Int64
	for i := range soakClients {
		working.Go(func() {
			for ctx.Err() == nil { // each client comes and goes
				c := g.dial(t, i)
				for range 20 + rand.IntN(50) {
					if s := servers[rand.IntN(len(servers))]; s.name != "playwright" || i == 0 {
						g.call(t, c, s)
						calls.Add(1)
					}
					if rand.IntN(20) == 0 {
						g.callFaulty(t, c)
					}
					if t.Failed() || ctx.Err() != nil {
						break
					}
				}
				if c.Close(); t.Failed() {
					return
				}
			}
		})
	}
	first := g.costAfter(ctx, t, lasts/4)
	last := g.costAfter(ctx, t, lasts/2)
	working.Wait()
	t.Logf("%d calls; after a quarter of the time %+v, after three quarters %+v", calls.Load(), first, last)
	if last.goroutines > first.goroutines+first.goroutines/4+50 || last.files > first.files+30 || last.children > first.children+3 || last.megabytes > first.megabytes+first.megabytes/4+30 {
		t.Errorf("it grew from %+v to %+v", first, last)
	}
	g.namesFaults(t)
	states, errors := standing(t, g.env)
	for _, s := range servers {
		if states[s.name] != "connected" || errors[s.name] != "" {
			t.Errorf("status says of %s: %s, %q", s.name, states[s.name], errors[s.name])
		}
	}
}

// namesFaults waits until the status says of each faulty server what is wrong with it: those that do not start are
// given time for that, and others their turn. It goes on calling them, as one that dies with a call is only known by some of them.
func (g *soak) namesFaults(t *testing.T) {
	t.Helper()
	c := g.dial(t, 0)
	defer c.Close()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		states, errors := standing(t, g.env)
		var unnamed []string
		for name, want := range faulty {
			if !strings.Contains(errors[name], want) {
				unnamed = append(unnamed, fmt.Sprintf("%s is %s, %q; want %q in it", name, states[name], errors[name], want))
			}
		}
		if len(unnamed) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("status: %s", strings.Join(unnamed, "\n"))
			return
		}
		g.callFaulty(t, c)
	}
}

// A soak is a junction up that serves the real servers and the faulty ones.
type soak struct {
	env          []string
	address      string
	admin        string
	pid          int
	namesOfFault []string
}

func soaked(t *testing.T, servers []realServer) *soak {
	t.Helper()
	path := upConfig(t, servers)
	var config struct {
		Servers map[string]any `json:"mcpServers"`
	}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	g := &soak{env: isolated(t), address: freeAddress(t), admin: freeAddress(t)}
	for name := range faulty {
		g.namesOfFault = append(g.namesOfFault, name)
		config.Servers[name] = map[string]any{"command": python(t, "python"), "args": []string{filepath.Join("servers", "faulty", "server.py"), name}, "startTimeout": "5s"}
	}
	if err := os.WriteFile(path, []byte(encode(t, config)), 0o600); err != nil {
		t.Fatal(err)
	}
	serving(t, g.env, g.address, junction(t), "up", "--tools", "all", "--config", path, "--http", g.address, "--admin", g.admin)
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		states, _ := standing(t, g.env)
		ready := 0
		for _, s := range servers {
			if states[s.name] == "connected" {
				ready++
			}
		}
		if ready == len(servers) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the servers are %v", states)
		}
	}
	g.pid = g.process(t)
	return g
}

// process is the id of the junction up.
func (g *soak) process(t *testing.T) int {
	t.Helper()
	command := exec.Command(junction(t), "status", "--json")
	command.Env = g.env
	out, err := command.Output()
	var all struct{ Instances []struct{ PID int } }
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil || len(all.Instances) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	return all.Instances[0].PID
}

// dial connects a client: of each revision, over each transport that it has.
func (g *soak) dial(t *testing.T, i int) *mcp.Client {
	transport, revision := streamable.Client("http://"+g.address+"/mcp"), []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}[i%4]
	if i%5 == 4 {
		transport, revision = httpsse.Client("http://"+g.address+"/sse"), "2024-11-05"
	}
	c, err := mcp.DialWith(t.Context(), transport, mcp.ClientOptions{Name: fmt.Sprint("client ", i), Revision: revision})
	if err != nil {
		t.Errorf("client %d: %v", i, err)
	}
	return c
}

// call calls a real server, which does what it should.
func (g *soak) call(t *testing.T, c *mcp.Client, s realServer) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	result, err := c.CallTool(ctx, s.name+"__"+s.tool, json.RawMessage(encode(t, s.arguments(t))))
	text := ""
	if err == nil {
		for _, item := range result.Content {
			text += item.Text
		}
	}
	if err != nil || result.IsError || !strings.Contains(text, s.want) {
		t.Errorf("%s of %s, after %v: %v %.500s", s.tool, s.name, time.Since(began), err, text)
	}
}

// callFaulty calls one that does not; it waits two seconds at most.
func (g *soak) callFaulty(t *testing.T, c *mcp.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	name := g.namesOfFault[rand.IntN(len(g.namesOfFault))]
	result, err := c.CallTool(ctx, name+"__work", nil)
	if name == "flood" && (err != nil || result.IsError) {
		t.Errorf("the server flood works all the same: %v", err)
	}
	if name != "flood" && err == nil && !result.IsError {
		t.Errorf("the server %s cannot work", name)
	}
}

// What a junction up costs.
type soakCost struct{ goroutines, files, children, megabytes int }

// costAfter waits, and says what it costs then.
func (g *soak) costAfter(ctx context.Context, t *testing.T, wait time.Duration) soakCost {
	t.Helper()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.pid))
	if err != nil {
		t.Fatal(err)
	}
	return soakCost{
		goroutines: g.number(t, "go_goroutines"), files: len(files), children: len(childrenOf(t, g.pid)),
		megabytes: resident(t, g.pid),
	}
}

// resident is how many MiB of memory a process has.
func resident(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(raw), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() >> 20
}

// number is a metric.
func (g *soak) number(t *testing.T, name string) int {
	t.Helper()
	response, err := http.Get("http://" + g.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` ([0-9.e+]+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("there is no metric %s", name)
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
