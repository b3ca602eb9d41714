package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// An entry with "http" is a server whose tools send the requests that it says, with the entry's headers.
func TestARequestOfTheConfigurationIsATool(t *testing.T) {
	clitest.Alone(t)
	var got clitest.SafeBuffer
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(&got, "%s %s %s %s\n", r.Method, r.URL, r.Header.Get("Authorization"), body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"warm":true,"auth":%q}`, r.Header.Get("Authorization"))
	}))
	defer api.Close()
	runs(t, "key-of-mine", "secret", "set", "weather").expect(t, cli.ExitOK, "", "")
	config := `{"mcpServers": {"weather": {
		"http": [
			{"name": "forecast", "description": "Tell the weather.", "url": "/v1/{city}/forecast?days={days}",
				"inputSchema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}},
			{"name": "report", "method": "post", "url": "/v1/reports", "body": {"text": "{text}", "by": "me"}}],
		"url": "` + api.URL + `", "headers": {"Authorization": "Bearer ${secret:weather}"}}}}`
	if err := os.WriteFile(clitest.In(t, "servers.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "call", "weather", "forecast", "city=Oslo/..", "days=3", "--config", "servers.json").expect(t, cli.ExitOK, `"warm":true`, "")
	runs(t, "", "call", "weather", "forecast", "city=Bergen", "--config", "servers.json").expect(t, cli.ExitOK, "***", "")
	runs(t, "", "call", "weather", "report", "text=it \"rains\"", "--config", "servers.json").expect(t, cli.ExitOK, "warm", "")
	listed := runs(t, "", "tools", "weather", "--config", "servers.json", "--json")
	listed.expect(t, cli.ExitOK, `"readOnlyHint":true`, "")
	want := "GET /v1/Oslo%2F../forecast?days=3 Bearer key-of-mine \nGET /v1/Bergen/forecast Bearer key-of-mine \nPOST /v1/reports Bearer key-of-mine {\"text\":\"it \\\"rains\\\"\",\"by\":\"me\"}\n"
	if got.String() != want {
		t.Errorf("the API saw\n%s\nwant\n%s", got.String(), want)
	}
}

func TestServeHTTPReportsFaultyTemplates(t *testing.T) {
	clitest.Alone(t)
	if err := os.WriteFile(clitest.In(t, "tool.json"), []byte(`{"name": "x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"serve http": "http takes 1 to 100 tools, got 0",
		`serve http --tool {"name":"x","url":"/a"}`:                      `tool "x": "/a" is a path, and there is no base URL`,
		`serve http --tool {"name":"x","url":"https://a.example/{b"}`:    `tool "x"`,
		`serve http --tool {"name":"x","uri":"https://a.example/"}`:      "uri",
		`serve http --tool {"name":"x"`:                                  "--tool",
		`serve http --tool tool.json`:                                    "--tool tool.json: expected a template with name and url",
		`serve http --tool none.json`:                                    "expected a template in JSON, or a file with one",
		`serve http --tool []`:                                           "http takes 1 to 100 tools, got 0",
		`serve time --tool {"name":"x","url":"https://a.example/"}`:      "--tool is for http",
		`serve http --tool {"name":"x","url":"https://a/"} --tag pets`:   "--tag is for openapi",
		`serve http --tool {"name":"x","url":"https://a/"} --auth-env X`: "the variable X is not set",
	} {
		if got := runs(t, "", strings.Fields(args)...); got.code == cli.ExitOK || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
