package results

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
)

const (
	defaultMax  = 64 << 10         // maximum bytes of a result that is not cut
	defaultKept = 64 << 20         // maximum bytes of kept results
	keptTime    = 30 * time.Minute // how long a result is kept
	maxKind     = 255              // maximum bytes of a media type (RFC 6838, section 4.2); a longer one is not valid
	scheme      = "result"
)

// Options holds the settings of Middleware. Server is required; the zero value of each other field
// is its default.
type Options struct {
	// Server is the first part of the resources' URIs, result://SERVER/ID. The Handlers of one
	// gateway must have different values.
	Server string
	// Max is the maximum number of bytes of text in a result; the default is 64 KiB. A larger
	// result gets a preview of that size, and its pages have that size.
	Max int
	// Store keeps the results. If it is nil, Middleware makes a store. Several Handlers may share
	// one.
	Store *Store
}

// Middleware returns middleware that moves long texts out of the results of tools. The changed
// results have no structuredContent, so Middleware removes the outputSchema of all tools.
func Middleware(o Options) mcp.Middleware {
	o.Max = cmp.Or(o.Max, defaultMax)
	if o.Store == nil {
		o.Store = NewStore(0)
	}
	return func(next mcp.Handler) mcp.Handler {
		k := &keeper{options: o, next: next, prefix: prefix(o.Server), store: o.Store}
		return mcp.HandlerFunc(k.handle)
	}
}

// Is reports whether a URI or URI template belongs to the long results of a server.
func Is(server, uri string) bool { return strings.HasPrefix(uri, prefix(server)) }

func prefix(server string) string { return scheme + "://" + url.PathEscape(server) + "/" }

// A keeper stores the texts that it removes from the results of one Handler.
type keeper struct {
	options Options
	next    mcp.Handler
	prefix  string // the prefix of the URIs
	store   *Store
}

func (k *keeper) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "resources/read" && strings.HasPrefix(req.Name, k.prefix) {
		return k.read(ctx, req)
	}
	result, err := k.next.Handle(ctx, req)
	if err != nil {
		return result, err
	}
	switch req.Method {
	case "tools/call":
		if result.IsComplete() {
			return k.shorten(ctx, req, result)
		}
	case "tools/list":
		return edited(result, "tools", func(w *jsonrpc.Writer, tool []byte) { w.Element(jsonrpc.Without(tool, "outputSchema")) }, nil)
	case "resources/templates/list":
		return edited(result, "resourceTemplates", func(w *jsonrpc.Writer, t []byte) { w.Element(t) }, k.template)
	}
	return result, nil
}

// template writes the template by which clients and gateways find the server of the kept texts.
func (k *keeper) template(w *jsonrpc.Writer) {
	w.ObjectElement()
	w.String("uriTemplate", k.prefix+"{id}{/page}")
	w.String("name", "long results of "+k.options.Server)
	w.String("description", "a result that was too long, as a whole or one page of it; the shortened result contains the URI")
	w.End()
}

// edited returns a list in which each writes every entry. The function more, if not nil, adds
// entries at the end.
func edited(result mcp.Result, member string, each func(w *jsonrpc.Writer, entry []byte), more func(w *jsonrpc.Writer)) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(body)+256))
	w.Members(body, member)
	w.Array(member)
	jsonrpc.EachElement(jsonrpc.Get(body, member), func(entry []byte) bool {
		each(&w, entry)
		return true
	})
	if more != nil && jsonrpc.Get(body, "nextCursor") == nil { // the last page
		more(&w)
	}
	w.End()
	return result.WithJSON(w.Bytes()), nil
}

// shorten removes long texts from a result until its texts have at most Max bytes together.
func (k *keeper) shorten(ctx context.Context, req *mcp.Request, result mcp.Result) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil || len(body) <= k.options.Max {
		return result, err
	}
	left := k.options.Max
	w := jsonrpc.NewObject(make([]byte, 0, 2*k.options.Max))
	w.Members(body, "content", "structuredContent")
	w.Array("content")
	replaced := false
	jsonrpc.EachElement(jsonrpc.Get(body, "content"), func(item []byte) bool {
		text, isText := textOf(item)
		if !isText || len(text) <= left {
			left -= len(text)
			w.Element(item)
			return true
		}
		k.replace(ctx, &w, req, item, text, max(left, 0))
		left, replaced = 0, true
		return true
	})
	structured := jsonrpc.Get(body, "structuredContent") // repeats the text, if a text was too long
	fits := len(structured) <= left
	if len(structured) > 0 && !replaced && !fits {
		k.replace(ctx, &w, req, nil, string(structured), max(left, 0))
	}
	w.End()
	if len(structured) > 0 && !replaced && fits {
		w.Raw("structuredContent", structured)
	}
	note.Rewrite(ctx, note.Result, "results")
	return result.WithJSON(w.Bytes()), nil
}

// textOf returns the text of a content block, or of the resource embedded in it.
func textOf(item []byte) (string, bool) {
	if text, ok := jsonrpc.Unquote(jsonrpc.Get(item, "text")); ok {
		return text, true
	}
	return jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(item, "resource"), "text"))
}

// replace writes the first shown bytes of a text, and a link to the whole text.
func (k *keeper) replace(ctx context.Context, w *jsonrpc.Writer, req *mcp.Request, item []byte, text string, shown int) {
	kind := "text/plain"
	if given, ok := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(item, "resource"), "mimeType")); ok && len(given) <= maxKind {
		kind = given
	} else if json.Valid([]byte(text)) {
		kind = "application/json"
	}
	id := k.store.add(ctx, text, kind, k.options.Server, share.Of(ctx), mcp.OwnershipOf(ctx, req))
	uri := k.prefix + id
	shown = boundary(text, shown)
	pages := (len(text) + k.options.Max - 1) / k.options.Max
	w.ObjectElement()
	w.String("type", "text")
	w.String("text", fmt.Sprintf("%s\n[%d of %d bytes are shown. The whole text can be read as the resource %s, or in %d pages as %s/1 to %s/%d, for %v.]",
		text[:shown], shown, len(text), uri, pages, uri, uri, pages, keptTime))
	w.End()
	w.ObjectElement()
	w.String("type", "resource_link")
	w.String("uri", uri)
	w.String("name", "result of "+req.Name)
	w.String("mimeType", kind)
	w.Int("size", int64(len(text)))
	w.End()
}

// boundary returns the last start of a character at or before the offset at.
func boundary(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// read responds to resources/read with a kept text.
func (k *keeper) read(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	id, page, paged := strings.Cut(strings.TrimPrefix(req.Name, k.prefix), "/")
	kept, err := k.store.get(ctx, id, k.options.Server, req.Principal)
	var text string
	if err == nil {
		from, to := 0, kept.size
		if paged {
			n, err := strconv.Atoi(page)
			pages := (kept.size + k.options.Max - 1) / k.options.Max
			if err != nil || n < 1 || n > pages {
				return mcp.Result{}, notFound(req.Name, fmt.Sprintf("there are pages 1 to %d", pages))
			}
			from, to = (n-1)*k.options.Max, min(n*k.options.Max, kept.size)
		}
		text, err = kept.whole(ctx, from, to)
	}
	switch {
	case errors.Is(err, mcp.ErrNotOwner):
		return mcp.Result{}, notFound(req.Name, "it is no longer kept, or belongs to another user; call the tool again")
	case errors.Is(err, state.ErrUnavailable):
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "%s: the results of other replicas cannot be read now; try again later", req.Name)
	case err != nil:
		return mcp.Result{}, err
	}
	return mcp.Result{Value: &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: req.Name, MIMEType: kept.kind, Text: text}}}}, nil
}

// whole returns a part of the text. A character on its border belongs to the part in which it ends.
func (f *found) whole(ctx context.Context, from, to int) (string, error) {
	first, last := max(0, from-utf8.UTFMax), min(f.size, to+1)
	text, err := f.piece(ctx, first, last)
	if err != nil {
		return "", err
	}
	return text[boundary(text, from-first):boundary(text, to-first)], nil
}

func notFound(uri, why string) error {
	e := mcp.Errorf(mcp.CodeInvalidParams, "resource not found: %s: %s", uri, why)
	e.Data, _ = json.Marshal(map[string]string{"uri": uri}) // encoding a string never fails
	return e
}
