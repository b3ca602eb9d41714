package toolsearch

import (
	"encoding/json"
	"unicode/utf8"
)

// Tool is one tool as it is searched and shown. It is not changed after it was
// given to an Index; neither may its Schema be.
type Tool struct {
	ID          string          `json:"id"`                    // unique in an Index; Server + "__" + Name if empty
	Server      string          `json:"server,omitempty"`      // name of the server, as people know it
	Name        string          `json:"name"`                  // name of the tool at its server
	Title       string          `json:"title,omitempty"`       // name for people
	Description string          `json:"description,omitempty"` // what it does
	Schema      json.RawMessage `json:"inputSchema,omitempty"` // JSON Schema of its arguments
}

// charsPerToken is the usual estimate for English text and JSON.
const charsPerToken = 4

// Tokens estimates how many tokens text costs: its characters divided by four,
// rounded up. Tokenizers differ by a third from it, and from each other.
func Tokens(text string) int { return tokens(utf8.RuneCountInString(text)) }

func tokens(chars int) int { return (chars + charsPerToken - 1) / charsPerToken }

// Tokens estimates what the definition of t costs in a request: its name,
// description and schema. The title is not sent to models.
func (t Tool) Tokens() int {
	return tokens(utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Schema))
}

// withID returns t with its ID filled in.
func (t Tool) withID(server string) Tool {
	t.Server = server
	if t.ID == "" {
		t.ID = server + "__" + t.Name
	}
	return t
}

func (t Tool) equal(o Tool) bool {
	return t.ID == o.ID && t.Name == o.Name && t.Title == o.Title && t.Description == o.Description && string(t.Schema) == string(o.Schema)
}
