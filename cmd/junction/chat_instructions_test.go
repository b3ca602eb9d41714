package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestTheModelGetsTheUsersInstructions(t *testing.T) {
	clitest.NoState(t)
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		body += string(sent)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()
	if err := os.WriteFile(clitest.In(t, "house.md"), []byte("Answer in rhymes.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"chat", "everything", "-p", "hi", "--model", "m", "--base-url", server.URL + "/v1", "--instructions"}
	if got := runs(t, "", append(flags, "house.md")...); got.stdout != "hello\n" || !strings.Contains(body, "Answer in rhymes.") {
		t.Errorf("%+v\n%s", got, body)
	}
	if got := runs(t, "", append(flags, "none.md")...); got.code != cli.ExitConnection || !strings.Contains(got.stderr, "none.md") {
		t.Errorf("%+v", got)
	}
}
