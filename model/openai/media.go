package openai

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/junction-mcp/junction/model"
)

// userMessage is a message of the user: a string where that is enough, as some
// servers know nothing else.
func userMessage(parts []model.Part) openai.ChatCompletionMessageParamUnion {
	var content []openai.ChatCompletionContentPartUnionParam
	var texts []string
	plain := true
	for _, p := range parts {
		switch {
		case p.Text != "":
			texts = append(texts, p.Text)
			content = append(content, openai.TextContentPart(p.Text))
		case p.Media != nil && canShow(p.Media):
			plain = false
			content = append(content, mediaPart(p.Media))
		case p.Media != nil:
			texts = append(texts, notShown(p.Media))
			content = append(content, openai.TextContentPart(notShown(p.Media)))
		}
	}
	if plain {
		return openai.UserMessage(strings.Join(texts, "\n\n"))
	}
	return openai.UserMessage(content)
}

// canShow says whether the protocol has a form for such media.
func canShow(media *model.Media) bool {
	return strings.HasPrefix(media.Type, "image/") || audioFormat(media.Type) != "" || media.Type == "application/pdf"
}

func mediaPart(media *model.Media) openai.ChatCompletionContentPartUnionParam {
	data := base64.StdEncoding.EncodeToString(media.Data)
	url := "data:" + media.Type + ";base64," + data
	if format := audioFormat(media.Type); format != "" {
		return openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{Data: data, Format: format})
	}
	if media.Type == "application/pdf" {
		return openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
			FileData: param.NewOpt(url), Filename: param.NewOpt("document.pdf"),
		})
	}
	return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: url})
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

func notShown(media *model.Media) string {
	return fmt.Sprintf("[%s of %d bytes, which cannot be shown to this model]", media.Type, len(media.Data))
}
