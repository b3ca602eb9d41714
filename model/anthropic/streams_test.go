package anthropic

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wiretest"
)

func TestRecordedStreams(t *testing.T) {
	wiretest.Suite{Dir: "testdata/streams", AtLeast: 28, Open: func(t testing.TB, client *http.Client, options json.RawMessage) model.Model {
		o := Options{Model: "claude-sonnet-4-5", Key: "sk-secret-key", HTTPClient: client}
		var given struct{ Thinking int }
		if options != nil {
			if err := json.Unmarshal(options, &given); err != nil {
				t.Fatal(err)
			}
		}
		o.Thinking = given.Thinking
		m, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}}.Run(t)
}
