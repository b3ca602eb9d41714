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
)

const (
	defaultMax  = 64 << 10         // bytes of a result that stays as it is
	defaultKept = 64 << 20         // bytes of results that are kept at most
	keptTime    = 30 * time.Minute // how long one is kept
	maxKind     = 255              // bytes of a media type (RFC 6838, section 4.2); what is longer is none
	scheme      = "result"
)

// Options are optional but for Server; the zero value of each other field means its default.
type Options struct {
	// Server is the first part of the resources' URIs, result://SERVER/ID: another one for each Handler of a
	// gateway.
	Server string
	// Max is how many bytes of text a result may have; default 64 KiB. That much of a larger one is the
	// preview, and a page.
	Max int
	// Store is where the results are kept; by default one of its own. Several Handlers may share one.
	Store *Store
}

// Middleware returns middleware that takes long texts out of the results of tools. Such results have no
// structuredContent, and so tools have no outputSchema.
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

// Is reports whether a URI, or a template, is of long results of a server.
func Is(server, uri string) bool { return strings.HasPrefix(uri, prefix(server)) }

func prefix(server string) string { return scheme + "://" + url.PathEscape(server) + "/" }

// A keeper keeps what is taken out of the results of one Handler.
type keeper struct {
	options Options
	next    mcp.Handler
	prefix  string // of the URIs
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
		if result.Type == "" || result.Type == "complete" {
			return k.shorten(ctx, req, result)
		}
	case "tools/list":
		return edited(result, "tools", func(w *jsonrpc.Writer, tool []byte) { w.Element(jsonrpc.Without(tool, "outputSchema")) }, nil)
	case "resources/templates/list":
		return edited(result, "resourceTemplates", func(w *jsonrpc.Writer, t []byte) { w.Element(t) }, k.template)
	}
	return result, nil
}

// template lets clients and gateways know whose resources these are.
func (k *keeper) template(w *jsonrpc.Writer) {
	w.ObjectElement()
	w.String("uriTemplate", k.prefix+"{id}{/page}")
	w.String("name", "long results of "+k.options.Server)
	w.String("description", "what was too long for a result of a tool, whole or a page of it; the result has the URI")
	w.End()
}

// edited is a list whose entries pass through each, with what more adds at the end.
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
	if more != nil && jsonrpc.Get(body, "nextCursor") == nil { // on the last page
		more(&w)
	}
	w.End()
	return result.WithJSON(w.Bytes()), nil
}

// shorten takes the texts out of a result that are too long, together.
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
	structured := jsonrpc.Get(body, "structuredContent") // if a text was too long, it is that text again
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

// textOf is the text of an item of a result: its own, or that of a resource within.
func textOf(item []byte) (string, bool) {
	if text, ok := jsonrpc.Unquote(jsonrpc.Get(item, "text")); ok {
		return text, true
	}
	return jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(item, "resource"), "text"))
}

// replace writes the beginning of a text, and a link to all of it.
func (k *keeper) replace(ctx context.Context, w *jsonrpc.Writer, req *mcp.Request, item []byte, text string, shown int) {
	kind := "text/plain"
	if given, ok := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(item, "resource"), "mimeType")); ok && len(given) <= maxKind {
		kind = given
	} else if json.Valid([]byte(text)) {
		kind = "application/json"
	}
	id := k.store.add(text, kind, k.options.Server, share.Of(ctx), mcp.GrantOf(ctx, req))
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

// boundary is the last beginning of a character at or before a byte.
func boundary(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// read answers resources/read of what was kept.
func (k *keeper) read(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	id, page, paged := strings.Cut(strings.TrimPrefix(req.Name, k.prefix), "/")
	text, kind, err := k.store.get(ctx, id, k.options.Server, req.Principal)
	if errors.Is(err, mcp.ErrNotGranted) {
		return mcp.Result{}, notFound(req.Name, "it is not kept any more, or is somebody else's; call the tool again")
	}
	if err != nil {
		return mcp.Result{}, err
	}
	if paged {
		n, err := strconv.Atoi(page)
		pages := (len(text) + k.options.Max - 1) / k.options.Max
		if err != nil || n < 1 || n > pages {
			return mcp.Result{}, notFound(req.Name, fmt.Sprintf("there are pages 1 to %d", pages))
		}
		text = text[boundary(text, (n-1)*k.options.Max):boundary(text, n*k.options.Max)]
	}
	return mcp.Result{Value: &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: req.Name, MIMEType: kind, Text: text}}}}, nil
}

func notFound(uri, why string) error {
	e := mcp.Errorf(mcp.CodeInvalidParams, "resource not found: %s: %s", uri, why)
	e.Data, _ = json.Marshal(map[string]string{"uri": uri}) // a string always encodes
	return e
}
