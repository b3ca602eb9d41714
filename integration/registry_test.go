package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/registry"
)

// own is the namespace in which the registry lets anybody publish who asks it for a token without a login.
const own = "io.modelcontextprotocol.anonymous/"

// A realRegistry is the registry server on a PostgreSQL of its own, behind a proxy that can misbehave in its place.
type realRegistry struct {
	direct  string // its URL without the proxy
	proxy   *httptest.Server
	command *exec.Cmd
	env     []string

	mu    sync.Mutex
	mode  string   // "", "garbage", "half" or "busy"
	token string   // that the proxy asks for
	asked []string // through the proxy
}

// newRegistry starts the registry with the servers of a file.
func newRegistry(t *testing.T, servers []map[string]any) *realRegistry {
	t.Helper()
	if _, err := os.Stat(cache(t, "registry", ".installed")); err != nil {
		missing(t, "the registry server is not built")
	}
	seed := filepath.Join(t.TempDir(), "seed.json")
	text, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(seed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	database, _ := postgresOf(t, "SELECT 1;")
	address := freeAddress(t)
	r := &realRegistry{direct: "http://" + address, env: append(os.Environ(), "MCP_REGISTRY_SERVER_ADDRESS="+address,
		"MCP_REGISTRY_DATABASE_URL=postgres://owner:owning@"+database+"/postgres?sslmode=disable", "MCP_REGISTRY_DATABASE_MIN_CONNECTIONS=1",
		"MCP_REGISTRY_DATABASE_MAX_CONNECTIONS=4", "MCP_REGISTRY_ENABLE_ANONYMOUS_AUTH=true", "MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION=false",
		"MCP_REGISTRY_JWT_PRIVATE_KEY="+strings.Repeat("0123456789abcdef", 4))}
	r.begin(t, "MCP_REGISTRY_SEED_FROM="+seed)
	t.Cleanup(func() { r.stop(t) })
	target, err := url.Parse(r.direct)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	r.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.serve(w, q, forward) }))
	t.Cleanup(r.proxy.Close)
	return r
}

// begin starts the registry, and waits until it has read what it is to begin with.
func (r *realRegistry) begin(t *testing.T, env ...string) {
	t.Helper()
	log := &tail{}
	r.command = exec.Command(cache(t, "registry", "registry"))
	r.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.command.Env, r.command.Stdout, r.command.Stderr = append(slices.Clone(r.env), env...), log, log
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		response, err := http.Get(r.direct + "/v0.1/servers?limit=1")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the registry does not answer: %v\n%.3000s", err, log)
		}
	}
}

func (r *realRegistry) stop(t *testing.T) {
	t.Helper()
	if r.command == nil {
		return
	}
	_ = r.command.Process.Signal(syscall.SIGTERM) // it may have ended
	timer := time.AfterFunc(10*time.Second, func() { _ = r.command.Process.Kill() })
	defer timer.Stop()
	_ = r.command.Wait() // however it ends
	r.command = nil
}

func (r *realRegistry) serve(w http.ResponseWriter, q *http.Request, forward http.Handler) {
	r.mu.Lock()
	mode, token := r.mode, r.token
	r.asked = append(r.asked, q.URL.RequestURI())
	r.mu.Unlock()
	switch {
	case token != "" && q.Header.Get("Authorization") != "Bearer "+token:
		w.WriteHeader(http.StatusUnauthorized)
	case mode == "garbage":
		fmt.Fprint(w, "<html><body>Please log in to the hotel's network</body></html>")
	case mode == "busy":
		w.WriteHeader(http.StatusServiceUnavailable)
	case mode == "half":
		whole := httptest.NewRecorder()
		forward.ServeHTTP(whole, q)
		w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		panic(http.ErrAbortHandler)
	default:
		q.Header.Del("Authorization") // it is for the proxy
		forward.ServeHTTP(w, q)
	}
}

func (r *realRegistry) set(mode, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mode, r.token = mode, token
}

func (r *realRegistry) questions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// anonymous is a token for the namespace of everybody.
func (r *realRegistry) anonymous(t *testing.T) string {
	t.Helper()
	var reply struct {
		Token string `json:"registry_token"`
	}
	if err := json.Unmarshal(r.send(t, "POST", "/v0.1/auth/none", "", nil), &reply); err != nil || reply.Token == "" {
		t.Fatalf("no token: %v", err)
	}
	return reply.Token
}

// send asks the registry for a change.
func (r *realRegistry) send(t *testing.T, method, path, token string, body any) []byte {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(t.Context(), method, r.direct+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v: %s", method, path, response.Status, err, reply)
	}
	return reply
}

func (r *realRegistry) status(t *testing.T, name, version, status, message string) {
	t.Helper()
	r.send(t, "PATCH", "/v0.1/servers/"+url.PathEscape(name)+"/versions/"+version+"/status", r.anonymous(t), map[string]string{"status": status, "statusMessage": message})
}

// seeded are 300 versions of servers, made of the packages that the tests install: each of several owners, in one to five versions.
func seeded(t *testing.T) []map[string]any {
	t.Helper()
	packages := map[string]string{} // by their names: npm or pypi
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	text, err := os.ReadFile("npm/servers/package.json")
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	requirements, second := os.ReadFile("python/requirements.txt")
	if err != nil || second != nil {
		t.Fatal(err, second)
	}
	for name := range manifest.Dependencies {
		packages[name] = "npm"
	}
	for line := range strings.Lines(string(requirements)) {
		if name, _, found := strings.Cut(line, "=="); found && strings.Contains(name, "mcp") {
			packages[name] = "pypi"
		}
	}
	var names []string
	for name := range packages {
		names = append(names, name)
	}
	slices.Sort(names)
	words := []string{"reads and writes files of a project", "queries a database", "浏览网页并截图", "remembers what was said", "ファイルを検索する", "runs commands on this machine"}
	var servers []map[string]any
	for i := 0; len(servers) < 300; i++ {
		name := names[i%len(names)]
		last := strings.NewReplacer("@", "", "/", "-").Replace(name) // "mcp" there is of two
		server := fmt.Sprintf("io.github.owner%d/%s", i/len(names), last)
		if i%2 == 0 {
			server = fmt.Sprintf("%sowner%d-%s", own, i/len(names), last)
		}
		for version := range min(1+i%5, 300-len(servers)) {
			number := fmt.Sprintf("1.%d.0", version*5) // 1.10.0 comes behind 1.5.0, and before it as a text
			s := map[string]any{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": server, "version": number,
				"description": fmt.Sprintf("%s: %s", last, words[i%len(words)]), "repository": map[string]any{"url": fmt.Sprintf("https://github.com/owner%d/%s", i/len(names), last), "source": "github"},
				"packages": []any{map[string]any{"registryType": packages[name], "identifier": name, "version": number, "transport": map[string]any{"type": "stdio"}}}}
			if i%7 == 0 {
				s["remotes"] = []any{map[string]any{"type": "streamable-http", "url": fmt.Sprintf("https://server%d.example.com/mcp", i)}}
			}
			servers = append(servers, s)
		}
	}
	return servers
}

// foundServers is what junction server search --json prints.
type foundServers struct {
	Servers []struct {
		Server struct{ Name, Version string } `json:"server"`
		Status string                         `json:"status"`
	} `json:"servers"`
	Sources []struct {
		Servers int    `json:"servers"`
		Fault   string `json:"fault"`
	} `json:"sources"`
}

// A registryUser is somebody with a folder of their own.
type registryUser struct {
	t       *testing.T
	program string
	env     []string
	state   string
}

func newRegistryUser(t *testing.T) *registryUser {
	home := t.TempDir()
	state := filepath.Join(home, "state")
	return &registryUser{t, junction(t), append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "JUNCTION_STATE="+state, "JUNCTION_KEYRING=off"), state}
}

func (u *registryUser) search(words string, more ...string) (found foundServers, stderr string) {
	u.t.Helper()
	stdout, stderr, err := tryRun(u.t, u.env, slices.Concat([]string{u.program, "search", words, "--json", "--limit", "500"}, more)...)
	if err != nil {
		u.t.Fatalf("search %s %q: %v: %s", words, more, err, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &found); err != nil {
		u.t.Fatalf("%v: %.300s", err, stdout)
	}
	return found, stderr
}

// listed are the versions of the servers of a registry, read without Junction: by name, whether each is the latest.
func (r *realRegistry) listed(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for cursor := ""; ; {
		var page struct {
			Servers []struct {
				Server struct{ Name, Version string } `json:"server"`
				Meta   map[string]struct {
					IsLatest bool `json:"isLatest"`
				} `json:"_meta"`
			} `json:"servers"`
			Metadata struct {
				NextCursor string `json:"nextCursor"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(r.send(t, "GET", "/v0.1/servers?limit=37&cursor="+url.QueryEscape(cursor), "", nil), &page); err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Servers {
			if all[s.Server.Name] == nil {
				all[s.Server.Name] = map[string]bool{}
			}
			all[s.Server.Name][s.Server.Version] = s.Meta["io.modelcontextprotocol.registry/official"].IsLatest
		}
		if cursor = page.Metadata.NextCursor; cursor == "" {
			return all
		}
	}
}

// same compares the copy with the registry: every server, its newest version, and all its versions that are not deleted.
func (r *realRegistry) same(t *testing.T, u *registryUser) {
	t.Helper()
	m, err := registry.OpenMirror(t.Context(), filepath.Join(u.state, "registry.db"), registry.MirrorOptions{Sources: []registry.Source{{Name: "real", URL: r.proxy.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := r.listed(t)
	if states, err := m.Sources(t.Context()); err != nil || states[0].Servers != len(want) {
		t.Errorf("the copy is of %+v (%v), and the registry has %d servers", states, err, len(want))
	}
	for name, versions := range want {
		e, err := m.Lookup(t.Context(), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		there := map[string]bool{}
		for _, v := range e.Versions {
			if v.Status != registry.Deleted {
				there[v.Version] = v.IsLatest
			}
		}
		if fmt.Sprint(there) != fmt.Sprint(versions) || !versions[e.Server.Version] {
			t.Errorf("%s: the copy has %v and takes %s; the registry has %v", name, there, e.Server.Version, versions)
		}
	}
}

func TestARealRegistryIsCopiedAndSearched(t *testing.T) {
	t.Parallel()
	r, u := newRegistry(t, seeded(t)), newRegistryUser(t)
	versions := 0
	for _, v := range r.listed(t) {
		versions += len(v)
	}
	if versions != 300 {
		t.Fatalf("the registry has %d versions of servers, want 300", versions)
	}
	found, _ := u.search("filesystem", "--registry", r.proxy.URL)
	if asked := r.questions(); len(asked) != 4 || len(found.Servers) < 5 || !strings.HasSuffix(found.Servers[0].Server.Name, "filesystem") {
		t.Errorf("found %+v after %q", found.Servers, asked)
	}
	r.same(t, u)
	for _, words := range []string{"截图", "检索 浏览", "ファイル", "queries database", "playwright"} {
		if found, _ := u.search(words, "--registry", r.proxy.URL, "--offline"); len(found.Servers) == 0 {
			t.Errorf("%s finds nothing", words)
		}
	}
	if asked := r.questions(); len(asked) != 0 {
		t.Errorf("searches within the hour asked %q", asked)
	}
	name := found.Servers[0].Server.Name
	info := run(t, u.env, u.program, "info", name, "--registry", r.proxy.URL, "--offline")
	for _, want := range []string{name, "Package  npm @modelcontextprotocol/server-filesystem", "runs npx -y @modelcontextprotocol/server-filesystem@1."} {
		if !strings.Contains(info, want) {
			t.Errorf("info shows no %q:\n%s", want, info)
		}
	}
}

func TestChangesOfARealRegistryReachTheCopy(t *testing.T) {
	t.Parallel()
	r, u := newRegistry(t, seeded(t)), newRegistryUser(t)
	u.search("filesystem", "--registry", r.proxy.URL)
	var three string // a server of everybody's namespace with several versions, and another one
	var one string
	for name, versions := range r.listed(t) {
		if strings.HasPrefix(name, own) && len(versions) >= 3 {
			three = max(three, name)
		} else if strings.HasPrefix(name, own) && len(versions) == 1 {
			one = max(one, name)
		}
	}
	r.questions()
	server := func(name, version, description string) map[string]any {
		return map[string]any{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": name, "version": version, "description": description,
			"packages": []any{map[string]any{"registryType": "npm", "identifier": "zebra", "version": version, "transport": map[string]any{"type": "stdio"}}}}
	}
	publish := func(s map[string]any) { t.Helper(); r.send(t, "POST", "/v0.1/publish", r.anonymous(t), s) }
	publish(server(own+"zebra", "1.0.0", "Counts zebras"))
	publish(server(three, "2.0.0", "Counts zebras in passing"))
	r.status(t, one, "1.0.0", "deprecated", "count something else")
	if found, _ := u.search("zebra", "--registry", r.proxy.URL, "--offline"); len(found.Servers) != 0 {
		t.Errorf("found without a sync: %+v", found.Servers)
	}
	found, _ := u.search("zebra", "--registry", r.proxy.URL, "--sync")
	if asked := r.questions(); len(asked) > 4 || !strings.Contains(asked[0], "updated_since=") || len(found.Servers) != 2 || found.Servers[0].Server.Name != own+"zebra" {
		t.Errorf("found %+v after %q", found.Servers, asked)
	}
	r.same(t, u)
	if info := run(t, u.env, u.program, "info", one, "--registry", r.proxy.URL, "--offline"); !strings.Contains(info, "deprecated: count something else") {
		t.Errorf("a deprecated one is shown as\n%s", info)
	}
	r.status(t, three, "2.0.0", "deleted", "it was a horse") // the latest
	r.status(t, own+"zebra", "1.0.0", "deleted", "it was a horse, too")
	if found, _ := u.search("zebra", "--registry", r.proxy.URL, "--sync"); len(found.Servers) != 0 {
		t.Errorf("found after they were deleted: %+v", found.Servers)
	}
	r.same(t, u)
	if info := run(t, u.env, u.program, "info", own+"zebra", "--registry", r.proxy.URL, "--offline"); !strings.Contains(info, "deleted: it was a horse, too") {
		t.Errorf("a deleted one is shown as\n%s", info)
	}
}

func TestACopyGoesOnWithoutItsRegistry(t *testing.T) {
	t.Parallel()
	r, u := newRegistry(t, seeded(t)), newRegistryUser(t)
	before, _ := u.search("filesystem", "--registry", r.proxy.URL)
	names := func(f foundServers) string { return fmt.Sprint(f.Servers) }
	check := func(what, want string) {
		t.Helper()
		after, stderr := u.search("filesystem", "--registry", r.proxy.URL, "--sync")
		if names(after) != names(before) || !strings.Contains(stderr, want) || !strings.Contains(stderr, "the copy of it is") {
			t.Errorf("%s: found %d in place of %d and said %s", what, len(after.Servers), len(before.Servers), stderr)
		}
	}
	r.set("garbage", "")
	check("garbage", "does not answer like a registry")
	r.set("half", "")
	check("half an answer", "broke off its answer")
	r.set("busy", "")
	check("a busy registry", "503 Service Unavailable")
	r.set("", "")
	r.stop(t)
	check("a registry that stopped", "502 Bad Gateway")
	r.proxy.CloseClientConnections()
	r.begin(t)
	if after, stderr := u.search("filesystem", "--registry", r.proxy.URL, "--sync"); names(after) != names(before) || stderr != "" {
		t.Errorf("when it is back: found %d and said %s", len(after.Servers), stderr)
	}
	r.same(t, u)

	// Killed in the middle of the first copy: what there is can be searched, and the next sync ends it.
	other := newRegistryUser(t)
	r.set("", "")
	r.questions()
	for tries := range 8 {
		command := exec.Command(other.program, "search", "filesystem", "--registry", r.proxy.URL, "--sync")
		command.Env = other.env
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(tries*25) * time.Millisecond)
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()
	}
	other.search("filesystem", "--registry", r.proxy.URL, "--sync")
	r.same(t, other)
}

func TestAPrivateRegistryWantsItsToken(t *testing.T) {
	t.Parallel()
	r, u := newRegistry(t, seeded(t)[:20]), newRegistryUser(t)
	r.set("", "a-token-of-the-house")
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"x": {"command": "true"}}, "junction": {"registries": [{"name": "house", "url": %q, "token": "${secret:house}"}]}}`, r.proxy.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := tryRun(t, u.env, u.program, "search", "server", "--config", file); err == nil || !strings.Contains(stderr, "to keep it: junction secret set house") {
		t.Errorf("without a secret: %v: %s", err, stderr)
	}
	if _, stderr, err := tryRun(t, u.env, u.program, "search", "server", "--registry", r.proxy.URL); err == nil || !strings.Contains(stderr, "needs a token with access") {
		t.Errorf("without a token: %v: %s", err, stderr)
	}
	set := exec.Command(u.program, "secret", "set", "house")
	set.Env, set.Stdin = u.env, strings.NewReader("a-token-of-the-house\n")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("secret set: %v: %s", err, out)
	}
	found, stderr := u.search("mcp", "--config", file)
	if len(found.Servers) == 0 || strings.Contains(stderr, "a-token") {
		t.Errorf("with the token: found %d and said %s", len(found.Servers), stderr)
	}
	r.same(t, u)
	for _, name := range []string{"registry.db", "registry.db-wal"} {
		if text, err := os.ReadFile(filepath.Join(u.state, name)); err == nil && bytes.Contains(text, []byte("a-token-of")) {
			t.Errorf("%s has the token", name)
		}
	}
}

// What Server.Check finds is what the registry's own validator finds, by the schema and by its rules.
func TestCheckAgreesWithARealRegistry(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, nil)
	const hash = "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce"
	pack := func(more string) string {
		text := `"packages":[{` + more
		for _, m := range []string{`"registryType":"npm"`, `"identifier":"yy"`, `"version":"1.0.0"`, `"transport":{"type":"stdio"}`} {
			if name, _, _ := strings.Cut(m, ":"); !strings.Contains(more, name+":") {
				text += "," + m
			}
		}
		return text + "}]"
	}
	for _, member := range []string{
		`"title":"Y"`, `"title":"  "`, `"title":"` + strings.Repeat("x", 101) + `"`, `"name":"yy"`, `"name":"io.github.x/yy_"`, `"name":"io.github.x/y"`, `"name":"a/yy"`, `"name":"io.github.x/a/b"`,
		`"description":""`, `"description":"` + strings.Repeat("ü", 101) + `"`, `"description":"` + strings.Repeat("ü", 100) + `"`,
		`"version":"^1.2.3"`, `"version":"latest"`, `"version":"1.x"`, `"version":"1.2.*"`, `"version":">=1.0.0"`, `"version":"1.0.0 || 2.0.0"`, `"version":"1.0.0 - 2.0.0"`, `"version":"2025.11.25-x"`, `"version":"1.0.0-next.1"`, `"version":"1.0.0-rc.1"`, `"version":"1.0"`, `"version":"v1"`,
		`"repository":{"url":"https://github.com/x","source":"github"}`, `"repository":{"url":"https://github.com/x/y"}`, `"repository":{"url":"https://github.com/x/y","source":"github","subfolder":"../z"}`,
		`"repository":{"url":"https://github.com/x/y","source":"github","subfolder":"cmd/z"}`, `"repository":{"url":"https://gitlab.com/a/b/c","source":"gitlab"}`, `"repository":{"url":"https://gitlab.com/a/-/b","source":"gitlab"}`,
		`"websiteUrl":"http://x.example"`, `"websiteUrl":"https://x.example/a"`, `"websiteUrl":"https://x.example/a b"`,
		`"remotes":[{"type":"stdio"}]`, `"remotes":[{"type":"sse","url":"http://x.example/sse"}]`, `"remotes":[{"type":"sse","url":"https://localhost/sse"}]`, `"remotes":[{"type":"sse","url":"https://{x}.example/sse"}]`,
		`"remotes":[{"type":"sse","url":"https://{tenant}.x.example/sse","variables":{"tenant":{"description":"whose"}}}]`, `"remotes":[{"type":"streamable-http","url":"https://x.example/mcp","headers":[{"name":"X","isSecret":true}]}]`,
		pack(`"identifier":"a b"`), pack(`"version":"1.*"`), pack(`"fileSha256":"ABC"`), pack(`"fileSha256":"` + hash + `"`), pack(`"transport":{"type":"stdio","url":"http://x"}`), pack(`"transport":{"type":"pigeon","url":"http://x.example"}`),
		pack(`"transport":{"type":"sse","url":"http://localhost:{port}"}`), pack(`"transport":{"type":"streamable-http","url":"http://localhost:{--port}/mcp"},"packageArguments":[{"type":"named","name":"--port"}]`),
		pack(`"packageArguments":[{"type":"named","name":"--port 8080"}]`), pack(`"packageArguments":[{"type":"named","name":"--port","value":"--port=1"}]`), pack(`"packageArguments":[{"type":"positional"}]`), pack(`"packageArguments":[{"type":"positional","valueHint":"x"}]`),
		pack(`"environmentVariables":[{"name":"X","format":"date"}]`), pack(`"environmentVariables":[{"name":"X","format":"number","isRequired":true}]`),
		pack(`"registryType":"oci","identifier":"ghcr.io/x/y:1.0.0","version":""`), pack(`"registryType":"mcpb","identifier":"https://x.example/y.mcpb","fileSha256":"` + hash + `"`),
	} {
		text := `{"$schema":"` + registry.SchemaURL + `",` + member
		for _, m := range []string{`"name":"io.github.x/server"`, `"description":"A server"`, `"version":"1.0.0"`, pack(`"registryType":"npm"`)} {
			if name, _, _ := strings.Cut(m, ":"); !strings.HasPrefix(member, name+":") {
				text += "," + m
			}
		}
		text += "}"
		s, err := registry.Parse([]byte(text))
		if err != nil {
			s = &registry.Server{} // which is wrong in every way
		}
		encoded := json.RawMessage(text)
		if err == nil {
			if encoded, err = s.Encode(nil); err != nil {
				t.Fatal(err)
			}
		}
		response, err := http.Post(r.direct+"/v0.1/validate", "application/json", bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		var said struct {
			Valid bool `json:"valid"`
		}
		if err != nil || response.StatusCode == http.StatusOK && json.Unmarshal(body, &said) != nil {
			t.Fatalf("%s: %v: %s", text, err, body)
		}
		if faults := s.Check(); (len(faults) == 0) != said.Valid {
			t.Errorf("%s:\nCheck finds %v\nthe registry says %.1000s", member, faults, body)
		}
	}
}

func TestAServerIsPublishedInARealRegistryAndFound(t *testing.T) {
	t.Parallel()
	r, u := newRegistry(t, nil), newRegistryUser(t)
	file := filepath.Join(t.TempDir(), "server.json")
	program := []string{"--", u.program, "serve", "memory", "--file", filepath.Join(t.TempDir(), "memory.db")}
	publish := func(more ...string) (string, error) {
		_, stderr, err := tryRun(t, u.env, slices.Concat([]string{u.program, "publish", "--file", file, "--name", own + "notes", "--description", "Remembers 斑马"}, more, program)...)
		return stderr, err
	}
	if said, err := publish("--server-version", "1.0.0", "--package", "oci:ghcr.io/x/notes:1.0.0", "--write"); err != nil {
		t.Fatal(said)
	}
	u.env = append(u.env, "REGISTRY_TOKEN="+r.anonymous(t), "WRONG=abc")
	if said, err := publish("--server-version", "1.0.0", "--to", r.direct, "--token", "${WRONG}"); err == nil || !strings.Contains(said, "needs a token with access; it answers 401 Unauthorized") {
		t.Errorf("with a wrong token: %v: %s", err, said)
	}
	if said, err := publish("--name", "io.github.somebody/notes", "--server-version", "1.0.0", "--to", r.direct, "--token", "${REGISTRY_TOKEN}"); err == nil || !strings.Contains(said, "You have permission to publish: "+own) {
		t.Errorf("with somebody else's name: %v: %s", err, said)
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if said, err := publish("--server-version", version, "--write", "--to", r.direct, "--token", "${REGISTRY_TOKEN}"); err != nil || !strings.Contains(said, own+"notes "+version+" is published") {
			t.Fatalf("%s: %v: %s", version, err, said)
		}
	}
	if said, err := publish("--server-version", "1.1.0", "--to", r.direct, "--token", "${REGISTRY_TOKEN}"); err == nil || !strings.Contains(said, "not published") {
		t.Errorf("a version twice: %v: %s", err, said)
	}
	found, _ := u.search("斑马", "--registry", r.proxy.URL)
	if len(found.Servers) != 1 || found.Servers[0].Server.Version != "1.1.0" {
		t.Errorf("found %+v", found.Servers)
	}
	info := run(t, u.env, u.program, "info", own+"notes", "--registry", r.proxy.URL, "--offline")
	for _, want := range []string{"1.1.0 (latest), 1.0.0", "runs docker run -i --rm ghcr.io/x/notes:1.1.0"} {
		if !strings.Contains(info, want) {
			t.Errorf("info shows no %q:\n%s", want, info)
		}
	}
}
