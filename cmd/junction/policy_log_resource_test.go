package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// Rules see a resource under its server's own URI, and the log has the one that clients know: where that is another, the
// log does not tell what a rule makes of it.
func TestTheVerdictOnAResourceWithAnotherURIIsThatOfTheGateway(t *testing.T) {
	clitest.Alone(t)
	var records []*audit.Record
	for _, uri := range []string{"junction:files/file:///secret", "ui://junction/files/secret"} { // as up writes them
		records = append(records, &audit.Record{Kind: audit.KindCall, Time: time.Now(), Method: "resources/read", Name: uri})
	}
	writeLog(t, records...)
	for name, text := range map[string]string{
		"mine.json":  `{"mcpServers": {"files": {"command": "files"}}}`,
		"rules.json": `{"rules": [{"effect": "deny", "when": "resource in ['file:///secret', 'ui://secret']"}], "default": "allow"}`, // denies it in a gateway
	} {
		if err := os.WriteFile(clitest.In(t, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := runs(t, "", "policy", "test", "log", "--policy", "rules.json", "--config", "mine.json", "--json")
	if !strings.Contains(got.stdout, `"reason":"the rule reads resource, which the log does not keep in full"`) || strings.Count(got.stdout, `"effect":"cannot tell"`) != 2 {
		t.Errorf("the gateway denies what the verdict does not tell of: %s", got.stdout)
	}
}

// writeLog makes an audit log of records in the folder log, with a key in the file key.
func writeLog(t *testing.T, records ...*audit.Record) {
	t.Helper()
	key, err := audit.ReadKey(clitest.In(t, "key"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(clitest.In(t, "log"), audit.Options{Key: key, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
