package watch

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/place"
)

const (
	MaxEntries      = 200     // largest number of entries of a conversation in a response
	MaxEntriesBytes = 4 << 20 // largest size of these in bytes, without the last one
)

// conversationRoutes adds routes to the console's API that read the stored conversations.
func conversationRoutes(a *cli.App, handle func(pattern string, h http.Handler)) {
	handle("GET /conversations", ofArchive(a.Place, func(ctx context.Context, stored *archive.Archive, r *http.Request) (any, error) {
		limit, err := numberOf(r, "limit", 1)
		if err != nil {
			return nil, err
		}
		list, err := stored.List(ctx, archive.Filter{Search: r.FormValue("search"), Limit: limit})
		return map[string][]archive.Meta{"conversations": list}, err
	}))
	handle("GET /conversations/{id}", ofArchive(a.Place, func(ctx context.Context, stored *archive.Archive, r *http.Request) (any, error) {
		from, err := numberOf(r, "from", 0)
		if err != nil {
			return nil, err
		}
		record, entries, err := stored.Load(ctx, r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		return NewPage(record.Meta(), entries, from)
	}))
}

// numberOf returns a number in the query of a request, or 0 if it is missing.
func numberOf(r *http.Request, name string, least int) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, cli.Usagef("%s: expected a number from %d on, got %q", name, least, text)
	}
	return n, nil
}

// A ConversationPage is a part of a conversation.
type ConversationPage struct {
	Meta    archive.Meta      `json:"meta"`
	From    int               `json:"from"` // index of the first entry of the page
	Entries []json.RawMessage `json:"entries"`
	Next    int               `json:"next,omitempty"` // index of the first entry of the next page; 0 if there is none
}

// NewPage returns the page of a conversation that begins with the entry from. The limits are
// [MaxEntries] and [MaxEntriesBytes].
func NewPage(meta archive.Meta, entries []host.Entry, from int) (*ConversationPage, error) {
	page := &ConversationPage{Meta: meta, From: from, Entries: []json.RawMessage{}}
	size := 0
	for i := from; i < len(entries); i++ {
		if len(page.Entries) == MaxEntries || size > MaxEntriesBytes {
			page.Next = i
			break
		}
		e := entries[i]
		if e.Flow != nil {
			var err error
			if e.Flow, err = withoutPrints(e.Flow); err != nil {
				return nil, err
			}
		}
		raw, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		page.Entries = append(page.Entries, raw)
		size += len(raw)
	}
	return page, nil
}

// withoutPrints returns a flow without the hashes of texts, which are not shown.
func withoutPrints(flow json.RawMessage) (json.RawMessage, error) {
	var read struct {
		Sources []struct {
			Server string          `json:"server"`
			Tool   string          `json:"tool,omitempty"`
			URI    string          `json:"uri,omitempty"`
			Labels json.RawMessage `json:"labels"`
			Reads  int             `json:"reads,omitempty"`
			Alarms int             `json:"alarms,omitempty"`
		} `json:"sources"`
	}
	if err := json.Unmarshal(flow, &read); err != nil {
		return nil, err
	}
	return json.Marshal(read)
}

// ofArchive returns a handler that responds with the result of read.
func ofArchive(p place.Place, read func(ctx context.Context, stored *archive.Archive, r *http.Request) (any, error)) http.Handler {
	return reply.With(func(r *http.Request) (any, error) {
		stored, err := reach.OpenConversations(r.Context(), p)
		if err != nil {
			return nil, err
		}
		defer stored.Close()
		value, err := read(r.Context(), stored, r)
		switch {
		case errors.Is(err, archive.ErrNotFound):
			err = reply.Refuse(http.StatusNotFound, "%v", err)
		case errors.As(err, new(*cli.UsageError)), errors.Is(err, archive.ErrAmbiguous):
			err = reply.Refuse(http.StatusBadRequest, "%v", err)
		}
		return value, err
	})
}
