package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// NotShown says what stands where media cannot be sent.
func NotShown(media *model.Media) string {
	return fmt.Sprintf("[%s of %d bytes, which cannot be shown to this model]", media.Type, len(media.Data))
}

// ResultText is the text of a result on wires that have no member for errors.
func ResultText(r *model.Result) string {
	var texts []string
	for _, p := range r.Parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		} else if p.Media != nil {
			texts = append(texts, NotShown(p.Media))
		}
	}
	return MarkError(r, strings.Join(texts, "\n"))
}

// MarkError marks the text of a result that is an error, and one that is empty.
func MarkError(r *model.Result, text string) string {
	switch {
	case r.IsError && !json.Valid([]byte(text)):
		return "Error: " + text
	case text == "":
		return "(no output)"
	}
	return text
}
