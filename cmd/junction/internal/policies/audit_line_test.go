package policies_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
)

func TestALineOfTheLogForReaders(t *testing.T) {
	at := time.Date(2026, 11, 26, 0, 2, 3, 4_567_000, time.UTC)
	when := at.Local().Format("2006-01-02 15:04:05.000")
	for line, want := range map[string]string{
		`{"time":"2026-11-26T00:02:03.004567Z","kind":"call","call":"A","method":"tools/call","name":"files__read","server":"files","principal":"ann","issuer":"i","client":"c/1","decision":"allow","rule":"r","reason":"why","refused":3,"outcome":"error","code":-1,"resent":1,"duration_us":1234,"sent":5,"arguments":{"a":1},"seq":1}`: when + `  call error allow  files__read  principal ann  client c/1  rule r  reason why  arguments {"a":1}  3 refused  sent again 1×  1.234ms`,
		`{"time":"2026-11-26T00:02:03.004567Z","kind":"decision","name":"x","decision":"deny","rule":"r"}`: when + "  decision deny  x  rule r",
	} {
		if got := policies.FormatLine(json.RawMessage(line)); got != want {
			t.Errorf("got\n%q, want\n%q", got, want)
		}
	}
}
