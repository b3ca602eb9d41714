package responses

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wiretest"
)

func TestStreams(t *testing.T) {
	wiretest.Suite{Dir: "testdata/streams", AtLeast: 37, Open: open}.Run(t)
}

func FuzzStream(f *testing.F) {
	wiretest.Suite{Dir: "testdata/streams", Open: open}.Fuzz(f)
}

func open(t testing.TB, client *http.Client, options json.RawMessage) model.Model {
	t.Helper()
	o := Options{Model: "gpt-test", Key: "sk-secret", HTTPClient: client}
	if options != nil {
		if err := json.Unmarshal(options, &o); err != nil {
			t.Fatal(err)
		}
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
