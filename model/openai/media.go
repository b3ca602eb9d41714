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

func userMessage(parts []model.Part) message {
	return message{Role: "user", Content: wire.Contents(parts, func(text string) part { return part{Type: "text", Text: text} }, mediaPart)}
}

// mediaPart is media in the protocol's form, if it has one.
func mediaPart(media *model.Media) (part, bool) {
	switch format := audioFormat(media.Type); {
	case format != "":
		return part{Type: "input_audio", InputAudio: &inputAudio{Data: base64.StdEncoding.EncodeToString(media.Data), Format: format}}, true
	case media.Type == "application/pdf":
		return part{Type: "file", File: &file{Data: wire.DataURL(media), Name: "document.pdf"}}, true
	case strings.HasPrefix(media.Type, "image/"):
		return part{Type: "image_url", ImageURL: &imageURL{URL: wire.DataURL(media)}}, true
	}
	return part{}, false
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
