package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// NotShown says what stands where media cannot be sent.
func NotShown(media *model.Media) string {
	return fmt.Sprintf("[%s of %d bytes, which cannot be shown to this model]", media.Type, len(media.Data))
}

// Contents are parts as a text where that is enough, as some servers know nothing else, or else a list with a text
// or media for each, as a wire has them. A text says what media were for which media has no form.
func Contents[C any](parts []model.Part, text func(string) C, media func(*model.Media) (C, bool)) any {
	var list []C
	var texts []string
	for _, p := range parts {
		if p.Media != nil {
			if c, has := media(p.Media); has {
				list = append(list, c)
				continue
			}
			p.Text = NotShown(p.Media)
		}
		if p.Text != "" {
			list, texts = append(list, text(p.Text)), append(texts, p.Text)
		}
	}
	if len(list) == len(texts) {
		return strings.Join(texts, "\n\n")
	}
	return list
}

// DataURL is a URL that holds media.
func DataURL(media *model.Media) string {
	return "data:" + media.Type + ";base64," + base64.StdEncoding.EncodeToString(media.Data)
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
