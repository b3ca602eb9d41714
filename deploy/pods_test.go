package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A pod runs the container of a pod that the chart makes, with its command line and its configuration. The paths where its
// volumes are mounted become folders of the test, and its ports free ones.
type pod struct {
	*strings.Replacer
	mcp, admin string
	folder     string
}

// newPod makes the folders of a pod. More pairs of texts are replaced, too.
func newPod(t *testing.T, more ...string) *pod {
	t.Helper()
	p := &pod{mcp: freePort(t), admin: freePort(t), folder: t.TempDir()}
	pairs := append(more, "0.0.0.0:7717", p.mcp, "0.0.0.0:9464", p.admin)
	for _, path := range []string{"/etc/junction", "/var/lib/junction", "/var/cache/junction", "/run/secrets/junction", "/junction-program"} {
		folder := filepath.Join(p.folder, filepath.FromSlash(path))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, path, folder)
	}
	p.Replacer = strings.NewReplacer(pairs...)
	return p
}

// write writes a file of the pod.
func (p *pod) write(t *testing.T, path string, text []byte) {
	t.Helper()
	path = p.Replace(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts a container in a folder, with the configuration of a ConfigMap, and waits until it is ready.
func (p *pod) start(t *testing.T, c core.Container, folder string, o object, program string) {
	t.Helper()
	var m core.ConfigMap
	if err := yaml.Unmarshal(o.text, &m); err != nil {
		t.Fatal(err)
	}
	p.write(t, "/etc/junction/mcp.json", []byte(p.Replace(m.Data["mcp.json"])))
	words := append(c.Command, c.Args...)
	if len(c.Command) == 0 {
		words = append([]string{program}, words...)
	}
	for i := range words {
		words[i] = p.Replace(words[i])
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), p.Replace("HOME=/var/lib/junction"), p.Replace("JUNCTION_STATE=/var/lib/junction"), p.Replace("XDG_CACHE_HOME=/var/cache/junction")}
	for _, v := range c.Env {
		if v.ValueFrom == nil {
			cmd.Env = append(cmd.Env, v.Name+"="+p.Replace(v.Value))
		}
	}
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 20*time.Second
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, stopped := make(chan error, 1), make(chan struct{})
	go func() { defer close(stopped); ended <- cmd.Wait() }()
	t.Cleanup(func() {
		<-stopped // the context of the test is done
		if t.Failed() {
			t.Log(printed.String())
		}
	})
	awaitReady(t, "http://"+p.admin+"/readyz", ended, &printed)
}

// bridged are values with a program in a pod of its own. Its drain ends the test soon.
const bridged = `
servers:
  notes: {image: "example/notes:1", command: [python3, -u], args: [notes.py], env: [{name: REGION, value: north}], isolation: %s}
drain: {delay: 0s, time: 1s}
`

// junction builds the program.
func junction(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "junction")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/junction")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// startPods starts the gateway and a program in a pod with an isolation. It returns the URL of the gateway, the pod of the
// program, the keys of users, and the folder of the program.
func startPods(t *testing.T, isolation string, users ...string) (url string, bridge *pod, keys map[string]string, folder string) {
	t.Helper()
	all := render(t, fmt.Sprintf(bridged, isolation))
	var server, gateway apps.Deployment
	for o, d := range map[string]*apps.Deployment{"Deployment junction-notes": &server, "Deployment junction": &gateway} {
		if err := yaml.Unmarshal(all[o].text, d); err != nil {
			t.Fatal(err)
		}
	}
	program, container := junction(t), server.Spec.Template.Spec.Containers[0]
	bridge = newPod(t, "dns+http://junction-notes-peers.default.svc:7717", "http://127.0.0.1:1")
	front := newPod(t, "http://junction-notes:7717", "http://"+bridge.mcp, "dns+http://junction-peers.default.svc:7717", "http://127.0.0.1:1")

	copied := server.Spec.Template.Spec.InitContainers[0].Args
	if out, err := exec.CommandContext(t.Context(), program, copied[0], bridge.Replace(copied[1])).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	create := func(p *pod, user string) []byte {
		cmd := exec.CommandContext(t.Context(), program, "key", "create", user)
		cmd.Env = []string{"JUNCTION_STATE=" + p.Replace("/var/lib/junction")}
		key, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	front.write(t, "/run/secrets/junction/junction-servers/key", create(bridge, "gateway"))
	front.write(t, "/run/secrets/junction/junction-state/state-key", []byte(strings.Repeat("0123456789abcdef", 4)))
	bridge.write(t, "/run/secrets/junction/state-key", []byte(strings.Repeat("fedcba9876543210", 4)))

	keys = map[string]string{}
	for _, user := range users {
		keys[user] = strings.TrimSpace(string(create(front, user)))
	}
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	bridge.start(t, container, folder, all["ConfigMap junction-notes"], "")
	front.start(t, gateway.Spec.Template.Spec.Containers[0], t.TempDir(), all["ConfigMap junction"], program)
	return "http://" + front.mcp + "/mcp", bridge, keys, folder
}

// TestPodOfAProgramServesTheGateway runs the bridge and the gateway by the command lines and configurations that the chart
// makes. Clients of each era call a program with standard input and output, which asks them and their model.
func TestPodOfAProgramServesTheGateway(t *testing.T) {
	url, bridge, keys, folder := startPods(t, "shared", "ann")
	if resp, err := http.Post("http://"+bridge.mcp+"/mcp", "application/json", strings.NewReader("{}")); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the bridge without the key: %v, %v", resp, err)
	}
	for _, revision := range []string{"2024-11-05", "2025-06-18", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			c := dialAs(t, url, keys["ann"], revision)
			r, err := c.CallTool(t.Context(), "notes__add", map[string]any{"text": revision})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Notes          []string `json:"notes"`
				Region, Folder string
			}
			if err := json.Unmarshal([]byte(r.Text()), &got); err != nil || got.Region != "north" || got.Folder != folder || len(got.Notes) == 0 {
				t.Errorf("%s, %v", r.Text(), err)
			}
			for tool, want := range map[string]string{"notes__confirm": `{"sure": true}`, "notes__summarize": "a summary"} {
				if tool == "notes__confirm" && revision == "2024-11-05" { // which has no elicitation
					continue
				}
				if r, err := c.CallTool(t.Context(), tool, nil); err != nil || r.Text() != want {
					t.Errorf("%s: %v, %v", tool, r, err)
				}
			}
		})
	}
	c := dialAs(t, url, keys["ann"], "2026-07-28")
	if r, err := c.CallTool(t.Context(), "notes__stop", nil); err == nil && !r.IsError {
		t.Errorf("a program that ends: %v", r)
	}
	if r, err := c.CallTool(t.Context(), "notes__add", map[string]any{"text": "again"}); err != nil || !strings.Contains(r.Text(), `"notes": ["again"]`) {
		t.Errorf("the program was not started again: %v, %v", r, err)
	}
}

// dialAs connects with a key. The client confirms everything, and has a model.
func dialAs(t *testing.T, url, key, revision string) *mcp.Client {
	t.Helper()
	o := mcp.ClientOptions{Revision: revision}
	o.OnElicit = func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"sure":true}`)}, nil
	}
	o.OnSample = func(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: mcp.SamplingContent{mcp.Text("a summary")}}, nil
	}
	c, err := mcp.DialWith(t.Context(), streamable.ClientWith(url, streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}}), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestEachUserHasAProcessInThePod sees that the bridge gets the gateway's word for who calls, and from the gateway only.
func TestEachUserHasAProcessInThePod(t *testing.T) {
	users := []string{"ann", "bén %"}
	url, bridge, keys, _ := startPods(t, "user", users...)
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		processes := map[int]bool{}
		for _, user := range users {
			c := dialAs(t, url, keys[user], revision)
			for n := range 2 {
				r, err := c.CallTool(t.Context(), "notes__add", map[string]any{"text": revision})
				if err != nil {
					t.Fatal(err)
				}
				var got struct {
					Notes   []string
					Process int
				}
				if err := json.Unmarshal([]byte(r.Text()), &got); err != nil || len(got.Notes) != n+1 && revision == "2025-06-18" {
					t.Errorf("%s has the notes %v: %v", user, got.Notes, err)
				}
				processes[got.Process] = true
			}
		}
		if len(processes) != 2 {
			t.Errorf("%s: two users have %d processes", revision, len(processes))
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+bridge.mcp+"/mcp", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Junction-User": {"ann"}, "Junction-User-Issuer": {"junction-keys"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a caller without a key acts for ann: %s", resp.Status)
	}
}
