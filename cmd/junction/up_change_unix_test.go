//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// What a changed configuration changes around a server ends nothing of it; what starts it anew lets it end what it runs first.
func TestAChangedConfigurationEndsNoCall(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	config, api, pids := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "api.json"), filepath.Join(dir, "pids")
	came, release := make(chan struct{}), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			came <- struct{}{}
			<-release
		}
		_, _ = io.WriteString(w, "went")
	}))
	defer web.Close()
	path := func(name string) string {
		return fmt.Sprintf(`"/%s":{"get":{"operationId":%q,"responses":{"200":{"description":"ok","content":{"text/plain":{"schema":{"type":"string"}}}}}}}`, name, name)
	}
	clitest.Write(t, map[string]string{api: fmt.Sprintf(`{"openapi":"3.0.3","info":{"title":"x","version":"1"},"servers":[{"url":%q}],"paths":{%s,%s}}`, web.URL, path("hold"), path("go"))})
	server := func(env string) string {
		return fmt.Sprintf(`"a":{"command":"/bin/sh","args":["-c","echo $$ >> '%s'; exec '%s' serve openapi --from '%s'"],"env":{"WHICH":%q}}`, pids, self(t)[0], api, env)
	}
	starts := func() int {
		data, _ := os.ReadFile(pids) // none: it was not started
		return strings.Count(string(data), "\n")
	}
	configure(t, config, server("1"), ``)
	r := serving(t, "up", "--config", config)
	waitFor(t, "it is offered", func() bool { return strings.Contains(toolsAt(t, r.url), "a__hold") })
	runs(t, "", "call", r.url, "a__go").expect(t, cli.ExitOK, "went", "")
	before := starts()
	held := make(chan outcome, 1)
	go func() { held <- runs(t, "", "call", r.url, "a__hold") }()
	<-came

	configure(t, config, server("1"), `"servers":{"a":{"limits":{"rate":"1000/m"},"tools":{"go":{"description":"Goes there."}}}}`)
	waitFor(t, "the description is there", func() bool { return strings.Contains(toolsAt(t, r.url), "Goes there.") })
	runs(t, "", "call", r.url, "a__go").expect(t, cli.ExitOK, "went", "")
	if n := starts(); n != before {
		t.Errorf("a description started it %d times more", n-before)
	}

	configure(t, config, server("2"), ``)
	const said = "; 1 request still running with the earlier configuration"
	waitFor(t, "the status says what still runs", func() bool {
		all := shownStatus(t)
		return len(all) == 1 && len(all[0].Servers) == 1 && all[0].Servers[0].Leaving == 1
	})
	if shown := runs(t, "", "status"); !strings.Contains(shown.stdout, said) {
		t.Errorf("the status is %s", shown.stdout)
	}
	if all := toolsAt(t, r.url); !strings.Contains(all, "a__go") {
		t.Errorf("meanwhile offered are %s", all)
	}
	next := make(chan outcome, 1)
	go func() { next <- runs(t, "", "call", r.url, "a__go") }()
	if n := starts(); n != before {
		t.Errorf("two of it run, after %d more starts", n-before)
	}
	close(release)
	got := <-held
	got.expect(t, cli.ExitOK, "went", "")
	got = <-next
	got.expect(t, cli.ExitOK, "went", "")
	if n := starts(); n != before+1 {
		t.Errorf("it was started %d times more", n-before)
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
}
