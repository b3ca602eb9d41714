package scripted

import (
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/model"
)

// kept is a copy of a request that nobody else can change.
func kept(req *model.Request) *model.Request {
	own := *req
	own.Tools = slices.Clone(req.Tools)
	for i := range own.Tools {
		own.Tools[i].Schema = slices.Clone(own.Tools[i].Schema)
	}
	own.Stop = slices.Clone(req.Stop)
	own.Messages = slices.Clone(req.Messages)
	for i := range own.Messages {
		own.Messages[i] = copied(&own.Messages[i])
	}
	return &own
}

// copied is a copy of a message down to its bytes. What a provider put into it
// (Extra, Opaque, raw reasoning) is never changed in place, and shared.
func copied(m *model.Message) model.Message {
	own := *m
	own.Parts = copiedParts(m.Parts)
	return own
}

func copiedParts(parts []model.Part) []model.Part {
	own := slices.Clone(parts)
	for i := range own {
		p := &own[i]
		p.Media, p.Reasoning, p.Opaque = pointed(p.Media), pointed(p.Reasoning), pointed(p.Opaque)
		if p.Call = pointed(p.Call); p.Call != nil {
			p.Call.Arguments = slices.Clone(p.Call.Arguments)
		}
		if p.Result = pointed(p.Result); p.Result != nil {
			p.Result.Parts = copiedParts(p.Result.Parts)
		}
	}
	return own
}

func pointed[T any](p *T) *T {
	if p == nil {
		return nil
	}
	own := *p
	return &own
}

// size is about how many bytes some parts of a request have.
func size(parts ...any) (n int) {
	for _, part := range parts {
		text, _ := json.Marshal(part) // what cannot be written has none
		n += len(text)
	}
	return n
}
