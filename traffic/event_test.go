package traffic

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTextsOfPeersAreShownWithoutSecrets checks that each field with text of a peer has the tag
// redact, and is shown without secrets. The texts of the other fields come from this process.
func TestTextsOfPeersAreShownWithoutSecrets(t *testing.T) {
	const token = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
	plain := []string{"time", "kind", "hop", "server", "revision", "note", "transport"}
	for _, f := range events.Fields() {
		var e Event
		value := reflect.ValueOf(&e).Elem().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, f.Name) })
		switch value.Interface().(type) {
		case string:
			value.SetString("a " + token)
		case json.RawMessage:
			value.SetBytes([]byte(`"` + token + `"`))
		default:
			continue
		}
		if slices.Contains(plain, f.Name) == (f.Tag.Get("redact") != "") {
			t.Errorf("%s has the class %q", f.Name, f.Tag.Get("redact"))
		}
		var words wordsBefore
		for range 2 { // the second time with the texts of the first
			shown := e
			shown.hide(nil, &words)
			if text := string(shown.AppendJSON(nil)); f.Tag.Get("redact") != "" && strings.Contains(text, token) {
				t.Errorf("%s: %s", f.Name, text)
			}
		}
	}
}
