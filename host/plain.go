package host

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/junction-mcp/junction/guard"
)

// plain is JSON without what a person would not see in its texts, however it is
// escaped there. What holds nothing of that is returned as it is.
func plain(raw json.RawMessage) json.RawMessage {
	text, err := jsontext.AppendFormat(nil, raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return raw
	}
	if clean := guard.Clean(string(text)); clean != string(text) {
		return json.RawMessage(clean)
	}
	return raw
}
