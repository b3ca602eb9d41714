package openai

import (
	"encoding/base64"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// part is one of the parts of a message of the user.
type part struct {
	ImageURL   *imageURL   `json:"image_url,omitempty"`
	InputAudio *inputAudio `json:"input_audio,omitempty"`
	File       *file       `json:"file,omitempty"`
	Text       string      `json:"text,omitempty"`
	Type       string      `json:"type"`
}

type imageURL struct {
	URL string `json:"url"`
}

type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type file struct {
	Data string `json:"file_data"`
	Name string `json:"filename"`
}

// userMessage is a message of the user: a string where that is enough, as some
// servers know nothing else.
func userMessage(parts []model.Part) message {
	var content []part
	var texts []string
	plain := true
	for _, p := range parts {
		text := p.Text
		if p.Media != nil && canShow(p.Media) {
			plain = false
			content = append(content, mediaPart(p.Media))
			continue
		}
		if p.Media != nil {
			text = wire.NotShown(p.Media)
		}
		if text != "" {
			texts = append(texts, text)
			content = append(content, part{Type: "text", Text: text})
		}
	}
	if plain {
		return message{Role: "user", Content: strings.Join(texts, "\n\n")}
	}
	return message{Role: "user", Content: content}
}

// canShow says whether the protocol has a form for such media.
func canShow(media *model.Media) bool {
	return strings.HasPrefix(media.Type, "image/") || audioFormat(media.Type) != "" || media.Type == "application/pdf"
}

func mediaPart(media *model.Media) part {
	data := base64.StdEncoding.EncodeToString(media.Data)
	url := "data:" + media.Type + ";base64," + data
	if format := audioFormat(media.Type); format != "" {
		return part{Type: "input_audio", InputAudio: &inputAudio{Data: data, Format: format}}
	}
	if media.Type == "application/pdf" {
		return part{Type: "file", File: &file{Data: url, Name: "document.pdf"}}
	}
	return part{Type: "image_url", ImageURL: &imageURL{URL: url}}
}

func audioFormat(mime string) string {
	switch mime {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}
